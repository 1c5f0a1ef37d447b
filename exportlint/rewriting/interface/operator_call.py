"""A call of an operator that runs functions, found from one of its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.editing.repair import ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


@dataclass(frozen=True)
class CallWithFunctions:
    """`given`: the arguments by the names of the parameters."""

    node: cst.Call
    given: Mapping[str, cst.BaseExpression]

    @classmethod
    def around(cls, code: Code, node: cst.CSTNode, parameters: Sequence[str]) -> CallWithFunctions | None:
        """The call that the node is an argument of, or an element of one."""
        above: cst.CSTNode | None = node
        while above is not None and not isinstance(above, cst.BaseStatement):
            above = code.parent(above)
            if (
                isinstance(above, cst.Call)
                and (name := code.name(above.func))
                and name.startswith(("torch", "functorch"))
            ):
                places = (arg.value for arg in above.args if not arg.keyword and not arg.star)
                words = {arg.keyword.value: arg.value for arg in above.args if arg.keyword}
                return cls(above, dict(zip(parameters, places, strict=False)) | words)
        return None

    @staticmethod
    def mended(parts: Iterable[tuple[str, Iterable[AnyChange]]]) -> Iterator[Rewrite]:
        """One rewrite of all parts, each with what it does, since torch names but the first thing that is wrong."""
        made = {description: several for description, changes in parts if (several := tuple(changes))}
        if made:
            changes = dict.fromkeys(one for several in made.values() for one in several)
            yield Rewrite(" and ".join(made), (*changes, ModuleImport("torch")))

    def functions(self, *names: str) -> list[cst.BaseExpression]:
        """The arguments of these names, as far as they are given."""
        return [self.given[name] for name in names if name in self.given]

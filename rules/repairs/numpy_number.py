"""A number that NumPy made becomes a Python number where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, Kind, Repair, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator


_SIZES = frozenset({"BadSizeInForward", "BadRangeInForward", "BadSliceInForward"})
_ON_SELF = {
    "BadSizeOnSelf": "int", "BadRangeOnSelf": "int", "BadIntOnSelf": "int", "BadFloatOnSelf": "float",
    "BadScaleOnSelf": "float", "BadRoundedOnSelf": "float",
}  # fmt: skip


class PythonNumber(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match node:
            case _ if case in _SIZES:
                yield from self._converted(list(self._arrays(node)), "int")
            case cst.Call(func=cst.Attribute(value=owner)) if case == "BadItem":
                yield Rewrite("write `int(…)` around it", (Change(node, f"int({self.source(owner)})"),))
                yield Rewrite("write `float(…)` around it", (Change(node, f"float({self.source(owner)})"),))
            case cst.Call(args=[cst.Arg(value=given)]) if case == "BadRounded":
                yield from self._converted([given], "float")
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                sides = [side for side in (left, right) if self.code.value(side).kind is Kind.ARRAY]
                yield from self._converted(sides, "float")
            case _ if case in _ON_SELF:
                yield from self._kept(node, _ON_SELF[case])

    def _arrays(self, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
        """The arguments, or bounds, that are NumPy's."""
        match node:
            case cst.Call(args=args):
                parts: list[cst.BaseExpression | None] = [arg.value for arg in args]
            case cst.Slice(lower=lower, upper=upper):
                parts = [lower, upper]
            case _:
                parts = []
        yield from (part for part in parts if part is not None and self.code.value(part).kind is Kind.ARRAY)

    def _converted(self, found: list[cst.BaseExpression], kind: str) -> Iterator[Rewrite]:
        if found:
            changes = tuple(Change(one, f"{kind}({self.source(one)})") for one in found)
            yield Rewrite("make it a Python number", changes)

    def _kept(self, node: cst.CSTNode, kind: str) -> Iterator[Rewrite]:
        """A number that the module keeps is made a Python number in `__init__`."""
        names = {self.source(one) for one in self._on_self(node)}
        for chosen in dict.fromkeys((kind, "int", "float")):
            lines = "\n".join(f"{name} = {chosen}({name})" for name in sorted(names))
            if lines:
                yield Rewrite("keep a Python number", (InInit(lines),))

    def _on_self(self, node: cst.CSTNode) -> Iterator[cst.Attribute]:
        match node:
            case cst.Attribute(value=cst.Name(value="self")) if self.code.value(node).kind is Kind.ARRAY:
                yield node
            case _:
                for child in node.children:
                    yield from self._on_self(child)

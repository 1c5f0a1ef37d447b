"""What a repair must say: how to write differently what the rule of the same stem reports.

A repair is a file of its own in `repairs/` beside the rule, found by its stem. It changes nothing itself: it names
changes to places of the code, of which edits of the file are made.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from exportlint.finding import Applicability

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    import libcst as cst

    from exportlint.rule.code import Code


class Where(enum.Enum):
    """Where the text of a change goes, as seen from its node.

    >>> Where("instead").name
    'INSTEAD'
    """

    INSTEAD = "instead"
    BEFORE = "before the statement"
    AFTER = "after the statement"


@dataclass(frozen=True, slots=True)
class Change:
    """Put `text` in the place of a node, or in lines of its own around a statement.

    The lines of a text that goes with a statement start at column 0; they are indented as the statement is. An empty
    text takes the statement away, with its line.

    >>> import libcst
    >>> Change(libcst.parse_expression("x.data"), "x.detach()").text
    'x.detach()'
    """

    node: cst.CSTNode
    text: str
    where: Where = Where.INSTEAD


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """The file imports the module `name` under that name.

    >>> ModuleImport("torch").name
    'torch'
    """

    name: str


@dataclass(frozen=True, slots=True)
class InInit:
    """Lines at the end of the `__init__` of the code's class, which is made where there is none.

    >>> InInit("self.calls = 0").text
    'self.calls = 0'
    """

    text: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Put `text` in the place of a node of `ast`, anywhere in the file of the code: in another method, say.

    The lines of a text for a statement start at column 0. An empty text takes the statement, or a
    decorator, away, with its lines.

    >>> import ast
    >>> Elsewhere(ast.parse("self.calls = 0").body[0], "self.total = 0").text
    'self.total = 0'
    """

    node: ast.stmt | ast.expr
    text: str


@dataclass(frozen=True, slots=True)
class InClass:
    """A method of a class of the code's file, below its `__init__`; the lines start at column 0.

    >>> import ast
    >>> InClass(ast.parse("class A: ...").body[0], "def f(self):\\n    return 0").text.count("\\n")
    1
    """

    cls: ast.ClassDef
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Lines of their own above or below a statement of `ast`, anywhere in the file of the code: a class, say.

    They start at column 0, and are indented as the statement is.

    >>> import ast
    >>> Beside(ast.parse("class A: ...").body[0], "register(A)", Where.AFTER).text
    'register(A)'
    """

    node: ast.stmt
    text: str
    where: Where


@dataclass(frozen=True, slots=True)
class Undecorated:
    """A decorator goes, with its line; `decorator` is the expression behind the `@`.

    >>> import ast
    >>> ast.unparse(Undecorated(ast.parse("@once\\ndef f(): ...").body[0].decorator_list[0]).decorator)
    'once'
    """

    decorator: ast.expr


@dataclass(frozen=True, slots=True)
class Derived:
    """A class without bases derives from `base`, whose `__init__` its own one calls first.

    >>> import ast
    >>> Derived(ast.parse("class Meter: ...").body[0], "torch.nn.Module").base
    'torch.nn.Module'
    """

    cls: ast.ClassDef
    base: str


AnyChange: TypeAlias = Change | ModuleImport | InInit | Elsewhere | InClass | Beside | Undecorated | Derived


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to write it: what it does in a few words, as an order, and the changes, which belong together.

    safe: right by construction, whatever the inputs are; unsafe: a run has to show it. `needs_both_sides`: only
    inputs can that take both sides of the decision that it begins with.

    >>> Rewrite("import torch", (ModuleImport("torch"),)).applicability.value
    'unsafe'
    """

    description: str
    changes: tuple[AnyChange, ...]
    applicability: Applicability = Applicability.UNSAFE
    needs_both_sides: bool = False


class Repair:
    """Base of all repairs. `rewrites` gives the ways to write differently what the rule reported, the best one first.

    >>> from exportlint import Change, Repair, Rewrite
    >>> class DataAccess(Repair):
    ...     def rewrites(self, node, case):
    ...         yield Rewrite("read it with `.detach()`", (Change(node, f"{self.source(node.value)}.detach()"),))
    """

    def __init__(self, code: Code) -> None:
        self.code = code

    def rewrites(self, node: cst.CSTNode, case: str) -> Iterable[Rewrite]:
        """`node` and `case` are those of `Rule.report`. Nothing where no rewrite is known."""
        raise NotImplementedError

    def unforeseen(self, line: int) -> Iterable[tuple[cst.CSTNode, str]]:  # noqa: ARG002 - for those that know one
        """What a failure at this line is about that only a trial showed, as the rule would have reported it: nodes of
        the code, with their cases. Nothing is known of values there."""
        return ()

    def source(self, node: cst.CSTNode) -> str:
        """The text of a node as it stands in the file."""
        return self.code.source_of(node)

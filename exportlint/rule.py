"""What a rule file must say.

A rule is a libcst visitor in a file of its own. The file's stem with dashes is its name, its module docstring is its
page, and `cases` ties each message to the Bad class of the fixture that proves it, so that severity is measured.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import libcst as cst

from exportlint.finding import Severity

if TYPE_CHECKING:
    from exportlint.static.kinds import Value
    from exportlint.static.project import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.static.sketch import Sketch


class Scope(enum.Enum):
    """Which code a rule reads."""

    EXPORTED = "the functions that an exported forward can run"
    FILE = "whole files: export calls, imports, definitions"


@dataclass(frozen=True, slots=True)
class Case:
    """One way to commit the sin. Both texts are format strings, filled by the keywords of `report`.

    `message` says what the code does ("`{code}` branches on a tensor's value"); what torch does with it is added from
    the measured truth. `instead` says what to write.
    """

    message: str
    instead: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a construct stands: lines and columns from 1, end column exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What a rule reports; the static pass makes a finding of it."""

    rule: str
    case: str
    place: Place
    message: str
    instead: str
    at_most: Severity


class Code(Protocol):
    """The piece of source a rule looks at, and what the engine knows about it."""

    path: str
    module: ModuleInfo
    function: FunctionInfo | None
    cls: ClassInfo | None

    @property
    def sketch(self) -> Sketch:
        """The syntax of the piece, before libcst parses it."""

    def value(self, node: cst.CSTNode) -> Value:
        """What the expression is; UNKNOWN where the engine has no belief."""

    def name(self, node: cst.CSTNode) -> str | None:
        """The dotted origin of a name or attribute: "torch.cond", "numpy.random.rand", "builtins.id"; else None."""

    def place(self, node: cst.CSTNode) -> Place:
        """Where the node stands in the file."""

    def text(self, node: cst.CSTNode) -> str:
        """The node's source, on one line and cut to a readable length."""

    def sweep(self, visitor: cst.CSTVisitor) -> None:
        """Run another visitor over the same piece of code; much cheaper than the tree's own `visit`."""

    def reached(self, node: cst.CSTNode) -> bool:
        """Can export run this node (False behind `is_exporting()`, a TYPE_CHECKING test, after a return …)?"""


class Rule(cst.CSTVisitor):
    """Base of all rules. One instance visits one piece of code.

    scope, words   what is read; `words` is a regular expression, code without a match is not visited
    cases          the name of a Bad class in the fixture -> what to say
    exportdb       cases of ExportDB it belongs to (names with underscores)
    graph_breaks   ids such as GB0170
    torch_says     regular expressions for torch's own words, by which a trial's failure is known to be this rule's
    docs           pages that exist, as (title, url)
    """

    scope: ClassVar[Scope] = Scope.EXPORTED
    words: ClassVar[str | None] = None
    cases: ClassVar[Mapping[str, Case]] = {}
    exportdb: ClassVar[tuple[str, ...]] = ()
    graph_breaks: ClassVar[tuple[str, ...]] = ()
    torch_says: ClassVar[tuple[str, ...]] = ()
    docs: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, code: Code) -> None:
        super().__init__()
        self.code = code
        self.found: list[Suspicion] = []

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """A cheap look, at the sketch, before the code is parsed for the rule; False: the visitor finds nothing.

        It may be True too often, never False too often: a test compares it with what visitors find.
        """
        del code
        return True

    @classmethod
    def rule_name(cls) -> str:
        """`data_dependent_branch.py` is `data-dependent-branch`."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    def report(
        self,
        node: cst.CSTNode,
        case: str,
        *,
        at_most: Severity = Severity.ERROR,
        because: Value | None = None,
        **words: str,
    ) -> None:
        """Say that `node` commits `case`. `{code}` is filled with the node's text.

        at_most   caps the severity that the measured truth would give (a doubt, a habit that only might hurt)
        because   the value whose trail the message shows
        """
        if not self.code.reached(node):
            return
        texts = {"code": self.code.text(node), **words}
        said = self.cases[case]
        message = said.message.format_map(texts) + _trail(because)
        self.found.append(
            Suspicion(self.rule_name(), case, self.code.place(node), message, said.instead.format_map(texts), at_most)
        )


def _trail(value: Value | None) -> str:
    if value is None or not value.trail:
        return ""
    return " (" + " ← ".join(f"{step.text}, line {step.line}" for step in value.trail) + ")"

"""What a rule file must say.

A rule is a libcst visitor in a file of its own. The file's stem with dashes is its name, its module docstring is its
page, and `cases` ties each message to the Bad class of the fixture that proves it, so that severity is measured.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

from exportlint.finding import Severity
from exportlint.rule.suspicion import Case, Suspicion
from exportlint.rule.syntax.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import libcst as cst

    from exportlint.engine.values.abstract_value import Value
    from exportlint.rule.code import Code


class Scope(enum.Enum):
    """Which code a rule reads.

    >>> Rule.scope
    <Scope.EXPORTED: 'the functions that an exported forward can run'>
    """

    EXPORTED = "the functions that an exported forward can run"
    EVERYWHERE = "the functions that an exported forward can run, and whole files"
    FILE = "whole files: export calls, imports, definitions"


class Rule(Visitor):
    """Base of all rules: a libcst visitor, of which one instance visits one piece of code.

    A class sets these:

    scope, words   what is read; `words` is a regular expression, code without a match is not visited
    cases          the name of a Bad class in the fixture -> the message and the suggestion; that of a Good class, which
                   torch exports, makes a note
    exportdb       cases of ExportDB it belongs to (names with underscores)
    graph_breaks   ids such as GB0170
    torch_says     regular expressions for torch's own words, by which a trial's failure is known to be this rule's
    checks         checks and notes of a trial that are this rule's, by the names in `trial.protocol.observation`
    docs           pages that exist, as (title, url)
    lowerings      the targets of deployment that the rule is about, where torch exports the code; it speaks of those
                   that somebody ships to and that fail in the measured truth
    cured_by       target -> its setting in `[tool.exportlint.lowerings.TARGET]` with which it runs the code: where that
                   is set, nothing is said of the target
    mended_by      the general rewrites that may help (`exportlint.rewrite`), in the order in which they are worth a try
    mends_notes    is what it only notes rewritten, too, where a trial shows that nothing changes?
    shown_by       what a trial has to run besides what showed the fixture's Bad classes, before it may clear a
                   suspicion (`exportlint.trial.protocol.shown_by`)

    >>> from exportlint import Case
    >>> from exportlint.testing import code_of
    >>> class DataAccess(Rule):
    ...     cases = {"BadData": Case("`{code}` reads past autograd", "Use `.detach()`.")}
    ...     def visit_Attribute(self, node):
    ...         if node.attr.value == "data" and self.code.value(node.value).is_tensor:
    ...             self.report(node, "BadData")
    >>> rule = DataAccess(code_of('''
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         return self.settings.data, x.data
    ... ''', "forward"))
    >>> rule.code.sweep(rule)
    >>> [(found.place.line, found.exported.message) for found in rule.found]
    [(5, '`x.data` reads past autograd')]
    """

    scope: ClassVar[Scope] = Scope.EXPORTED
    words: ClassVar[str | None] = None
    cases: ClassVar[Mapping[str, Case]] = {}
    exportdb: ClassVar[tuple[str, ...]] = ()
    graph_breaks: ClassVar[tuple[str, ...]] = ()
    torch_says: ClassVar[tuple[str, ...]] = ()
    checks: ClassVar[tuple[str, ...]] = ()
    docs: ClassVar[tuple[tuple[str, str], ...]] = ()
    lowerings: ClassVar[tuple[str, ...]] = ()
    cured_by: ClassVar[Mapping[str, str]] = {}
    shown_by: ClassVar[tuple[str, ...]] = ()
    mended_by: ClassVar[tuple[str, ...]] = ()
    mends_notes: ClassVar[bool] = False

    def __init__(self, code: Code) -> None:
        super().__init__()
        self.code = code
        self.found: list[Suspicion] = []
        self.reported: list[cst.CSTNode] = []

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
        """Report `node` as an instance of `case`. Code that export cannot reach is not reported.

        case      a key of `cases`
        at_most   caps the severity that the measured truth would give (a doubt, a habit that only might hurt)
        because   the value whose trail the message shows
        words     fill the texts of the case; `{code}` is filled with the node's text
        """
        if not self.code.reached(node):
            return
        texts = {"code": self.code.text(node), **words}
        wording = self.cases[case]
        trail = _trail(because, self.code.module.path)
        exported, compiled = wording.exported.filled(texts, trail), wording.compiled.filled(texts, trail)
        path, place = str(self.code.module.path), self.code.place(node)
        from exportlint.rule.caught_refusal import caught_at  # noqa: PLC0415 (libcst, once something is found)
        from exportlint.rule.left_graph import is_in_python  # noqa: PLC0415 (as above)

        in_python, handler = is_in_python(self.code, node, because), caught_at(self.code, node)
        said = (exported, compiled, at_most)
        steps = because.trail if because is not None else ()
        self.found.append(
            Suspicion(
                path,
                self.rule_name(),
                case,
                place,
                *said,
                in_python=in_python,
                caught_at=handler,
                trail=tuple((step.text, step.line, str(step.path or path)) for step in steps),
            )
        )
        self.reported.append(node)


def _trail(value: Value | None, path: Path) -> str:
    """`path`: of the file that the finding stands in; a step in another one names it."""
    if value is None or not value.trail:
        return ""
    lines = (
        f"line {step.line}" if step.path in (None, path) else f"{step.path.name}:{step.line}" for step in value.trail
    )
    return " (" + " ← ".join(f"{step.text}, {line}" for step, line in zip(value.trail, lines, strict=True)) + ")"

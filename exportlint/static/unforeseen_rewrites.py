"""Rewrites that a trial leads to: a fake kernel that it drafted, and those of what it alone found.

The rule whose failure that is suspected nothing there, so the engine knows nothing of the values. What may be a tensor
by its syntax is taken for one; a trial tells whether that was right.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.parsed import Parsed, walked
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import Belief, span_of
from exportlint.finding import Evidence, Severity
from exportlint.registry import all_rules
from exportlint.rewrite.drafted_kernel import pasted_below
from exportlint.rewrite.export_mode import in_non_strict_mode
from exportlint.rewrite.proposed_shapes import declared_at_call
from exportlint.rewrite.switched_off import switched_off
from exportlint.rewrite.transformation import proposed_rewrites
from exportlint.static.merging import fix_of
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.shown_by import OTHER_SIZE
from exportlint.trial.protocol.stages import stage_named
from exportlint.trial.protocol.torch_messages import cause_of_break

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import Span
    from exportlint.finding import Finding, Fix
    from exportlint.rule.suspicion import SuspectedRewrite

T = TypeVar("T")

# Tried where no rule knows what a trial met, or what the rule's own ways make of the line is nothing.
_GENERAL = (
    "named-axes",
    "onnx-by-export",
    "eager-side",
    "given-as-tensors",
    "templates",
    "old-constraints",
    "declared-dims",
    "effect-operator",
    "decide-in-data",
    "loop-in-data",
    "numbers-stay-tensors",
    "state-in-buffers",
    "interface",
)
# Before these, of what no export showed: a call of the script raised, which may be one of torch.jit.
_OF_NO_EXPORT = ("for-torchscript",)
# Before these, of what torch.compile alone leaves the graph for.
_OF_COMPILE = ("kept-in-eager", "dynamo-settings")
# Of a size that data says, the first of the rule's own ways comes before a setting: without such a size there is no
# symbol that all that follows has to be asked about, which takes long to compile, and no guard on it. The others, which
# write more of the function, come after it.
_AFTER_OWN = {"size": ("dynamo-settings",)}
_MOST = 4


def with_rewrites(finding: Finding, path: Path, text: str) -> Finding:
    """The finding; one that a trial alone found at a line, with what general rewrites make of that. What torch.compile
    does, and was suspected of, has first what helps there alone. What is only noted is left,
    unless its rule mends notes."""
    if finding.severity is Severity.NOTE and finding.rule not in rules_that_mend_notes():
        return finding
    if finding.evidence is Evidence.CONFIRMED and is_of_compile(finding):
        return _with_rewrites_of_compile(finding, path, text)
    if finding.evidence is not Evidence.DISCOVERED or finding.rewrites or not finding.line:
        return finding
    rule = all_rules().get(finding.rule)
    try:
        site = _site(path, text, finding)
        own = rule.cls.mended_by if rule is not None else ()
        ways = list(site.proposed(own)) if site is not None else []
        if site is not None and not ways:
            general = _GENERAL if finding.effect else (*_OF_NO_EXPORT, *_GENERAL)
            ways += islice(site.proposed([one for one in general if one not in own]), _MOST)
        if site is not None and is_of_compile(finding):
            before, after = _of_compile(site)
            ways = _around(ways, before, after) if rule is not None else [*before, *after, *ways]
    except (SyntaxError, ValueError, RecursionError):
        return finding
    fixes = (fix_of(way, finding.path) for way in ways)
    return replace(finding, rewrites=tuple(_for_compile(fixes) if is_of_compile(finding) else fixes))


def _with_rewrites_of_compile(finding: Finding, path: Path, text: str) -> Finding:
    try:
        site = _site(path, text, finding)
        before, after = ([], []) if site is None else _of_compile(site)
    except (SyntaxError, ValueError, RecursionError):
        return finding
    made = ([fix_of(way, finding.path) for way in ways] for ways in (before, after))
    return replace(finding, rewrites=tuple(_around([*_for_compile(finding.rewrites)], *made)))


_ASKS_FOR_EXPORT, _ASKS_FOR_COMPILE = "torch.compiler.is_exporting()", "torch.compiler.is_compiling()"


def _for_compile(fixes: Iterable[Fix]) -> Iterator[Fix]:
    """What is left out of an export by its text, left out of what torch compiles: under torch.compile, `is_exporting()`
    is False. Only where one block alone asks: of several, where Dynamo gives a function up behind a break, one may read
    what another one never set."""
    for fix in fixes:
        asked = sum(one.text.count(_ASKS_FOR_EXPORT) for one in fix.edits)
        if asked == 1:
            edits = tuple(replace(one, text=one.text.replace(_ASKS_FOR_EXPORT, _ASKS_FOR_COMPILE)) for one in fix.edits)
            yield replace(fix, edits=edits, description=fix.description.replace("the export", "what is compiled"))
        elif not asked:
            yield fix


def _of_compile(site: _Line) -> tuple[list[SuspectedRewrite], list[SuspectedRewrite]]:
    """What helps torch.compile alone: what is tried before the rule's own ways, and what after the first of them."""
    after = _AFTER_OWN.get(site.cause or "", ())
    return list(site.proposed(name for name in _OF_COMPILE if name not in after)), list(site.proposed(after))


def _around(own: Sequence[T], before: Sequence[T], after: Sequence[T]) -> list[T]:
    return [*before, *own[:1], *after, *own[1:]]


def is_of_compile(finding: Finding) -> bool:
    """Did a trial find it in what torch.compile does?"""
    return finding.stage is not None and stage_named(finding.stage).purpose == COMPILE


def with_drafted_kernel(finding: Finding, path: Path, text: str) -> Finding:
    """The finding; one for which the trial drafted a fake kernel, with that as the first of its rewrites."""
    module = _read(path, text) if finding.fix is not None and finding.fix.kernel else None
    if module is None or finding.fix is None:
        return finding
    return _with_first(finding, pasted_below(module, finding.line, finding.fix.kernel))


def with_switch_off(finding: Finding, path: Path, text: str) -> Finding:
    """The finding; one that a flag of the model's own configuration cures, with that as the first of its rewrites."""
    module = _read(path, text) if finding.fix is not None and finding.fix.switch else None
    if module is None or finding.fix is None:
        return finding
    loose = finding.fix.loose_trace
    return _with_first(finding, switched_off(module, finding.line, finding.fix.switch, loose_trace=loose))


def with_non_strict_mode(finding: Finding, path: Path, text: str, line: int) -> Finding:
    """The finding; first of its rewrites, the export call at the `line` of the file in non-strict mode."""
    module = _read(path, text)
    way = in_non_strict_mode(module, line) if module is not None else None
    return _with_first(finding, replace(way, path=str(path)) if way is not None else None)


def with_declared_shapes(
    finding: Finding, path: Path, text: str, line: int, code: str, *, instead: bool = False
) -> Finding:
    """The finding; last of its rewrites, at the export call at the `line` of its file, the sizes that the trial
    proposes to declare: its `code`. `instead`: in the place of what is declared there."""
    module = _read(path, text)
    if module is None:
        return finding
    way = declared_at_call(lambda other: _judged(path, other), module, line, code, instead=instead)
    # By its whole path: what is rewritten is the call, and the line of that is told.
    own = () if way is None else (fix_of(way, str(path)),)
    return replace(finding, rewrites=(*finding.rewrites, *own))


def _read(path: Path, text: str) -> ModuleInfo | None:
    """None for what Python cannot read."""
    try:
        return Project().add(path, Parsed(ast.parse(text), text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _with_first(finding: Finding, way: SuspectedRewrite | None) -> Finding:
    own = () if way is None else (fix_of(way, finding.path),)
    return replace(finding, rewrites=(*own, *finding.rewrites))


def is_about_an_undeclared_size(finding: Finding) -> bool:
    rule = all_rules().get(finding.rule)
    return rule is not None and OTHER_SIZE in rule.cls.checks


def rules_that_mend_notes() -> frozenset[str]:
    """Of which a repair rewrites what they only note, too."""
    return frozenset(name for name, rule in all_rules().items() if rule.cls.mends_notes)


@dataclass(frozen=True)
class _Line:
    """The innermost statement at a line of a file, of which the engine says what it can."""

    module: ModuleInfo
    belief: Belief
    span: Span
    cause: str | None = None

    def proposed(self, names: Iterable[str]) -> Iterator[SuspectedRewrite]:
        yield from proposed_rewrites(names, self.module, self.belief, None, self.span, self.cause)


@lru_cache(maxsize=4)  # a file may have many findings
def _judged(path: Path, text: str) -> tuple[ModuleInfo, Belief]:
    """What stands in the file, and what the engine says of it, as far as it comes: the rest is guessed."""
    engine = Engine(Project())
    module = engine.project.add(path, Parsed(ast.parse(text), text))
    with suppress(Exception):
        engine.run(module, ())
    return module, engine.beliefs.get(path, Belief())


def _site(path: Path, text: str, finding: Finding) -> _Line | None:
    line = finding.line
    module, belief = _judged(path, text)
    at_line = [node for node in walked(module.tree) if isinstance(node, ast.stmt) and _begins(node, line)]
    span = span_of(at_line[-1]) if at_line else None
    if span is None:
        return None
    return _Line(module, belief, span, cause_of_break(finding.message) if is_of_compile(finding) else None)


def _begins(node: ast.stmt, line: int) -> bool:
    """Does the line belong to the statement, and to none of its blocks?"""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return node.lineno <= line <= max(last, node.lineno)

"""Join static suspicions with what trials found: suspected, confirmed, discovered, cleared."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import DOUBT, Evidence, Finding, Severity
from exportlint.registry import all_rules
from exportlint.trial.findings.classify import shown
from exportlint.trial.findings.deduplicate import findings_of
from exportlint.trial.findings.never_ran import NOTHING_IS_KNOWN, coverage_findings, lines_of
from exportlint.trial.findings.reaching import (
    end_of_statement,
    function_around,
    literal_sources,
    named_at,
    reaching_lines,
    set_at,
)
from exportlint.trial.findings.trial_finding import TRAINING_MODE, TrialFinding, united
from exportlint.trial.protocol.outcomes import MODES, NON_STRICT, REFUSED, Outcome
from exportlint.trial.protocol.shown_by import BESIDE_VALUES, OTHER_LENGTH, OTHER_SIZE, SHOWN_BY_OTHER_SIZES
from exportlint.trial.protocol.stages import SCRIPT, StageKind, lowering
from exportlint.trial.protocol.syntax_tree import syntax_tree
from exportlint.trial.protocol.target import ONNX, TargetKind
from exportlint.trial.protocol.torch_messages import (
    dims_of_guard,
    given_class_name,
    scripted_class_name,
    unknown_class_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.finding import Link
    from exportlint.trial.protocol.result import TargetReport


_EXPORTS = Outcome.EXPORTS.value
ExecutedLines = Mapping[str, frozenset[int]]


def merge(
    findings: Sequence[Finding], reports: Sequence[TargetReport], *, mode: str = NON_STRICT, root: Path | None = None
) -> list[Finding]:
    """Join the findings of both kinds, each place and reason once.

    `findings` is what the static pass suspects, `mode` (non-strict, strict or both) what severity follows; paths are
    relative to `root`, the working directory by default.
    """
    root = (root or Path.cwd()).resolve()
    modes = MODES if mode == "both" else (mode,)
    compiled, raised = _lines_only_compiled(reports, root), _raised_in_scripts(reports)
    evidence = _MergedEvidence(findings, root, modes, compiled=compiled, raised=raised)
    for report in reports:
        if report.stage(SCRIPT.name) is None:
            executed, own = _by_shown_path(report.executed, root), _modes_of(report, modes)
            for found in findings_of(report, root, own):
                evidence.add(found, executed, report)
            evidence.clear(report, [mode for mode in own if report.agrees(mode)], executed)
    for report in reports:  # once it is known what the targets of the script do
        if (script := report.stage(SCRIPT.name)) is not None:
            for found in findings_of(report, root, modes):
                evidence.script_failed = True
                details = script.observations[0].details
                evidence.add_of_script(found, details.get("target"), str(details.get("during")))
                called = details.get("called_from")
                if called and str(details["during"]).startswith("torch.jit."):
                    evidence.raising_calls[shown(called[0], root), called[1]] = f"{found.path}:{found.line}"
    unrun = coverage_findings(reports, root)
    joined = evidence.result(lines_of(unrun))
    return sorted([*joined, *unrun], key=lambda finding: finding.sort_key)


def _is_only_compiled(report: TargetReport) -> bool:
    return report.target is not None and report.target.only_compiled


def _only_makes_programs(report: TargetReport) -> bool:
    """Does a script export it, and neither save nor lower what that gives, or only as ONNX, which runs? What would fail
    of that later is no error of what it did."""
    calls = {*report.target.calls} if report.target is not None else set()
    runs_as_onnx = any(stage.passed for stage in report.stages if stage.row.lowering)
    return calls in [{one} for one in _MAKE_A_PROGRAM] or (calls == {ONNX[0]} and runs_as_onnx)


def _raised_in_scripts(reports: Sequence[TargetReport]) -> frozenset[str]:
    """The targets whose call is what a script failed of."""
    scripts = filter(None, (report.stage(SCRIPT.name) for report in reports))
    return frozenset(str(one.details["target"]) for s in scripts for one in s.observations if "target" in one.details)


def _lines_only_compiled(reports: Sequence[TargetReport], root: Path) -> ExecutedLines:
    """The lines that only those targets ran which a script compiles and does not export."""
    found: dict[str, set[int]] = {}
    for report in sorted(reports, key=_is_only_compiled, reverse=True):
        for path, lines in _by_shown_path(report.executed, root).items():
            known = found.setdefault(path, set())
            known.update(lines) if _is_only_compiled(report) else known.difference_update(lines)
    return {path: frozenset(lines) for path, lines in found.items()}


def _modes_of(report: TargetReport, modes: tuple[str, ...]) -> tuple[str, ...]:
    """Those that severity follows: what the script's own calls of export ask for, where nobody chose another."""
    asked = report.target.asked_modes if report.target else ()
    if report.target is not None and set(report.target.calls) <= set(ONNX):  # it takes the mode that passes
        asked = tuple(mode for mode in MODES if mode in report.exported) if report.target.calls else ()
    return asked if asked and modes == (NON_STRICT,) else modes


def _by_shown_path(lines: ExecutedLines, root: Path) -> ExecutedLines:
    """Lines by the path that findings carry."""
    return {shown(str(Path(path).resolve()), root): some for path, some in lines.items()}


@dataclass
class _MergedEvidence:
    """Static findings by index, as they are confirmed, or cleared mode by mode; and what only trials found.

    modes     those that severity follows, and `modes_of` a finding, by index, where its target's are others
    cleared   index -> mode -> the target that cleared it
    exported  the indices of what a target shows that is not only compiled
    compiled  the lines that targets ran of what a script only compiles, and not those that another target ran
    raised    the targets whose call raised in the script
    failing   the targets that have an error of export, or of a lowering; said: what torch said of them, in one line
    guarding  what is suspected of a size and became a guard: the program takes the sizes that fit, and no others
    raising_calls  where a script gave TorchScript what it refuses -> the line that is refused
    script_failed  did a script raise, or end otherwise than well?
    """

    static: Sequence[Finding]
    root: Path
    modes: tuple[str, ...]
    modes_of: dict[int, tuple[str, ...]] = field(default_factory=dict)
    exported: set[int] = field(default_factory=set)
    compiled: ExecutedLines = field(default_factory=dict)
    raised: frozenset[str] = frozenset()
    failing: set[str] = field(default_factory=set)
    failing_lowered: set[str] = field(default_factory=set)
    guarding: dict[int, Finding] = field(default_factory=dict)
    raising_calls: dict[tuple[str, int], str] = field(default_factory=dict)
    script_failed: bool = False
    said: set[tuple[str, str]] = field(default_factory=set)
    confirmed: dict[int, Finding] = field(default_factory=dict)
    cleared: dict[int, dict[str, str]] = field(default_factory=dict)
    discovered: dict[tuple[str, int, str, str], TrialFinding] = field(default_factory=dict)

    def add(self, found: TrialFinding, executed: ExecutedLines, report: TargetReport) -> None:
        """Join what a trial of a target found to the suspicion it is about, or keep it for itself."""
        only_compiled = _is_only_compiled(report) and not found.stage.lowering
        if found.about_dims and self._goes_on_in_onnx(report):
            found = replace(found, within=_OTHER_SHAPES)
        later = found.stage.kind is StageKind.FROM_PROGRAM
        if only_compiled and (found.of_export or later):
            found = replace(found, severity=Severity.NOTE)
        elif later and found.severity is Severity.ERROR and _only_makes_programs(report):
            found = replace(found, severity=Severity.WARNING)
        if found.stage.kind is StageKind.TRACE:  # the script's own call, made again
            self.said.add((report.name, found.torch_says.partition("\n")[0]))
        if (found.of_export or found.stage.lowering) and found.severity is Severity.ERROR:
            self.said.add((report.name, found.torch_says.partition("\n")[0]))
            (self.failing if found.of_export else self.failing_lowered).add(report.name)
        is_about_mode = found.family == TRAINING_MODE
        index = None
        if found.of_compile:
            pass  # what is suspected of an export is not what torch.compile does
        elif (sources := self._giving_literal(found)) is None:
            index = self._of_its_call(found, report) if is_about_mode else self._suspected(found, executed)
        elif len(sources) == 1:
            index, found = sources[0], replace(found, placed=True)
        elif sources:  # each may be it, so none is said to be
            either = " or ".join(f"`{self._code(one)}` (line {self.static[one].line})" for one in sources)
            found = replace(found, within=f"it comes from {either}")
        if index is not None:
            found = replace(found, inside="") if given_class_name(found.torch_says) else found
            self.confirmed[index] = _confirmed(self.confirmed.get(index, self.static[index]), found)
            self.modes_of[index] = (*self.modes_of.get(index, ()), *_modes_of(report, self.modes))
            self.exported |= set() if only_compiled else {index}
            return
        key = (found.path, found.line, found.name, found.family)
        known = self.discovered.get(key)
        self.discovered[key] = united(known, found) if known else found

    def _goes_on_in_onnx(self, report: TargetReport) -> bool:
        calls = report.target.calls if report.target else ()
        return calls == (ONNX[0],) and report.name not in self.raised

    def add_of_script(self, found: TrialFinding, target: str | None, call: str) -> None:
        """What a script failed of. It makes an error of what its targets have shown at its line; it is told already
        where it is the failure of a `call` for whose `target` there is such an error; else it is what is suspected at
        its line, or stands for itself."""
        here = [index for index, one in self.confirmed.items() if _is_at_lines(one, found)]
        there = [key for key, one in self.discovered.items() if one.of_export and key[:2] == (found.path, found.line)]
        for index in here:
            one = self.confirmed[index]
            if one.severity is not Severity.ERROR or index not in self.exported:
                self.confirmed[index] = replace(one, severity=Severity.ERROR, message=f"{one.message}{_ENDS_HERE}")
            self.exported.add(index)
        for key in there:
            self.discovered[key] = replace(self.discovered[key], severity=Severity.ERROR)
        if here or there or self._is_told(found, target, call):
            return
        dims = {f"dim {dim} of `{name}`" for name, dim in dims_of_guard(found.torch_says)}
        ruled_out = [index for index, one in self.guarding.items() if any(dim in one.message for dim in dims)]
        if len(ruled_out) == 1:  # by a test in the source
            (index,) = ruled_out
            message = f"{self.guarding[index].message}; the script's run raises for it at {found.path}:{found.line}"
            self.guarding[index] = replace(self.guarding[index], severity=Severity.ERROR, message=message)
            return
        suspected = self._at_place(found) if found.placed else None
        same = suspected is not None and (self.static[suspected].rule == found.rule or self._is_named(suspected, found))
        if suspected is not None and (target or same):
            self.confirmed[suspected] = _confirmed(self.static[suspected], found)
            self.exported.add(suspected)
        else:
            self.discovered[found.path, found.line, found.name, found.family] = found

    def _is_named(self, index: int, found: TrialFinding) -> bool:
        """Do the words of an exception say that torch lacks a name which the suspicion marks?"""
        marked = set(re.findall(r"\w+", self._code(index)))
        quoted = re.findall(r"'([\w.]+)'", found.torch_says)
        return any(one.split(".")[0] == "torch" for one in quoted) and not marked.isdisjoint(quoted)

    def _is_told(self, found: TrialFinding, target: str | None, call: str) -> bool:
        """What torch.jit and torch.onnx refuse may be another thing than what an export of the target shows."""
        if target is None:
            return False
        same = (target, found.torch_says.partition("\n")[0]) in self.said
        return same or (target in self.failing and call in _EXPORTING) or target in self.failing_lowered

    def _suspected(self, found: TrialFinding, executed: ExecutedLines) -> int | None:
        """The static finding that it confirms, if any."""
        if (index := self._at_lowering(found)) is not None:
            return index
        if found.family == "submodule" and (index := self._inside(found)) is not None:
            return index
        if (index := self._of_given_class(found)) is not None:
            return index
        if found.placed:
            index = self._at_place(found)
            index = self._above(found) if index is None else index
            return self._where_made(found) if index is None else index
        for index in (self._at_call(found), self._of_its_name(found)):
            if index is not None:
                return index
        return self._by_elimination(found, executed)

    def _of_its_name(self, found: TrialFinding) -> int | None:
        """The one suspicion of its rule that sets an attribute which torch's words name."""
        words = {f"self.{word}" for word in re.findall(r"\w+", found.torch_says)}
        own = [(i, one) for i, one in enumerate(self.static) if one.rule == found.rule and one.path == found.path]
        here = [i for i, one in own if words & set(set_at(str(self.root / one.path), one.line))]
        return here[0] if found.of_export and len(here) == 1 else None

    def _of_given_class(self, found: TrialFinding) -> int | None:
        """What its own rule says of the class of an argument that torch refuses, or cannot save: it stands where the
        object is given, or where a parameter is annotated with it."""
        said = found.torch_says
        name = given_class_name(said) if found.of_export else unknown_class_name(said)
        bare = f"`{(name or '').rpartition('.')[2]}`"
        own = (index for index, one in enumerate(self.static) if one.rule == found.rule and bare in one.message)
        return next(own, None) if name is not None else None

    def _giving_literal(self, found: TrialFinding) -> list[int] | None:
        """The suspicions that may have given a number of the program, by what its operation is written with: the
        nearest, of each place one. None where that does not tell; empty where it was none of them."""
        places = found.literal_of and literal_sources(
            str(self.root / found.path), found.line, found.literal_of, found.output
        )
        if not places:
            return None
        for far, spans in enumerate(places):
            here = dict[tuple[int, int], int]()
            for index, static in enumerate(self.static):
                could = static.path == found.path and not static.lowerings and (not far or _predicts_any(static, found))
                if could and any(span.holds(static.line, static.column) for span in spans):
                    here.setdefault((static.line, static.column), index)
            if here:
                return list(here.values())
        return [] if found.placed else None

    def _code(self, index: int) -> str:
        """What a suspicion marks, as it is written; of several lines the first."""
        static = self.static[index]
        line = linecache.getline(str(self.root / static.path), static.line).rstrip()
        return line[static.column - 1 : static.end_column - 1 if static.end_line == static.line else None]

    def _at_lowering(self, found: TrialFinding) -> int | None:
        """What is suspected at its line of the very target of deployment that failed."""
        here = (
            index
            for index, static in enumerate(self.static)
            if found.placed and found.stage.lowering in static.lowerings and _covers(static, found)
        )
        return next(here, None)

    def _at_call(self, found: TrialFinding) -> int | None:
        """Torch names no line, so it stands at the call of a script: what its own rule suspects there."""
        own = [(i, one) for i, one in enumerate(self.static) if one.rule == found.rule and one.path == found.path]
        here = [i for i, one in own if _covers(one, found)]
        if not here and found.about_declaration and len({one.message for _, one in own}) == 1:
            here = [
                own[0][0]
            ]  # it stands where the specification or the sample is written, which may be above the call
        return here[0] if found.of_export and len(here) == 1 else None

    def _of_its_call(self, found: TrialFinding, report: TargetReport) -> int | None:
        """What the rule of the same name says of the call that the model is given to; of a file's `model`, of the one
        call that exports that name."""
        own = [(index, static) for index, static in enumerate(self.static) if static.rule == found.rule]
        here = [index for index, static in own if _covers(static, found)]
        if not here and report.path and report.target and report.target.kind is TargetKind.MODULE:
            path = shown(str(Path(report.path).resolve()), self.root)
            named = ((index, given_model(str(self.root / path), one)) for index, one in own if one.path == path)
            here = [index for index, name in named if name == "model"] or [
                index for index, one in own if one.path == path and _keeps_model(str(self.root / path), one)
            ]
        return here[0] if len(here) == 1 else None

    def _inside(self, found: TrialFinding) -> int | None:
        """A submodule's forward that is refused by itself: what was confirmed in it already, of the same rule."""
        for index, static in self.confirmed.items():
            if static.path == found.path and static.rule == found.name:
                function = function_around(str(self.root / static.path), static.line)
                if function is not None and function.lineno == found.line:
                    return index
        return None

    def _at_place(self, found: TrialFinding) -> int | None:
        """The static finding at the same place; of several, the one of the same rule, then one of whose case torch
        speaks, then the most severe. What no export shows, such as a refusal to decompose, is of its own rule alone;
        and of cases of which torch has other words none is."""
        here = [
            (static.rule != found.name, not says, static.severity.rank, index)
            for index, static in enumerate(self.static)
            if _is_at_lines(static, found)
            and (static.rule == found.name or (found.of_export and not static.lowerings and _agrees(static, found)))
            and (says := _speaks_of_case(static, found)) is not False
        ]
        return min(here)[3] if here else self._in_its_statement(found)

    def _in_its_statement(self, found: TrialFinding) -> int | None:
        """What its rule suspects in the statement that begins at the line, where torch speaks of this case."""
        last = end_of_statement(str(self.root / found.path), found.line)
        inside = (
            index
            for index, static in enumerate(self.static)
            if static.path == found.path
            and found.line < static.line <= last
            and static.rule == found.name
            and _speaks_of_case(static, found)
        )
        return next(inside, None)

    def _above(self, found: TrialFinding) -> int | None:
        """A line that no rule knows: the nearest suspicion that predicts it, of those that reach the line."""
        if not found.of_export or not found.measured or found.rule is not None:
            return None
        for line in reaching_lines(str(self.root / found.path), found.line):
            for index, static in enumerate(self.static):
                here = static.path == found.path and static.line == line
                if here and _predicts_any(static, found):
                    return index
        return None

    def _where_made(self, found: TrialFinding) -> int | None:
        """What its own rule suspects where an attribute is made that the line uses, in another method."""
        used = set(named_at(str(self.root / found.path), found.line)) if found.rule is not None else set()
        own = [
            (index, one) for index, one in enumerate(self.static) if one.rule == found.rule and one.path == found.path
        ]
        here = [index for index, one in own if used & set(set_at(str(self.root / one.path), one.line))]
        if len(here) > 1 and (name := scripted_class_name(found.torch_says)):
            here = [index for index in here if re.search(rf"\b{name}\b", self._code(index))]
        return here[0] if found.of_export and len(here) == 1 else None

    def _by_elimination(self, found: TrialFinding, executed: ExecutedLines) -> int | None:
        """Torch names no line: the one suspicion among the lines that ran which could be it."""
        own = [
            index
            for index, static in enumerate(self.static)
            if not static.lowerings and _has_any(static, executed) and _could_be(static, found)
        ]
        return own[0] if len(own) == 1 else None

    def clear(self, report: TargetReport, modes: Sequence[str], executed: ExecutedLines) -> None:
        """The suspicions whose lines ran in a target that exports and agrees with eager in these `modes`, and whose
        harm the checks of that trial would have shown: mode by mode, since another line may be refused in the other."""
        changing = _lines_that_change(report, self.root)
        repeated = _by_shown_path(report.repeated, self.root)
        guards = _guards_by_line(report, self.root) if modes else {}
        for index, static in enumerate(self.static):
            if static.lowerings:
                ran = _has_any(static, executed) and _refuted(static, report)
                self.cleared[index] = dict.fromkeys(MODES, report.name) if ran else self.cleared.get(index, {})
            elif demands := _demands_at(static, guards):
                said = f"{static.message}; tried: the program demands of {' and of '.join(demands)}"
                self.guarding[index] = replace(
                    static, evidence=Evidence.CONFIRMED, severity=Severity.NOTE, message=said, target=report.name
                )
            elif _has_any(static, executed) and not _has_any(static, changing):
                shown = {mode: report.name for mode in modes if _would_show(report, mode, static, repeated)}
                self.cleared[index] = shown | self.cleared.get(index, {})

    def result(self, unrun: ExecutedLines) -> list[Finding]:
        """Every finding once; `unrun`: the lines that the samples never ran."""
        joined = [self._final(index, static, unrun) for index, static in enumerate(self.static)]
        return [*joined, *(found.finding() for found in self.discovered.values())]

    def _final(self, index: int, static: Finding, unrun: ExecutedLines) -> Finding:
        refused_at = self.raising_calls.get((static.path, static.line))
        if refused_at and static.predicted and index not in self.confirmed:
            return replace(static, message=static.message.replace(static.predicted, f"here it raises, at {refused_at}"))
        cleared = self.cleared.get(index, {})
        modes = tuple(dict.fromkeys(self.modes_of.get(index, self.modes)))
        harmed = [mode for mode in modes if static.effect.get(mode) != _EXPORTS] or modes
        if index in self.confirmed:
            confirmed = self.confirmed[index]
            if confirmed.effect and all(static.effect.get(mode) == it for mode, it in confirmed.effect.items()):
                confirmed = replace(confirmed, message=confirmed.message.replace(DOUBT, "", 1))
            if index not in self.exported:
                so_far = "" if self.script_failed else _WITHOUT_FAILING
                message = f"{confirmed.message}{_ONLY_COMPILED}{so_far}"
                confirmed = replace(confirmed, severity=Severity.NOTE, message=message)
            return _spared(confirmed, static, modes, sure=all(mode in cleared for mode in harmed))
        if index in self.guarding:
            return self.guarding[index]
        if all(mode in cleared for mode in harmed):
            return replace(static, evidence=Evidence.CLEARED, target=cleared[harmed[0]])
        if _has_any(static, self.compiled) and not static.lowerings:
            told = f"{_ONLY_COMPILED}{'' if self.script_failed else _WITHOUT_FAILING}"
            return replace(static, severity=Severity.NOTE, message=f"{static.message}{told}")
        if static.line in unrun.get(static.path, ()):
            return replace(static, message=static.message + NOTHING_IS_KNOWN)
        return replace(static, effect={**static.effect, **dict.fromkeys(cleared, _EXPORTS)}) if cleared else static


def _covers(static: Finding, found: TrialFinding) -> bool:
    """Is it at the suspicion's lines, and about the same: export, or a target of deployment?"""
    return bool(static.lowerings) == (found.stage.lowering is not None) and _is_at_lines(static, found)


def _is_at_lines(static: Finding, found: TrialFinding) -> bool:
    return static.path == found.path and static.line <= found.line <= static.end_line


def _would_show(report: TargetReport, mode: str, static: Finding, repeated: ExecutedLines) -> bool:
    here = {OTHER_LENGTH} if _has_any(static, repeated) else set()
    return mode in static.shown_by and (report.shown(mode) | here).issuperset(static.shown_by[mode])


def _refuted(static: Finding, report: TargetReport) -> bool:
    """Did each target take what it was said to refuse? Of results that differ a pass says less: other inputs may."""
    return all(status == REFUSED and _runs(report, name) for name, status in static.lowerings.items())


def _guards_by_line(report: TargetReport, root: Path) -> Mapping[tuple[str, int], list[str]]:
    """What the program demands of its sizes, by the line that makes it so."""
    found: dict[tuple[str, int], list[str]] = {}
    for guard in report.guards:
        if guard.path is not None and guard.line is not None:
            found.setdefault((shown(str(Path(guard.path).resolve()), root), guard.line), []).append(guard.text)
    return found


def _demands_at(static: Finding, guards: Mapping[tuple[str, int], list[str]]) -> list[str]:
    """Of what is suspected of other sizes: the guards of its lines."""
    if static.lowerings or not any({*kinds} & _OF_SIZES for kinds in static.shown_by.values()):
        return []
    lines = range(static.line, static.end_line + 1)
    return list(dict.fromkeys(text for line in lines for text in guards.get((static.path, line), ())))


def _runs(report: TargetReport, lowering_name: str) -> bool:
    result = report.stage(lowering(lowering_name).name)
    return result is not None and result.passed


def _has_any(static: Finding, lines: ExecutedLines) -> bool:
    here = lines.get(static.path, frozenset())
    return any(line in here for line in range(static.line, static.end_line + 1))


def _lines_that_change(report: TargetReport, root: Path) -> ExecutedLines:
    """The lines at which eager was seen to change what outlives a call."""
    found: dict[str, set[int]] = {}
    for stage in report.stages:
        for seen in stage.observations:
            if seen.user and seen.details.get("note") in {"attribute-changed", "inputs-changed"}:
                found.setdefault(shown(seen.user.path, root), set()).add(seen.user.line)
    return {path: frozenset(lines) for path, lines in found.items()}


def _could_be(static: Finding, found: TrialFinding) -> bool:
    """Does the suspicion name this very harm, or predict just this outcome? Of what comes after the export, and no
    suspicion predicts: is it of the rule that knows torch's words?"""
    if found.family in BESIDE_VALUES and any(found.family in kinds for kinds in static.shown_by.values()):
        return True
    if found.of_export and found.effect:
        # That a size was not declared is in the call, and at no line of the model.
        is_of_a_line = found.family != "static-dim" and not found.about_a_size
        is_of_rule = static.rule == found.name or found.rule is None or _was_measured_with_these_words(static, found)
        return is_of_a_line and is_of_rule and _predicts(static, found)
    return static.rule == found.name


def _was_measured_with_these_words(static: Finding, found: TrialFinding) -> bool:
    """Did torch say of the suspicion's own case, when that was measured, what it says here? Several rules may have a
    case of which it says the same, and only one of them is taken to be the one that knows the words."""
    suspected, told = all_rules().get(static.rule), all_rules().get(str(found.rule))
    if suspected is None or told is None:
        return False
    words = [one for one in told.cls.torch_says if re.search(one, found.torch_says)]
    cases = (classes.get(static.case) or {} for classes in suspected.truth().values())
    errors = [str(modes.get(mode, {}).get("error")) for modes in cases for mode in found.measured]
    return any(re.search(one, error) for one in words for error in errors)


def _speaks_of_case(static: Finding, found: TrialFinding) -> bool | None:
    """Do torch's words tell of this case of the rule that they are of, or, False, of another one? None where they do
    not say, or nothing was refused."""
    info = all_rules().get(static.rule)
    if info is None or found.family != "refused" or static.rule != found.rule:
        return None
    told = {
        name for name, one in info.cls.cases.items() if one.torch_says and re.search(one.torch_says, found.torch_says)
    }
    return static.case in told if told else None


def _agrees(static: Finding, found: TrialFinding) -> bool:
    """Has what nobody knows by its words the outcome that is suspected, in a mode that was tried?"""
    return found.rule is not None or not static.effect or not found.measured or _predicts_any(static, found)


def _predicts_any(static: Finding, found: TrialFinding) -> bool:
    return any(static.effect.get(mode) == outcome for mode, outcome in found.measured.items())


def _predicts(static: Finding, found: TrialFinding) -> bool:
    return all(static.effect.get(mode) == outcome for mode, outcome in found.measured.items())


_OF_SIZES = {*SHOWN_BY_OTHER_SIZES, OTHER_SIZE}
_MAKE_A_PROGRAM = ("torch.export.export", "torch.export.draft_export")
_EXPORTING = (*_MAKE_A_PROGRAM, "torch.compile")
# It tries again with what torch suggests for the sizes that do not hold.
_OTHER_SHAPES = "torch.onnx.export goes on with other `dynamic_shapes` than these, and says nothing"
_ONLY_COMPILED = "; the script only compiles it"
_WITHOUT_FAILING = ", and that did not fail"
_ENDS_HERE = "; here the script itself raises"
_ONLY = "; torch names no line, and of those that ran only this one is suspected of it"


def _confirmed(static: Finding, found: TrialFinding) -> Finding:
    """The static rule, message and fix; the trial's target, stage, words, links and effect, which was measured."""
    tried = found.finding()
    return replace(
        static,
        evidence=Evidence.CONFIRMED,
        severity=min(static.severity, tried.severity, key=lambda severity: severity.rank),
        message=static.message + _tried(static, found),
        effect={**(static.effect if static.evidence is Evidence.CONFIRMED else {}), **tried.effect},
        target=static.target or tried.target,
        stage=static.stage or tried.stage,
        links=_links_of_both(static, tried),
        calls=tried.calls,
        fix=found.advice(static.fix.description)
        if static.fix and (found.remedy or found.code)
        else static.fix or tried.fix,
    )


def _links_of_both(static: Finding, tried: Finding) -> tuple[Link, ...]:
    """The break that was met here is the one to read of; before that it could be any that such code makes."""
    met = any(link.kind == "graph-break" for link in tried.links) and static.evidence is not Evidence.CONFIRMED
    kept = (link for link in static.links if not (met and link.kind == "graph-break"))
    return tuple(dict.fromkeys((*kept, *tried.links)))


def _spared(confirmed: Finding, static: Finding, modes: Sequence[str], *, sure: bool) -> Finding:
    """What was shown in the mode that nobody chose, where the program of the chosen `modes` agrees with eager. `sure`:
    all that shows the harm ran there; else some of it may remain."""
    if any(confirmed.effect.get(mode) != _EXPORTS for mode in modes):
        return confirmed
    least = Severity.NOTE if sure else Severity.WARNING
    severity = max(confirmed.severity, least, key=lambda one: one.rank)
    if all(static.effect.get(mode) == _EXPORTS for mode in modes):
        return replace(confirmed, severity=severity)
    message = f"{confirmed.message}; in {' and '.join(modes)} mode the program agrees with eager all the same"
    return replace(confirmed, severity=severity, message=message)


def _tried(static: Finding, found: TrialFinding) -> str:
    """What the first observation says of a suspicion, and the values that two traces gave, whenever they are seen."""
    above = f" (line {found.line})" if found.placed and found.line > static.end_line else ""
    if static.evidence is Evidence.CONFIRMED:
        news = found.within if found.family == "submodule" else found.literals and f"{found.literals}{above}"
        return f"; {news}" if news and news not in static.message else ""
    says = found.message if above or found.rule != static.rule else found.beside_its_rule
    at_call = found.rule == static.rule and _covers(static, found)
    is_known = (
        found.placed
        or given_class_name(found.torch_says) is not None
        or found.family == TRAINING_MODE
        or at_call
        or found.about_declaration
    )
    return f"; tried{above}: {says}" + ("" if is_known else _ONLY)


# Read in the source which name a call of export is given as its model.


def given_model(path: str, call: Finding) -> str | None:
    """The name; None where the model is no plain name, or the finding does not mark a call."""
    try:
        text = Path(path).read_text("utf-8")
        nodes = ast.walk(syntax_tree(text))
    except (OSError, SyntaxError, ValueError):
        return None
    lines = text.split("\n")
    marked = (call.line, call.column, call.end_line, call.end_column)
    calls = (node for node in nodes if isinstance(node, ast.Call) and _span(node, lines) == marked)
    return next(map(_model, calls), None)


def _keeps_model(path: str, made: Finding) -> bool:
    """Does the finding mark what the file's `model` is made of?"""
    try:
        text = Path(path).read_text("utf-8")
        nodes = syntax_tree(text).body
    except (OSError, SyntaxError, ValueError):
        return False
    lines, marked = text.split("\n"), (made.line, made.column, made.end_line, made.end_column)
    kept = (one.value for one in nodes if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "model")
    return any(isinstance(one, ast.Call) and _span(one, lines) == marked for one in kept)


def _span(node: ast.Call, lines: list[str]) -> tuple[int, int, int, int]:
    """As findings count: columns are characters, from 1."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    first, last = (len(lines[line - 1].encode()[:offset].decode()) + 1 for line, offset in (start, end))
    return node.lineno, first, end[0], last


def _model(call: ast.Call) -> str | None:
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "mod")]
    return given[0].id if given and isinstance(given[0], ast.Name) else None

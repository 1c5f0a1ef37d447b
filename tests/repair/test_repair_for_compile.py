"""What counts as better for torch.compile, and which rewrites are tried together."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from exportlint.commands.reporting import render_options
from exportlint.finding import Applicability, Edit, Evidence, Finding, Fix, Severity
from exportlint.output.repair_text import ladders_text
from exportlint.repair.edition import Edition
from exportlint.repair.improvement import why_not
from exportlint.repair.proposals import Proposal, Proposals
from exportlint.repair.rounds import OtherSettings, Repaired, repair
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

FORWARD, HELPER = "forward", "scaled"


@dataclass(frozen=True)
class Tried:
    """A target that breaks at these lines, and is compiled again at those; each with its function."""

    breaks: Sequence[tuple[int, str]] = ()
    recompiles: Sequence[tuple[int, str]] = ()
    findings: Sequence[Finding] = field(default=())

    @property
    def targets(self) -> Sequence[TargetReport]:
        stages = (
            StageResult("load", "passed"),
            StageResult("eager", "passed"),
            StageResult("same-behaviour", "passed"),
            StageResult("breaks", "passed", observations=self._seen("graph-break", self.breaks)),
            StageResult("recompiles", "passed", observations=self._seen("recompile", self.recompiles)),
        )
        return [TargetReport("target", "net.py", 1, stages, {})]

    def _seen(self, kind: str, lines: Sequence[tuple[int, str]]) -> tuple[Observation, ...]:
        frames = [Frame("/app/net.py", line, function, "") for line, function in lines]
        return tuple(Observation(kind, user=one, frames=(one,)) for one in frames)


def test_what_python_computed_behind_a_break_may_be_compiled_again() -> None:
    before = Tried(breaks=[(7, FORWARD)])
    assert why_not(before, Tried(recompiles=[(9, FORWARD)])) is None


def test_so_may_what_a_function_with_a_break_calls_now() -> None:
    frames = (Frame("/app/net.py", 9, FORWARD, ""), Frame("/app/net.py", 30, "run_padded", ""))
    now = Tried()
    seen = Observation("recompile", user=frames[-1], frames=frames)
    (target,) = now.targets
    stages = [replace(one, observations=(seen,)) if one.name == "recompiles" else one for one in target.stages]
    told = SimpleNamespace(findings=(), targets=[replace(target, stages=tuple(stages))])
    assert why_not(Tried(breaks=[(7, FORWARD)]), told) is None
    assert why_not(Tried(breaks=[(7, HELPER)]), told) == "torch.compile compiles more of it again each time"


def test_a_function_without_a_break_must_not_be_compiled_again_now() -> None:
    before = Tried(breaks=[(7, FORWARD)])
    assert why_not(before, Tried(recompiles=[(20, HELPER)])) == "torch.compile compiles more of it again each time"


def _finding(line: int, rule: str, stage: str) -> Finding:
    edit = Edit("net.py", (line, 1), (line, 2), "x")
    fix = Fix(f"mend of {rule}", Applicability.UNSAFE, (edit,))
    place = ("net.py", line, 1, line, 2)
    told = (Severity.WARNING, "no", Evidence.CONFIRMED)
    return Finding(rule, *place, *told, stage=stage, fingerprint=str(line), rewrites=(fix,))


@pytest.mark.parametrize(
    ("stage", "together"),
    [("breaks", [[1, 2, 3], [1, 2]]), ("export-non-strict", [[1, 2, 3]])],
    ids=["graph breaks", "an export"],
)
def test_of_graph_breaks_one_bad_rewrite_does_not_cost_the_others(stage: str, together: list[list[int]]) -> None:
    """The rewrites of one rule are left out, or taken alone; each by itself comes after that."""
    findings = [_finding(1, "a-rule", stage), _finding(2, "a-rule", stage), _finding(3, "b-rule", stage)]
    lines = [[one.line for one, _ in proposal.parts] for proposal in Proposals().of(findings)]
    assert lines == [*together, [1], [2], [3]]


@dataclass
class File:
    """A file of statements, of which those with a mend break the graph; behind one that `hides`, nobody sees more.
    Keeps what each try was worth."""

    path: Path
    mends: Mapping[str, str]
    worth_more: list[bool] = field(default_factory=list)

    def __call__(
        self, edited: Mapping[str, str], goes_on: Callable[[TargetReport], bool] | None = None, what: str = ""
    ) -> Tried:
        del what
        lines = edited.get(str(self.path.resolve()), self.path.read_text("utf-8")).splitlines()
        found = [number for number, line in enumerate(lines, 1) if line in self.mends]
        hiding = next((place for place, number in enumerate(found, 1) if "hides" in lines[number - 1]), len(found))
        tried = Tried(findings=[self._finding(number, lines[number - 1]) for number in found[:hiding]])
        seen = tuple(
            Observation("graph-break", user=Frame(str(self.path), number, FORWARD, lines[number - 1]))
            for number in found[:hiding]
        )
        (target,) = tried.targets
        stages = [replace(one, observations=seen) if one.name == "breaks" else one for one in target.stages]
        report = replace(target, stages=tuple(stages))
        self.worth_more += [goes_on(report)] if goes_on else []
        return SimpleNamespace(findings=tried.findings, targets=[report])  # type: ignore[return-value] - what is read of it

    def _finding(self, number: int, line: str) -> Finding:
        where = (str(self.path), number, 1, number, len(line) + 1)
        fix = Fix(
            "mend it",
            Applicability.SAFE,
            (Edit(str(self.path), (number, 1), (number, len(line) + 1), self.mends[line]),),
        )
        told = (Severity.WARNING, "no", Evidence.CONFIRMED)
        return Finding("a-rule", *where, *told, stage="breaks", fingerprint=line, rewrites=(fix,))


def mended(file: File, text: str) -> str:
    """The text after the repair."""
    file.path.write_text(text, "utf-8")
    time.sleep(0.01)  # the file is older than the run
    done = repair(file, lambda _edition: OtherSettings(), [], 60.0)
    return next(iter(done.edition.texts.values()), text)


def test_what_hid_other_breaks_is_mended_together_with_those(tmp_path: Path) -> None:
    """By itself it makes one line two, which is no gain."""
    file = File(tmp_path / "net.py", {"hides = 1": "done = 1", "a = 1": "done = 2", "b = 1": "done = 3"})
    assert mended(file, "hides = 1\na = 1\nb = 1\n") == "done = 1\ndone = 2\ndone = 3\n"


def test_where_nothing_helps_in_the_end_nothing_is_taken(tmp_path: Path) -> None:
    file = File(tmp_path / "net.py", {"hides = 1": "done = 1", "a = 1": "a = 1", "b = 1": "b = 1"})
    assert mended(file, text := "hides = 1\na = 1\nb = 1\n") == text


def test_what_breaks_as_before_is_looked_at_no_further(tmp_path: Path) -> None:
    file = File(tmp_path / "net.py", {"a = 1": "b = 1", "b = 1": "c = 1", "c = 1": "done = 1"})
    assert mended(file, "a = 1\n") == "done = 1\n"
    assert file.worth_more == [False, False, True]


def test_less_in_graphs_is_told_where_breaks_are_left() -> None:
    """Without the first break, Dynamo leaves the whole function for the next one."""

    def report(*lines: int, operators: Sequence[int]) -> TargetReport:
        (target,) = Tried(breaks=[(line, FORWARD) for line in lines]).targets
        graphs = [{"operators": number} for number in operators]
        data = {"graphs": graphs}
        return replace(target, stages=tuple(replace(s, data=data) if s.name == "breaks" else s for s in target.stages))

    plain = render_options(None)
    before = report(7, 9, operators=[5, 20])
    assert "operators in graphs: 25 -> 20" in ladders_text([before], [report(9, operators=[20])], plain)
    assert "operators in graphs" not in ladders_text([before], [report(operators=[24])], plain)


def test_what_is_given_back_is_told_with_its_rewrites() -> None:
    begin, edition = Edition(), Edition().with_edits([], [])
    before, after = Tried(breaks=[(7, FORWARD)]), Tried()
    finding = Finding("a-rule", "net.py", 7, 1, 7, 2, Severity.WARNING, "breaks", Evidence.CONFIRMED)
    taken = Proposal(((finding, Fix("mend it")),))
    done = Repaired(before, after, edition, taken=[taken])
    done.withdraw(begin, "called many times, the compiled model raises: no")
    assert (done.edition, done.after, done.taken) == (begin, before, [])
    (rejected,) = done.rejected
    assert (rejected.proposal.parts, rejected.why[:17]) == (taken.parts, "called many times")

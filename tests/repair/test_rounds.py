"""Rounds of rewrites: which are tried, in which order, how long, and what is told of each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from exportlint.finding import Applicability, Edit, Evidence, Finding, Fix, Severity
from exportlint.repair.rounds import AT_OWN_LINE, OtherSettings, Stopped, repair
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.workflow.repairing import _of_own_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from exportlint.repair.edition import Edition
    from exportlint.repair.rounds import Repaired

EXPORT = "export-non-strict"


@dataclass(frozen=True)
class Tried:
    findings: Sequence[Finding]
    targets: Sequence[TargetReport]


@dataclass
class File:
    """A file of statements. `ways`: of each one that is refused, what may be written instead; whatever is not there is
    exported. Keeps the texts that were tried."""

    path: Path
    ways: Mapping[str, Sequence[str]]
    seconds: float = 0.0
    caveats: Mapping[str, str] = field(default_factory=dict)
    wrong: str = "no such line"  # a line with which it computes something else
    tried: list[str] = field(default_factory=list)

    def __call__(
        self, edited: Mapping[str, str], goes_on: Callable[[TargetReport], bool] | None = None, what: str = ""
    ) -> Tried:
        del goes_on, what
        time.sleep(self.seconds)
        text = edited.get(str(self.path.resolve()), self.path.read_text("utf-8"))
        self.tried.append(text)
        lines = list(enumerate(text.splitlines(), 1))
        refused = [(number, line) for number, line in lines if line in self.ways]
        frames = [Frame(str(self.path), number, "forward", line) for number, line in refused[:1]]
        stages = (
            StageResult("load", "passed"),
            StageResult("eager", "passed"),
            StageResult(
                "same-behaviour",
                "differs" if self.wrong in text.splitlines() else "passed",
                data={"caveats": self._told(text)},
            ),
            StageResult(
                EXPORT,
                "refused" if refused else "passed",
                observations=tuple(Observation("exception", user=one) for one in frames),
            ),
        )
        findings = [self._finding(number, line) for number, line in refused]
        return Tried(findings, [TargetReport("target", str(self.path), 1, stages, {})])

    def alone(self, edition: Edition) -> list[str]:
        return self._told(next(iter(edition.texts.values())))

    def in_eager(self, edition: Edition) -> str | None:
        texts = edition.texts.values()
        return "it computes something else" if any(self.wrong in text.splitlines() for text in texts) else None

    def _told(self, text: str) -> list[str]:
        return [told for line, told in self.caveats.items() if line in text.splitlines()]

    def _finding(self, number: int, line: str) -> Finding:
        place = (str(self.path), number, 1, number, len(line) + 1)
        edits = [Edit(str(self.path), (number, 1), (number, len(line) + 1), text) for text in self.ways[line]]
        fixes = tuple(Fix(f"write {one.text}", Applicability.UNSAFE, (one,)) for one in edits)
        return Finding("a-rule", *place, Severity.ERROR, "no", Evidence.CONFIRMED, fingerprint=line, rewrites=fixes)


def mended(file: File, text: str, budget: float | None = 60.0) -> Repaired[Tried]:
    file.path.write_text(text, "utf-8")
    time.sleep(0.01)  # the file is older than the run
    return repair(file, lambda _edition: OtherSettings(), ["non-strict"], budget, file.alone, in_eager=file.in_eager)


def text_of(done: Repaired[Tried]) -> str:
    return next(iter(done.edition.texts.values()), "")


def test_of_several_together_the_one_that_computes_something_else_gives_way_to_its_next_way(tmp_path, monkeypatch):
    """It is found by comparing in eager alone; the others are not tried without it one by one."""
    monkeypatch.setattr("exportlint.repair.rounds.free_cores", lambda: 0)  # else the next one runs beside it
    ways = {"_a = 1": ["done = 1"], "_b = 1": ["_b = 2", "done = 2"], "_b = 2": ["done = 2"], "_c = 1": ["done = 3"]}
    done = mended(file := File(tmp_path / "a.py", ways, wrong="_b = 2"), "_a = 1\n_b = 1\n_c = 1\n")
    assert text_of(done) == "done = 1\ndone = 2\ndone = 3\n"
    assert file.tried[1:] == ["done = 1\n_b = 2\ndone = 3\n", "done = 1\ndone = 2\ndone = 3\n"]
    assert [one.why for one in done.rejected if len(one.proposal.parts) == 1] == ["it computes something else"]


def test_rewrites_are_composed_breadth_first(tmp_path):
    ways = {"a = 1": ["a = 2", "a = 3"], "a = 2": ["a = 4"], "a = 3": ["done = 1"], "a = 4": ["done = 2"]}
    done = mended(file := File(tmp_path / "a.py", ways), "a = 1\n")
    assert text_of(done) == "done = 1\n"
    assert "done = 2\n" not in file.tried
    assert [one.why for one in done.rejected] == [AT_OWN_LINE]  # a = 2: what was written over a = 3 is the repair's


def test_three_rewrites_may_be_needed(tmp_path):
    ways = {"a = 1": ["a = 2"], "a = 2": ["a = 3"], "a = 3": ["done = 1"]}
    done = mended(File(tmp_path / "a.py", ways), "a = 1\n")
    assert (text_of(done), done.rejected) == ("done = 1\n", [])


def test_what_fails_at_a_line_that_the_rewrite_wrote_does_not_help(tmp_path):
    done = mended(File(tmp_path / "a.py", {"a = 1": ["a = 2"], "a = 2": []}), "a = 1\n")
    assert text_of(done) == ""
    assert [one.why for one in done.rejected] == [AT_OWN_LINE]


def test_what_fails_at_a_later_line_of_the_author_helps(tmp_path):
    done = mended(File(tmp_path / "a.py", {"a = 1": ["done = 1"], "b = 1": []}), "a = 1\nb = 1\n")
    assert text_of(done) == "done = 1\nb = 1\n"


def test_the_same_text_is_not_tried_twice(tmp_path):
    ways = {"a = 1": ["a = 2", "a = 3"], "a = 2": ["a = 1", "a = 3"], "a = 3": ["a = 2", "a = 1"], "b = 1": ["b = 2"]}
    mended(file := File(tmp_path / "a.py", {**ways, "b = 2": []}), "a = 1\nb = 1\n")
    assert len(file.tried) == len(set(file.tried)) > 4


def test_what_did_no_harm_is_tried_again_on_top_of_what_helped(tmp_path):
    ways = {"a = 1": ["a = 2"], "a = 2": [], "b = 1": ["done = 1"]}
    done = mended(file := File(tmp_path / "a.py", ways), "a = 1\nb = 1\n")
    assert "a = 2\nb = 1\n" in file.tried
    assert "done = 1" in text_of(done) or "a = 2\ndone = 1\n" in file.tried


def test_without_a_budget_the_time_goes_by_the_trial(tmp_path):
    ways = {"a = 1": [f"a = {number}" for number in range(2, 100)], **{f"a = {n}": [] for n in range(2, 100)}}
    began = time.monotonic()
    done = mended(File(tmp_path / "a.py", ways, seconds=0.5), "a = 1\n", None)
    assert done.out_of_time
    assert time.monotonic() - began < 3.2 * 0.5
    assert done.tried in (1, 2)


def test_a_budget_is_kept(tmp_path):
    ways = {"a = 1": [f"a = {number}" for number in range(2, 100)], **{f"a = {n}": [] for n in range(2, 100)}}
    done = mended(File(tmp_path / "a.py", ways, seconds=0.05), "a = 1\n", 0.5)
    assert done.out_of_time
    assert done.tried > 3


def test_where_cores_are_free_several_are_tried_at_once(tmp_path, monkeypatch):
    ways = {
        "_a = 1": [*(f"_a = {number}" for number in range(2, 8)), "done = 1"],
        **{f"_a = {n}": [] for n in range(2, 8)},
    }
    monkeypatch.setattr("exportlint.repair.rounds.free_cores", lambda: 5)
    file = File(tmp_path / "a.py", ways, seconds=0.3)
    began = time.monotonic()
    done = mended(file, "_a = 1\n")
    assert text_of(done) == "done = 1\n"
    assert time.monotonic() - began < 6 * 0.3  # of eight trials
    assert len(file.tried) == len(set(file.tried)) == 8


def test_who_asks_to_end_gets_what_was_found(tmp_path, monkeypatch):
    class Asked(File):
        def __call__(self, edited, goes_on=None, what=""):
            if "done = 1" in "".join(edited.values()) and "_c = 2" in "".join(edited.values()):
                raise Stopped(2)
            return super().__call__(edited, goes_on, what)

    monkeypatch.setattr("exportlint.repair.rounds.free_cores", lambda: 3)
    ways = {"_a = 1": ["done = 1"], "_c = 1": ["_c = 3", "_c = 2"], "_c = 2": [], "_c = 3": []}
    done = mended(Asked(tmp_path / "a.py", ways), "_a = 1\n_c = 1\n")
    assert (done.stopped, text_of(done)) == (2, "done = 1\n_c = 1\n")


def test_a_caveat_stands_at_the_rewrite_that_has_it_by_itself(tmp_path):
    ways = {"_a = 1": ["done = 1"], "_b = 1": ["done = 2"]}
    file = File(tmp_path / "a.py", ways, caveats={"done = 2": "on zeros, it has no gradient"})
    done = mended(file, "_a = 1\n_b = 1\n")
    assert [(one.line, one.caveat) for one in done.edition.reasons] == [(1, ""), (2, "on zeros, it has no gradient")]


def test_a_caveat_of_all_together_stands_at_all(tmp_path):
    class Both(File):
        def _told(self, text: str) -> list[str]:
            return ["together"] if "done = 1\ndone = 2" in text else []

    done = mended(Both(tmp_path / "a.py", {"_a = 1": ["done = 1"], "_b = 1": ["done = 2"]}), "_a = 1\n_b = 1\n")
    assert [one.caveat for one in done.edition.reasons] == ["together", "together"]


def test_edits_of_installed_packages_are_dropped(tmp_path):
    file = File(tmp_path / "a.py", {"a = 1": ["done = 1"]})
    own = file._finding(1, "a = 1")
    (fix,) = own.rewrites
    there = replace(fix, edits=tuple(replace(one, path=torch.nn.__file__) for one in fix.edits))
    roots = frozenset({tmp_path.resolve()})
    assert _of_own_files(replace(own, rewrites=(there, fix)), roots).rewrites == (fix,)
    assert _of_own_files(replace(own, rewrites=(there,)), roots).rewrites == ()

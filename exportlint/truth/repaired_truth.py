"""Measure what becomes of the Bad classes of a fixture after the rewrites of its findings, beside what they were."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exportlint.repair.edition import Edition
from exportlint.trial.parent.session import search_path
from exportlint.trial.protocol.options import Limits
from exportlint.trial.protocol.outcomes import DIFFERS, MODES, PASSED, Outcome
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import MEASURE, SAME_BEHAVIOUR
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.truth.measuring import record_of, steady

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from exportlint.trial.parent.server import Server, TargetProcess
    from exportlint.truth.measuring import Laboratory
    from exportlint.truth.rewritten import RewrittenClass


NONE = "none"  # of a class for which no rewrite is known that mends it by itself
_LIMITS = Limits(seconds=60.0, memory_mb=8000)
Repaired = Mapping[str, Any]


def measure_repaired(
    where: Laboratory, fixture: Path, classes: Sequence[RewrittenClass]
) -> dict[str, Future[Repaired]]:
    """Name -> what becomes of the class, as soon as it is measured; `digest` says of which rewrites.

    mode -> `exports` (and agrees with eager), `differs` (the program, or eager itself), `refused` and so on, or `none`.
    """
    return {one.cls.name: where.pool.submit(_Trial(where.server, fixture, one).record) for one in classes}


@dataclass(frozen=True)
class _Trial:
    server: Server
    fixture: Path
    rewritten: RewrittenClass

    def record(self) -> Repaired:
        """Of the first proposal after which both modes export; where none does, of the best."""
        if not self.rewritten.proposals:
            return {**dict.fromkeys(MODES, NONE), "digest": ""}
        self._compared(None)
        tried: list[Repaired] = []
        for proposal in self.rewritten.proposals:
            made = self._attempt(proposal.applied(Edition()).texts, is_safe=proposal.is_safe)
            tried.append({**made, "rewrites": sorted({fix.description for _, fix in proposal.parts})})
            if not _rank(made):
                break
        best = min(tried, key=_rank)
        return {**best, "digest": self.rewritten.digest}

    def _attempt(self, edited: Mapping[str, str], *, is_safe: bool) -> Repaired:
        """A proposal that changes what eager computes is rejected, here as by `exportlint fix`: nothing is offered. One
        that is said to be right by construction is offered without a trial, so there it counts as wrong."""
        wrong = self._compared(edited)
        if wrong is not None:
            return {**dict.fromkeys(MODES, DIFFERS if is_safe else NONE), "why": wrong}
        records = {mode: self._measured(edited, mode) for mode in MODES}
        why = next((record["error"] for record in records.values() if "error" in record), None)
        outcomes = {mode: self._outcome(mode, record, is_safe=is_safe) for mode, record in records.items()}
        return {**outcomes, **({"why": why} if why else {})}

    def _outcome(self, mode: str, record: Mapping[str, Any], *, is_safe: bool) -> str:
        """A program that differs as it did before is not mended by this rewrite, and not made worse. Where it did not,
        a trial rejects the rewrite."""
        found = _in_a_word(record)
        if found == DIFFERS and not is_safe:
            return NONE
        return NONE if found == DIFFERS and _in_a_word(self._measured(None, mode)) == DIFFERS else found

    def _compared(self, edited: Mapping[str, str] | None) -> str | None:
        """Keep what the class computes, or say where the edited one computes something else."""
        kept = self.server.folder / f"{self.fixture.stem}-{self.rewritten.cls.name}"
        options = {"file": str(kept), "keep": edited is None, "unsafe": True}
        with closing(self._process(edited)) as process:
            reply = process.stage(SAME_BEHAVIOUR, options, _LIMITS)
        if reply.final is None or reply.final["status"] != PASSED:
            return steady(short(reply.final["detail"] if reply.final else reply.end_in_words()))
        return None

    def _measured(self, edited: Mapping[str, str] | None, mode: str) -> dict[str, Any]:
        with closing(self._process(edited)) as process:
            return record_of(process.stage(MEASURE, {"mode": mode}, _LIMITS), self.fixture)

    def _process(self, edited: Mapping[str, str] | None) -> TargetProcess:
        cls = self.rewritten.cls
        where = f"{self.fixture}:{cls.name}"
        target = Target(cls.name, TargetKind.FIXTURE, where, path=str(self.fixture), line=cls.line)
        process = self.server.target_process(cls.name, edited)
        process.load(target, search_path(), _LIMITS)
        return process


def _in_a_word(record: Mapping[str, Any]) -> str:
    return "fails later" if record.get("then") else str(record["outcome"])


def _rank(record: Repaired) -> int:
    """0 where both modes export; what differs is worse than what torch refuses."""
    worth = {Outcome.EXPORTS.value: 0, DIFFERS: 3}
    return sum(worth.get(record[mode], 1) for mode in MODES)

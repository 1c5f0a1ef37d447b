"""What a sweep says of the static pass: hits, false alarms and misses of each rule: as a page, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from exportlint.output.sweeps.page import Page, Section, Table
from exportlint.sweep.key import compares
from exportlint.sweep.store import Sweep
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = 1
_MORE = "exportlint sweep judge --output-format json"
_MOST = 40


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """Findings of a rule on lines that swept models ran."""

    rule: str
    hits: int
    false_alarms: int
    unjudged: int


@dataclass(frozen=True, slots=True)
class Missed:
    """What exports fail of where the static pass says nothing. `rule`: by which the trial told it; `places`: PATH:LINE;
    `example`: a target to try."""

    rule: str
    message: str
    targets: int
    places: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The static pass on the files that the models of a sweep ran. `absent`: those that do not lie here."""

    sweep: Sweep
    rules: Sequence[JudgedRule]
    missed: Sequence[Missed]
    failing_lines: int
    missed_lines: int
    fine_lines: int
    absent: Sequence[str]

    @property
    def headline(self) -> str:
        """In one sentence."""
        told = self.failing_lines - self.missed_lines
        hits, alarms = sum(one.hits for one in self.rules), sum(one.false_alarms for one in self.rules)
        quick = "" if compares(self.sweep.options) else " (the sweep compared nothing with eager)"
        return (
            f"torch {self.sweep.torch}: of {self.failing_lines} lines at which exports fail {told} are told; "
            f"{hits} findings are right, {alarms} false, on {self.fine_lines} lines that are known to be fine{quick}"
        )


def as_json(judgement: Judgement) -> str:
    """For programs."""
    data = {
        "version": VERSION,
        "exportlint": __version__,
        "torch": judgement.sweep.torch,
        "sweep": judgement.sweep.number,
        "rules": [asdict(one) for one in judgement.rules],
        "missed": [asdict(one) for one in judgement.missed],
        "failing_lines": judgement.failing_lines,
        "missed_lines": judgement.missed_lines,
        "fine_lines": judgement.fine_lines,
        "absent": list(judgement.absent),
    }
    return json.dumps(data, indent=2) + "\n"


def of_json(text: str) -> Judgement:
    """The judgement again, of what `as_json` made of it; of its sweep the number and the torch."""
    data = json.loads(text)
    return Judgement(
        Sweep(data["sweep"], "", (), torch=data["torch"]),
        [JudgedRule(**one) for one in data["rules"]],
        [Missed(**{**one, "places": tuple(one["places"])}) for one in data["missed"]],
        data["failing_lines"],
        data["missed_lines"],
        data["fine_lines"],
        data["absent"],
    )


def page_of(judgement: Judgement) -> Page:
    """The page."""
    absent = (
        f"{len(judgement.absent)} files that ran do not lie here, such as {judgement.absent[0]}"
        if judgement.absent
        else ""
    )
    return Page(judgement.headline, list(_sections(judgement)), _MORE, [absent] if absent else ())


def _sections(judgement: Judgement) -> Iterator[Section]:
    if judgement.missed:
        rows = [
            (one.targets, len(one.places), one.rule, one.message, one.places[0], one.example)
            for one in judgement.missed
        ]
        heads = ("targets", "lines", "told as", "what torch does", "first", "try")
        yield Section("What no rule tells, that of most targets first", [Table(heads, rows, "causes", _MOST)])
    if judgement.rules:
        worst = sorted(judgement.rules, key=lambda one: (-one.false_alarms, -one.hits, -one.unjudged, one.rule))
        counted = [(one.rule, one.hits, one.false_alarms, one.unjudged) for one in worst]
        yield Section(
            "Rules, those with false alarms first",
            [Table(("rule", "hits", "false alarms", "not known"), counted, "rules", len(counted))],
        )

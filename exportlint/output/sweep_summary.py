"""What a sweep found, in one page: outcomes by library and family, causes over all targets, stages.

As text for a terminal, as Markdown, and as JSON for programs (sweep-1.json beside schema-1.json describes it).
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from exportlint.sweep.result import SweptOutcome
from exportlint.trial.protocol.outcomes import FAILED, PASSED
from exportlint.trial.protocol.stages import LADDER
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.sweep.store import CommonCause, Row, Sweep

VERSION = 1
_WAITING = ""  # the outcome of what was not tried yet
_MOST_CAUSES, _MOST_FAMILIES, _MOST_TARGETS = 20, 25, 25
_MESSAGE = 90


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """One sweep of a store. `outcomes` and `families`: name -> outcome -> how many; `stages`: name, status, how many
    targets, their seconds; `failing`: the targets that did not export, with why."""

    sweep: Sweep
    outcomes: Mapping[str, Mapping[str, int]]
    families: Mapping[str, Mapping[str, int]]
    stages: Sequence[tuple[str, str, int, float]]
    causes: Sequence[CommonCause]
    failing: Sequence[Row]

    @property
    def total(self) -> Counter[str]:
        """Outcome -> how many targets."""
        total: Counter[str] = Counter()
        for counts in self.outcomes.values():
            total.update(counts)
        return total

    @property
    def headline(self) -> str:
        """The sweep in one sentence."""
        total = self.total
        number = sum(total.values())
        told = ", ".join(f"{total[one.value]} {one.value}" for one in SweptOutcome if total[one.value])
        waiting = f"{total[_WAITING]} not tried yet" if total[_WAITING] else ""
        said = ", ".join(filter(None, (told, waiting)))
        return f"{number} target{'' if number == 1 else 's'} (torch {self.sweep.torch}): {said or 'none'}"


def as_text(summary: SweepSummary) -> str:
    """For a terminal."""
    return "\n".join(_page(summary, "simple", lambda text: f"\n{text}\n"))


def as_markdown(summary: SweepSummary) -> str:
    """For a page."""
    return "\n".join(_page(summary, "github", lambda text: f"\n## {text}\n"))


def as_json(summary: SweepSummary) -> str:
    """For programs."""
    stages = [
        {"name": name, "status": status, "targets": number, "seconds": round(seconds, 3)}
        for name, status, number, seconds in summary.stages
    ]
    failing = [{**asdict(one), "outcome": one.outcome.value if one.outcome else None} for one in summary.failing]
    data: dict[str, Any] = {
        "version": VERSION,
        "exportlint": __version__,
        "torch": summary.sweep.torch,
        "sweep": summary.sweep.number,
        "started": summary.sweep.started,
        "specs": list(summary.sweep.specs),
        "options": dict(summary.sweep.options),
        "outcomes": _named(summary.outcomes),
        "families": _named(summary.families),
        "stages": stages,
        "causes": [asdict(one) for one in summary.causes],
        "failing": failing,
    }
    return json.dumps(data, indent=2) + "\n"


def _named(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: {outcome or "waiting": number for outcome, number in some.items()} for name, some in counts.items()}


def _page(summary: SweepSummary, form: str, title: Any) -> Iterator[str]:
    yield summary.headline
    yield title("Outcomes")
    yield _outcomes(summary.outcomes, "library", form)
    failing = {name: some for name, some in summary.families.items() if set(some) - {SweptOutcome.EXPORTS.value}}
    if failing:
        yield title(f"Families with failures ({len(failing)} of {len(summary.families)})")
        worst = sorted(failing.items(), key=lambda one: -_failures(one[1]))
        yield _outcomes(dict(worst[:_MOST_FAMILIES]), "family", form)
        yield from _left(len(worst) - _MOST_FAMILIES, "families")
    if summary.causes:
        yield title("Causes, those of most targets first")
        rows = [
            (one.targets, one.rule, _in_cell(one.message, form), f"exportlint trial {one.example}")
            for one in summary.causes[:_MOST_CAUSES]
        ]
        yield _table(rows, ("targets", "rule", "what torch does", "one to try"), form)
        yield from _left(len(summary.causes) - _MOST_CAUSES, "causes")
    untold = [one for one in summary.failing if one.detail]
    if untold:
        yield title("Targets that do not export")
        rows2 = [(one.target, one.outcome.value if one.outcome else "", _in_cell(one.detail, form)) for one in untold]
        yield _table(rows2[:_MOST_TARGETS], ("target", "outcome", "why"), form)
        yield from _left(len(untold) - _MOST_TARGETS, "targets")
    if summary.stages:
        yield title("Stages")
        yield _stages(summary.stages, form)
    yield ""


def _outcomes(counts: Mapping[str, Mapping[str, int]], what: str, form: str) -> str:
    shown = [one.value for one in SweptOutcome if any(some.get(one.value) for some in counts.values())]
    shown += [_WAITING] if any(some.get(_WAITING) for some in counts.values()) else []
    rows = [
        (name or "files", sum(some.values()), *(some.get(word, 0) for word in shown)) for name, some in counts.items()
    ]
    return _table(rows, (what, "targets", *(word or "waiting" for word in shown)), form)


def _failures(counts: Mapping[str, int]) -> int:
    return sum(number for word, number in counts.items() if word != SweptOutcome.EXPORTS.value)


def _stages(stages: Sequence[tuple[str, str, int, float]], form: str) -> str:
    """A row a stage, in the order of the ladder; then the lowerings."""
    order = [row.name for row in LADDER]
    names = sorted({name for name, *_ in stages}, key=lambda name: (order.index(name) if name in order else 99, name))
    rows = []
    for name in names:
        own = {status: (number, seconds) for stage, status, number, seconds in stages if stage == name}
        number, total = sum(one[0] for one in own.values()), sum(one[1] for one in own.values())
        counts = [own.get(status, (0, 0.0))[0] or "" for status in (PASSED, *FAILED)]
        rows.append((name, *counts, f"{total / number:.2f}"))
    return _table(rows, ("stage", PASSED, *FAILED, "seconds a target"), form)


def _table(rows: Sequence[Sequence[Any]], heads: Sequence[str], form: str) -> str:
    return str(tabulate(rows, heads, tablefmt=form))


def _in_cell(text: str, form: str) -> str:
    line = textwrap.shorten(text, _MESSAGE, placeholder="…")
    return line.replace("|", "\\|") if form == "github" else line


def _left(number: int, what: str) -> Iterator[str]:
    if number > 0:
        yield f"\n{number} more {what}: `exportlint sweep show --output-format json` has all"

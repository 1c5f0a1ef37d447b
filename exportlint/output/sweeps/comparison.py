"""Two sweeps side by side: as a page, and as JSON for programs (sweep-comparison-1.json describes it)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exportlint.output.sweeps.page import Page, Section, Table
from exportlint.sweep.comparison import Change, Comparison
from exportlint.sweep.key import compares
from exportlint.sweep.result import SweptOutcome
from exportlint.sweep.store import Row, Sweep
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


VERSION = 1
_MORE = "exportlint sweep compare --output-format json"
_MOST, _NAMED = 40, 5
_CHANGES = {
    "began_to_fail": "Began to fail",
    "became_different": "Computes something else now, without a word",
    "healed": "Exports now",
    "otherwise": "Fails in another way",
}


def as_json(comparison: Comparison) -> str:
    """For programs."""
    data: dict[str, Any] = {
        "version": VERSION,
        "exportlint": __version__,
        "before": _sweep(comparison.before),
        "after": _sweep(comparison.after),
        **{name: [_change(one) for one in getattr(comparison, name)] for name in (*_CHANGES, "slower")},
        "same": comparison.same,
        **{name: list(getattr(comparison, name)) for name in ("unknown", "only_before", "only_after")},
    }
    return json.dumps(data, indent=2) + "\n"


def of_json(text: str) -> Comparison:
    """The comparison again, of what `as_json` made of it; of its sweeps and targets what stands on the page."""
    data = json.loads(text)

    def sweep(side: str) -> Sweep:
        one = data[side]
        return Sweep(one["sweep"], one["started"], tuple(one["specs"]), one["options"], one["torch"])

    def change(one: dict[str, Any]) -> Change:
        rows = [
            Row("", one["target"], "", "", _swept(side["outcome"]), side["detail"], side["seconds"])
            for side in (one["before"], one["after"])
        ]
        return Change(one["target"], *rows)

    lists: dict[str, Any] = {name: [change(one) for one in data[name]] for name in (*_CHANGES, "slower")}
    rest = {name: data[name] for name in ("same", "unknown", "only_before", "only_after")}
    return Comparison(sweep("before"), sweep("after"), **lists, **rest)


def _swept(outcome: str | None) -> SweptOutcome | None:
    return SweptOutcome(outcome) if outcome else None


def headline(comparison: Comparison) -> str:
    """What changed, in one sentence."""
    counts = {
        "began to fail": len(comparison.began_to_fail),
        "silently different": len(comparison.became_different),
        "healed": len(comparison.healed),
        "fail in another way": len(comparison.otherwise),
        "slower": len(comparison.slower),
        "the same": comparison.same,
    }
    told = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    return f"torch {comparison.before.torch} to {comparison.after.torch}: {told or 'no target is in both'}"


def _sweep(sweep: Sweep) -> dict[str, Any]:
    return {
        "torch": sweep.torch,
        "sweep": sweep.number,
        "started": sweep.started,
        "specs": list(sweep.specs),
        "options": dict(sweep.options),
    }


def _change(one: Change) -> dict[str, Any]:
    sides = {"before": one.before, "after": one.after}
    told = {
        side: {"outcome": row.outcome.value if row.outcome else None, "detail": row.detail, "seconds": row.seconds}
        for side, row in sides.items()
    }
    return {"target": one.target, **told}


def page_of(comparison: Comparison) -> Page:
    """The page."""
    notes = []
    before, after = comparison.before.options, comparison.after.options
    if other := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        notes.append(f"The sweeps were not asked for the same ({', '.join(other)}): what changed may come of that.")
    if not (compares(before) and compares(after)):
        notes.append("One of them compared nothing with eager: what silently computes something else is not seen.")
    return Page(headline(comparison), list(_sections(comparison)), _MORE, notes)


def _sections(comparison: Comparison) -> Iterator[Section]:
    for name, words in _CHANGES.items():
        changes: Sequence[Change] = getattr(comparison, name)
        if changes:
            rows = [(one.target, _outcome(one.before), _outcome(one.after), one.why) for one in changes]
            table = Table(("target", "before", "after", "why"), rows, "targets", _MOST)
            yield Section(f"{words} ({len(changes)})", [table])
    if comparison.slower:
        times = [(one.target, one.before.seconds, one.after.seconds) for one in comparison.slower]
        table = Table(("target", "seconds before", "after"), times, "targets", _MOST)
        yield Section(f"Slower ({len(comparison.slower)})", [table])
    beside = {
        "unknown": "not tried in one of them",
        "only_before": "only in the first",
        "only_after": "only in the second",
    }
    rest = [
        f"{len(targets)} {words}: {', '.join(targets[:_NAMED])}{', …' if len(targets) > _NAMED else ''}"
        for name, words in beside.items()
        if (targets := getattr(comparison, name))
    ]
    if rest:
        yield Section("", rest)


def _outcome(row: Row) -> str:
    return row.outcome.value if row.outcome else ""

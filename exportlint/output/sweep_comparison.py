"""Two sweeps side by side: as text, as Markdown, and as JSON for programs (sweep-comparison-1.json describes it)."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.sweep.comparison import Change, Comparison
    from exportlint.sweep.store import Row, Sweep

VERSION = 1
_MOST, _WHY = 40, 90
_CHANGES = {
    "began_to_fail": "Began to fail",
    "became_different": "Computes something else now, without a word",
    "healed": "Exports now",
    "otherwise": "Fails in another way",
}


def as_text(comparison: Comparison) -> str:
    """For a terminal."""
    return "\n".join(_page(comparison, "simple", "\n{}\n"))


def as_markdown(comparison: Comparison) -> str:
    """For a page."""
    return "\n".join(_page(comparison, "github", "\n## {}\n"))


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
    return {"torch": sweep.torch, "sweep": sweep.number, "started": sweep.started, "specs": list(sweep.specs)}


def _change(one: Change) -> dict[str, Any]:
    sides = {"before": one.before, "after": one.after}
    told = {
        side: {"outcome": row.outcome.value if row.outcome else None, "detail": row.detail, "seconds": row.seconds}
        for side, row in sides.items()
    }
    return {"target": one.target, **told}


def _page(comparison: Comparison, form: str, title: str) -> Iterator[str]:
    yield headline(comparison)
    before, after = comparison.before.options, comparison.after.options
    if other := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        yield f"\nThe sweeps were not asked for the same ({', '.join(other)}): what changed may come of that."
    if before.get("quick") or after.get("quick"):
        yield "\nA quick sweep compares nothing with eager: what silently computes something else is not seen."
    for name, words in _CHANGES.items():
        changes: Sequence[Change] = getattr(comparison, name)
        if changes:
            yield title.format(f"{words} ({len(changes)})")
            rows = [
                (one.target, _outcome(one.before), _outcome(one.after), _in_cell(one.why, form))
                for one in changes[:_MOST]
            ]
            yield str(tabulate(rows, ("target", "before", "after", "why"), tablefmt=form))
            yield from _left(len(changes))
    if comparison.slower:
        yield title.format(f"Slower ({len(comparison.slower)})")
        times = [(one.target, f"{one.before.seconds:.1f}", f"{one.after.seconds:.1f}") for one in comparison.slower]
        yield str(tabulate(times[:_MOST], ("target", "seconds before", "after"), tablefmt=form))
        yield from _left(len(times))
    beside = {
        "unknown": "not tried in one of them",
        "only_before": "only in the first",
        "only_after": "only in the second",
    }
    for name, words in beside.items():
        targets: Sequence[str] = getattr(comparison, name)
        if targets:
            yield f"\n{len(targets)} {words}: {', '.join(targets[:5])}{', …' if len(targets) > 5 else ''}"  # noqa: PLR2004 (as many as a line holds)
    yield ""


def _outcome(row: Row) -> str:
    return row.outcome.value if row.outcome else ""


def _in_cell(text: str, form: str) -> str:
    line = textwrap.shorten(text, _WHY, placeholder="…")
    return line.replace("|", "\\|") if form == "github" else line


def _left(number: int) -> Iterator[str]:
    if number > _MOST:
        yield f"\n{number - _MOST} more: `--output-format json` has all"

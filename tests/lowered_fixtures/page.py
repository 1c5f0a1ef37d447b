"""Write PAGE.md from measured.jsonl: `python page.py`. What fixtures that torch exports become on three targets."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import LOWERINGS, digest, exported, key, rows
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent / "PAGE.md"
STATUSES = ("passed", "refused", "differs", "crashed", "timed-out", "skipped", "not tried")
HEAD = """\
# Every fixture that torch exports, lowered

Written by `python tests/lowered_fixtures/page.py` from what `measure.py` beside it measured. The classes of `fixtures/`
are models that show a construct; those that torch 2.13 exports, good or bad, were compiled for each target, loaded in a
process that has only its runtime, run twice on the sample and once on other values, and compared with eager.
"""


def current() -> dict[tuple[str, str, str], dict[str, Any]]:
    """What was measured of the fixtures as they are now."""
    known = {key(row): row for row in rows()}
    wanted = [(one, lowering) for one in exported() for lowering in LOWERINGS]
    found = {
        (one[0].name, one[1].name, lowering): known.get((one[0].name, one[1].name, lowering, digest(*one)))
        for one, lowering in wanted
    }
    return {place: row for place, row in found.items() if row}


def text() -> str:
    return "\n".join(_lines(current())) + "\n"


def _lines(found: dict[tuple[str, str, str], dict[str, Any]]) -> Iterator[str]:
    yield HEAD
    counts = {one: Counter(row["status"] for row in found.values() if row["lowering"] == one) for one in LOWERINGS}
    shown = [status for status in STATUSES if any(count[status] for count in counts.values())]
    number = sum(1 for _ in exported())
    rows_of_targets = [
        (one, f"{counts[one].total()} of {number}", *(counts[one][s] for s in shown)) for one in LOWERINGS
    ]
    yield tabulate(rows_of_targets, ("target", "measured", *shown), tablefmt="github")
    yield "\nWhat did not pass, by its reason: the message that exportlint gives, and the classes where it stands."
    for lowering in LOWERINGS:
        failed = [row for row in found.values() if row["lowering"] == lowering and row["status"] != "passed"]
        if failed:
            yield f"\n## {lowering}\n"
            yield from _reasons(failed)


def _reasons(failed: list[dict[str, Any]]) -> Iterator[str]:
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for row in failed:
        by_reason[_reason(row)].append(_where(row))
    for reason, places in sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"- {reason}\n  {', '.join(places)}"


def _reason(row: dict[str, Any]) -> str:
    placed = [finding for finding in row["findings"] if finding[1]] or row["findings"]
    message = placed[0][2] if placed else row["detail"]
    advice = f" Instead: {placed[0][3]}." if placed and placed[0][3] else ""
    return f"**{row['status']}** {_plain(message)}.{advice}"


def _plain(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")[:300]


def _where(row: dict[str, Any]) -> str:
    line = next((finding[0] for finding in row["findings"] if finding[1]), None)
    return f"`{row['rule']}` {row['class']}" + (f" (line {line})" if line else "")


if __name__ == "__main__":
    PAGE.write_text(text(), "utf-8")

"""What `exportlint doctor` found: a table and what mends it for people, JSON for programs (doctor-1.json)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.output.console import printed, text_console
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.output.report import RenderOptions

# `absent`: not there, and nobody asked for it; `missing`: not there, and needed; `broken`: there, and does not work.
OK, NOTE, ABSENT, MISSING, BROKEN = "ok", "note", "absent", "missing", "broken"
LOWER = "lower-"  # before the name of a lowering
_STYLES = {
    OK: "status.passed", NOTE: "severity.warning", ABSENT: "status.skipped", MISSING: "status.refused",
    BROKEN: "status.refused",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    needed   trials cannot run without it, or the configuration asks for it
    remedy   the command, or the edit, that mends it; "" where nothing needs to be mended
    facts    the same for programs: versions, seconds, sizes
    """

    name: str
    state: str
    text: str
    remedy: str = ""
    needed: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        return self.needed and self.state in (MISSING, BROKEN)


@dataclass(frozen=True, slots=True)
class Checkup:
    """All of them, in the order in which they are told."""

    python: str
    platform: str
    checks: Sequence[Check]

    @property
    def failing(self) -> list[Check]:
        return [check for check in self.checks if check.fails]

    @property
    def verdict(self) -> str:
        """In one sentence."""
        if failing := self.failing:
            names = " and ".join(check.name for check in failing)
            return f"not ready: mend {names}. `exportlint check` reads source without torch all the same"
        skipped = [
            check.name.removeprefix(LOWER)
            for check in self.checks
            if check.name.startswith(LOWER) and check.state in (ABSENT, BROKEN)
        ]
        rest = f"; skipped with --lower all: {', '.join(skipped)}" if skipped else ""
        return f"trials can run{rest}"


def checkup_data(found: Checkup) -> dict[str, Any]:
    """As doctor-1.json describes it."""
    return {
        "version": 1,
        "exportlint": __version__,
        "python": found.python,
        "platform": found.platform,
        "ready": not found.failing,
        "verdict": found.verdict,
        "checks": [
            {
                "name": check.name,
                "state": check.state,
                "text": check.text,
                "remedy": check.remedy or None,
                "needed": check.needed,
                "facts": dict(check.facts),
            }
            for check in found.checks
        ],
    }


def checkup_json(found: Checkup) -> str:
    return json.dumps(checkup_data(found), indent=2) + "\n"


def checkup_text(found: Checkup, options: RenderOptions) -> str:
    """The table, what mends what, each in a line of its own so that it can be copied, and the verdict."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    console, file = text_console(options)
    head = f"exportlint {__version__} on Python {found.python}, {found.platform}"
    console.print(head, style="headline", soft_wrap=True)
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("what", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in found.checks:
        table.add_row(Text(check.name), Text(check.state, _STYLES[check.state]), Text(check.text))
    console.print(table)
    remedies: dict[str, list[str]] = {}
    for check in found.checks:
        if check.remedy:
            remedies.setdefault(check.remedy, []).append(check.name)
    if remedies:
        console.print()
        console.print("What mends it", style="label")
        for remedy, names in remedies.items():
            console.print(f"  {', '.join(names)}:", soft_wrap=True)
            console.print(f"    {remedy}", soft_wrap=True)
    console.print()
    sentence = found.verdict[0].upper() + found.verdict[1:]
    console.print(f"{sentence}.", style="severity.error" if found.failing else "headline")
    return printed(file)

"""What each rule says of real libraries, judged by what torch did with their models: writes REPORT.md beside it.

    python tests/real_code/report.py SITE

SITE holds the unpacked wheels that `measured.jsonl` names (`pip download --no-deps`, then `unzip`); nothing of them is
imported. One line of measured.jsonl is one model: the outcome of both modes, where it failed, and the lines eager ran.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from exportlint.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator


HERE = Path(__file__).resolve().parent
PAGE = HERE / "REPORT.md"
FILES_AT_ONCE = 200
HEAD = """\
# The rules on real code

Written by `python tests/real_code/report.py SITE`; measured with torch 2.13.0 on {models} models of {libraries}.
A finding is judged where a measured model ran its line: a **hit** where an export failed on that line or the one beside
it, a **false alarm** where every model that ran it exported in both modes and agreed with eager. Nothing is known of
the others (unjudged). Of {failing} lines on which exports failed, {found} carry an error or a warning; {fine} lines are
known to be fine.
"""


@dataclass
class Lines:
    """Path -> lines; `models` counts those whose source is there."""

    fine: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    failing: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    touched: set[str] = field(default_factory=set)
    libraries: set[str] = field(default_factory=set)
    models: int = 0


def main(site: Path) -> None:
    lines = measured(site)
    counted: Counter[tuple[str, str]] = Counter()
    found: set[tuple[str, int]] = set()
    for finding in findings(site, sorted(lines.touched)):
        path, line, severity = finding["path"], finding["line"], finding["severity"]
        near = {line - 1, line, line + 1} & lines.failing.get(path, set())
        verdict = "hit" if near else "false alarm" if line in lines.fine.get(path, set()) else "unjudged"
        counted[finding["rule"], f"{severity} {verdict}"] += 1
        found |= {(path, one) for one in near if severity != "note"}
    PAGE.write_text(page(lines, counted, found), encoding="utf-8")


def measured(site: Path) -> Lines:
    """The lines of the models whose source is below `site`."""
    lines = Lines()
    for row in map(json.loads, (HERE / "measured.jsonl").read_text("utf-8").splitlines()):
        if not all((site / path).exists() for path in row["executed"]):
            continue
        lines.models += 1
        lines.libraries.add(f"{row['library']} {row['version']}")
        lines.touched |= set(row["executed"])
        outcomes = [row[mode] for mode in ("non-strict", "strict") if row[mode]]
        for one in outcomes:
            if one["outcome"] == "refused" and one["path"] and one["line"]:
                lines.failing[one["path"]].add(one["line"])
        if all(one["outcome"] == "exports" for one in outcomes):
            for path, ranges in row["executed"].items():
                lines.fine[path] |= set(numbers(ranges))
    return lines


def numbers(ranges: str) -> Iterator[int]:
    """ "3-5,9" is 3, 4, 5, 9."""
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def findings(site: Path, paths: list[str]) -> Iterator[dict[str, Any]]:
    for start in range(0, len(paths), FILES_AT_ONCE):
        command = [sys.executable, "-m", "exportlint", "check", "--exit-zero", "--output-format", "json"]
        done = subprocess.run(
            [*command, *paths[start : start + FILES_AT_ONCE]], cwd=site, capture_output=True, text=True, check=False
        )
        yield from json.loads(done.stdout)["findings"]


def page(lines: Lines, counted: Counter[tuple[str, str]], found: set[tuple[str, int]]) -> str:
    columns = [f"{s} {v}" for v in ("hit", "false alarm", "unjudged") for s in ("error", "warning", "note")]
    rows = [
        [name, *(counted[name, column] for column in columns)]
        for name, rule in all_rules().items()
        if not rule.cls.lowerings
    ]
    alarms = {row[0]: 100 * row[4] + 10 * row[5] + row[6] for row in rows}
    rows.sort(key=lambda row: (-alarms[row[0]], -sum(row[1:]), row[0]))
    head = HEAD.format(
        models=lines.models,
        libraries=", ".join(sorted(lines.libraries)),
        failing=sum(map(len, lines.failing.values())),
        found=len(found),
        fine=sum(map(len, lines.fine.values())),
    )
    total = ["all", *(sum(row[i] for row in rows) for i in range(1, len(columns) + 1))]
    return (
        f"{head}\nThe rules with false alarms first, worst first.\n\n"
        + tabulate([*rows, total], ["rule", *columns], "github")
        + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

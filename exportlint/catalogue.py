"""Rules, fixtures and truth made into the pages people read. `python -m exportlint.catalogue` writes them anew.

The pages are rules/README.md and the table between the markers in README.md. A test fails while they are stale.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError
from exportlint.output.markdown import table
from exportlint.registry import RuleInfo, all_rules, version_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.fixture import Fixture, FixtureClass

START, END = "<!-- rules -->", "<!-- /rules -->"
MODES = ("non-strict", "strict")
NOTE = "<!-- Written by `python -m exportlint.catalogue` from the rules, their fixtures and the measurements. -->"


def source(fixture: Fixture, found: FixtureClass) -> str:
    """The text of one class of the fixture, decorators included."""
    return "\n".join(fixture.path.read_text("utf-8").split("\n")[found.line - 1 : found.end_line])


def outcome(record: Mapping[str, Any]) -> str:
    """What one record of a truth file says, in a word or two."""
    return "fails later" if record["outcome"] == "exports" and record.get("then") else str(record["outcome"])


def measured(info: RuleInfo, version: str, mode: str) -> str:
    """What the version did with the Bad classes: `refused`, or `refused 5, differs 2`; empty when not measured."""
    classes = info.truth().get(version, {})
    bad = [modes[mode] for name, modes in classes.items() if name.startswith("Bad") and mode in modes]
    counts = Counter(outcome(one) for one in bad)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def versions() -> list[str]:
    """Every measured torch version, the newest first."""
    found = {version for info in all_rules().values() for version in info.truth()}
    return sorted(found, key=version_key, reverse=True)


def page() -> str:
    """rules/README.md."""
    return "\n".join(
        [
            "# The rules",
            "",
            NOTE,
            "",
            "What each torch version did with the `Bad…` models of the rule's fixture: `refused` (torch says no),",
            "`differs` (it exports, and the program computes something else), `crashed`, `timed out`, or `exports`",
            "(and agrees with eager: there the rule is silent or leaves a note). `fails later`: it exports and agrees,",
            "and a later step such as the decomposition fails. A model that a version cannot define is not counted.",
            "`exportlint explain RULE` shows the models.",
            "",
            _table(versions(), ""),
            "",
        ]
    )


def _table(columns: list[str], folder: str) -> str:
    headers = ["rule", "what it finds", *(f"torch {version}, {mode}" for version in columns for mode in MODES)]
    rows = [
        [_link(info, folder), info.summary, *(measured(info, version, mode) for version in columns for mode in MODES)]
        for info in all_rules().values()
        if _is_ours(info)
    ]
    return table(headers, rows)


def _is_ours(info: RuleInfo) -> bool:
    """The pages of this repository list what ships with it, whatever else is installed."""
    return info.cls.__module__.startswith("exportlint_rules.")


def _link(info: RuleInfo, folder: str) -> str:
    return f"[{info.name}]({folder}{info.cls.__module__.rpartition('.')[2]}.py)"


def with_table(readme: str) -> str:
    """README.md with the table of the newest version between its markers."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise UserError(f"README.md: the table of rules goes between the markers {START} and {END}; add them")
    return f"{before}{START}\n{_table(versions()[:1], 'rules/')}\n{END}{after}"


def pages(root: Path) -> Iterator[tuple[Path, str]]:
    """Every generated page of the repository, as path and text."""
    yield root / "rules/README.md", page()
    readme = root / "README.md"
    if readme.is_file():
        yield readme, with_table(readme.read_text("utf-8"))


if __name__ == "__main__":
    for path, text in pages(Path(__file__).parent.parent):
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path}\n")

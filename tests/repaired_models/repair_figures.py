"""Write the figures of docs/repair.md from measured.jsonl: `python tests/repaired_models/repair_figures.py`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from try_repairs import rows

from exportlint.output.markdown import table
from exportlint.pages.catalogue import repaired_fixtures, with_table

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/repair.md"
SETS = {
    "practitioners": "models as practitioners write them, at their first opening",
    "state-and-loops": "models with state and loops, at their first opening",
    "projects": "models as in projects, at their first opening",
    "categories": "models of all categories of failures, at their first opening",
    "domains": "models of forty domains, at their first opening",
    "mixed": "models of all kinds of failures and many fields, at their first opening",
    "repositories": "models of public repositories",
}
BEFORE = {
    "refused": "torch refuses",
    "differs": "torch exports, and the program computes something else",
    "raises": "the program raises",
}
HEAD = """\
What `exportlint fix` did with models that torch 2.13 does not export in the default mode, or exports as something else.
A model counts as repaired if it exports, agrees with eager in every check of a trial, and computes in eager what it
computed before. All with `--unsafe`. The models at their first opening are by writers who had seen neither the tool nor
its rules; they lie in `tests/repaired_models/models/`. Each of these sets was opened
once and tried with the code of that moment, the lower ones with later code; what was mended afterwards does not count."""
LEFT = """\
None of the repairs changed what eager computes in a run: one that does is rejected, and where a fixture shows that, a
test fails. What is left, and why:"""


def text() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    known = rows()
    good, bad = repaired_fixtures()
    counted = [_count(name, before, known) for name in SETS for before in BEFORE]
    fixtures = ["the Bad models of all fixtures", "one or the other", f"{good} of {bad} ({good / bad:.0%})", ""]
    yield HEAD
    yield ""
    yield table(
        ["models", "before", "repaired", "exports, and something is left"], [*(row for row in counted if row), fixtures]
    )
    yield ""
    yield LEFT
    yield ""
    yield from _left(known)


def _count(name: str, before: str, known: list[dict[str, Any]]) -> list[str] | None:
    found = [row for row in known if (row["set"], row["before"]) == (name, before)]
    good = sum(row["after"] == "repaired" for row in found)
    partly = sum(row["after"] == "exports" for row in found)
    share = f"{good} of {len(found)} ({good / len(found):.0%})" if found else ""
    return [SETS[name], BEFORE[before], share, str(partly or "")] if found else None


def _left(known: list[dict[str, Any]]) -> Iterator[str]:
    reasons = json.loads((HERE / "reasons.json").read_text("utf-8"))
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for row in known:
        if row["after"] != "repaired":
            by_reason[reasons.get(row["case"]) or _reason(row)].append(row["case"])
    yield from (f"- {reason} ({', '.join(cases)})" for reason, cases in sorted(by_reason.items()))


def _reason(row: dict[str, Any]) -> str:
    """What the run itself tells."""
    if row["after"] == "exports":
        return "it exports, and something else is left"
    if any("--unsafe" in why for why in row["rejected"]):
        return "random numbers of Python or NumPy decide: torch draws others, which `--unsafe` allows"
    if row["rejected"]:
        return "what was tried does not help, or computes something else"
    return "a part is rewritten, and no rewrite is known for the rest" if row["rules"] else "no rewrite is known"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), "repairs", text()), "utf-8")

"""Write TRIALS.md from trial_runs.jsonl: where the trial agrees with torch, where not, and how long it takes."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
RUNS = HERE / "trial_runs.jsonl"
PAGE = HERE / "TRIALS.md"
MODES = ("non-strict", "strict")
LEFT = "model broken"
HEAD = """\
# The trial on models of public repositories

Written by `python tests/real_code/trial_runs.py REAL_REPOS SITE` from trial_runs.jsonl, measured with torch 2.13.0.
Each model was exported by torch alone, in a process of its own for each mode, and then by
`exportlint trial --mode both`; both are compared. {runs} models were tried.
"""
TIMES = """\
Seconds on a machine of two cores, one model at a time: what a script without exportlint takes to import torch and the
target, make the model and export it in both modes (raw), until both exports of the trial had ended (first verdict), and
the whole ladder without lowering.
"""
STAGES = """\
Where the time goes: seconds by stage. Stages run side by side, so that they sum up to more than the whole ladder takes.
"""
FIRST_LIMIT, WHOLE_LIMIT, WHOLE_MORE = 1.5, 4.0, 5.0


def page(runs: list[dict[str, Any]]) -> str:
    """The whole page."""
    ended = [run for run in runs if "modes" in run]
    parts = [HEAD.format(runs=len(runs)), *_agreement(runs, ended), _advice(ended), _times(ended)]
    return "\n".join(parts)


def _agreement(runs: list[dict[str, Any]], ended: list[dict[str, Any]]) -> list[str]:
    modes = [(run, mode, one) for run in ended for mode, one in run["modes"].items()]
    other = [(run["name"], mode, one["measured"], one["said"]) for run, mode, one in modes if not _agrees(one)]
    refused = [(run, mode, one) for run, mode, one in modes if one["measured"] == "refused" and one["torch's"][0]]
    elsewhere = [
        (run["name"], mode, _place(one["torch's"]), _place(one["place"]))
        for run, mode, one in refused
        if not _same(one)
    ]
    invented = [(run["name"], f"{path}:{line}", rule) for run in ended for path, line, rule, _ in run["invented"]]
    left = [
        (run["name"], f"{path}:{line}", rule) for run in ended for path, line, rule, _ in run.get("model broken", ())
    ]
    broken = [(run["name"], run["broken"]) for run in runs if "broken" in run]
    rows = [
        ("trials that ended with a report", f"{len(ended)} of {len(runs)}"),
        ("verdict of a mode as torch's", _share(len(modes) - len(other), len(modes))),
        ("first failing line as torch's", _share(len(refused) - len(elsewhere), len(refused))),
        ("errors and warnings on models that export and agree in both modes", str(len(invented))),
    ]
    return [
        _table(("", "measured"), rows),
        *_lists(other, elsewhere, invented, left, broken),
    ]


def _lists(
    other: list[Any], elsewhere: list[Any], invented: list[Any], left: list[Any], broken: list[Any]
) -> Iterator[str]:
    """Each model that is not as it should be."""
    lists = (
        ("Other verdicts", ("model", "mode", "torch", "trial"), other),
        ("Other first lines", ("model", "mode", "torch", "trial"), elsewhere),
        ("Errors and warnings where nothing is wrong", ("model", "line", "rule"), invented),
        ("The program is right, and eager itself no longer works after the export", ("model", "line", "rule"), left),
        ("Trials without a report", ("model", "why"), broken),
    )
    yield from (f"{title}:\n\n{_table(heads, found)}" for title, heads, found in lists if found)


def _agrees(one: dict[str, Any]) -> bool:
    return bool(one["said"] == one["measured"])


def _same(one: dict[str, Any]) -> bool:
    return bool(one["place"] == one["torch's"])


def _place(place: list[Any] | None) -> str:
    return f"{place[0].rpartition('/')[2]}:{place[1]}" if place and place[0] else "no line"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "none"


def _advice(ended: list[dict[str, Any]]) -> str:
    rows = advice_rows(ended)
    helped = sum(row[2] == "helped" for row in rows)
    head = "## The advice on refused models\n\n"
    what = (
        f"Of {len(rows)} models that a mode refuses, the first advice helped {_share(helped, len(rows))}: with it the "
        "model exports. Either the trial applied it (verified), or it was made by hand (advice_edits.json).\n\n"
    )
    return head + what + _table(("model", "refused in", "the advice", "how that is known", "advice"), rows)


def advice_rows(runs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A refused model counts once, by the first mode that refuses it: model, mode, helped or not, how, advice."""
    return [(run["name"], mode, *_helped(run, mode)) for run in runs if (mode := _refused_in(run))]


def _refused_in(run: dict[str, Any]) -> str | None:
    return next((mode for mode in MODES if run.get("modes", {}).get(mode, {}).get("said") == "refused"), None)


def _helped(run: dict[str, Any], mode: str) -> tuple[str, str, str]:
    one = run["modes"][mode]
    advice = str(one.get("advice", "")).partition("; or ")[0]
    if one.get("tried") == "verified":
        return "helped", "the trial applied it", advice
    if edited := run.get("edited"):
        after = edited[mode]
        if after["said"] == "refused":
            moved = after["place"] != one["place"]
            how = f"by hand; then refused at {_place(after['place'])}" if moved else "by hand"
            return "did not suffice" if moved else "did not help", how, advice
        return "helped" if after["said"] == "exports" else "did not suffice", f"by hand: {after['said']}", advice
    return "not applied", "counts as no help", advice


def _times(ended: list[dict[str, Any]]) -> str:
    timed = [run for run in ended if len(run.get("raw", ())) == 1 + len(MODES) and run["first"]]
    if not timed:
        return "## Times\n\nNot measured.\n"
    rows, first_within, whole_within = [], 0, 0
    for run in timed:
        imports, *exports = run["raw"]
        both = sum(exports)
        first_within += run["first"] <= imports + FIRST_LIMIT * both
        whole_within += run["wall"] <= WHOLE_LIMIT * both + WHOLE_MORE
        rows.append(
            (imports + both, run["first"], run["wall"], run["first"] / (imports + both), run["wall"] / (imports + both))
        )
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    worst = [max(column) for column in zip(*rows, strict=True)]
    heads = ("", "raw", "first verdict", "whole ladder", "first : raw", "whole : raw")
    shown = [("median", *(f"{one:.1f}" for one in middle)), ("most", *(f"{one:.1f}" for one in worst))]
    within = [
        (
            f"First verdict within the imports and {FIRST_LIMIT:g} times the two exports: "
            f"{_share(first_within, len(timed))}."
        ),
        (
            f"Whole ladder within {WHOLE_LIMIT:g} times the two exports and {WHOLE_MORE:g} s: "
            f"{_share(whole_within, len(timed))}."
        ),
    ]
    return "\n".join(["## Times", "", TIMES, _table(heads, shown), *within, "", STAGES, _stages(timed)])


def _stages(runs: list[dict[str, Any]]) -> str:
    """Where the time goes."""
    names = list(dict.fromkeys(name for run in runs for name in run["seconds"]))
    whole = sum(seconds for run in runs for seconds in run["seconds"].values())
    rows = []
    for name in names:
        spent = [run["seconds"][name] for run in runs if run["seconds"].get(name)]
        if spent:
            share = f"{100 * sum(spent) / whole:.0f} %"
            rows.append((name, str(len(spent)), f"{statistics.median(spent):.1f}", f"{max(spent):.1f}", share))
    return _table(("stage", "models on which it ran", "median", "most", "share of the whole"), rows)


def _table(heads: tuple[str, ...], rows: list[Any]) -> str:
    return tabulate(rows, headers=heads, tablefmt="github", disable_numparse=True) + "\n"


def write_page() -> None:
    """Write TRIALS.md anew."""
    PAGE.write_text(page([json.loads(line) for line in RUNS.read_text("utf-8").splitlines()]), "utf-8")


if __name__ == "__main__":
    write_page()

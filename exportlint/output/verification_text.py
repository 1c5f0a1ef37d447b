"""Show what is known of somebody's edit: the verdict first, what speaks against it, and on what it was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.output.repair_text import ladders_text, left_text
from exportlint.repair.verification import NO_TRIAL_SHOWS
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR
from exportlint.version import __version__

if TYPE_CHECKING:
    from exportlint.output.report import RenderOptions, Report
    from exportlint.repair.verification import Verified

_MOST_INPUTS = 8  # in text; the JSON report has them all


def verification_text(done: Verified[Report], options: RenderOptions) -> str:
    """The ladders of the targets before and after, the verdict, and the reasons by their weight."""
    lines = [f"the edit {done.verdict.value}"]
    for head, texts in (
        ("computes something else", done.different),
        ("worse", done.worse),
        ("not shown", done.unproved),
        ("told", done.told),
    ):
        lines += [f"  {head}: {text}" for text in texts]
    for name, inputs in done.inputs.items():
        if inputs:
            more = f", and {len(inputs) - _MOST_INPUTS} more" if len(inputs) > _MOST_INPUTS else ""
            some = ", ".join(inputs[:_MOST_INPUTS])
            lines.append(f"compared in eager, {name}: {done.calls} calls in a row on each of {some}{more}")
        else:
            lines.append(f"compared in eager, {name}: on nothing")
    if not done.different:
        lines.append(f"no trial shows: {NO_TRIAL_SHOWS}")
    left = f"left:\n{left_text(done.left)}" if done.left else ""
    return ladders_text(done.before.targets, done.after.targets, options) + "\n".join(lines) + "\n" + left


def verification_data(done: Verified[Report], files: list[str]) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "version": 1,
        "exportlint": __version__,
        "verdict": done.verdict.name.lower().replace("_", "-"),
        "taken": done.verdict.is_taken,
        "says": f"the edit {done.verdict.value}",
        "different": list(done.different),
        "worse": list(done.worse),
        "unproved": list(done.unproved),
        "told": list(done.told),
        "no_trial_shows": NO_TRIAL_SHOWS,
        "files": files,
        "targets": [
            {
                "target": old.name,
                "inputs": list(done.inputs.get(old.name, ())),
                "calls": done.calls,
                "before": {one.name: one.status for one in old.stages if one.name != SAME_BEHAVIOUR.name},
                "after": {one.name: one.status for one in new.stages},
            }
            for old, new in zip(done.before.targets, done.after.targets, strict=True)
        ],
        "left": [
            {
                "path": one.path,
                "line": one.line,
                "rule": one.rule,
                "severity": one.severity.value,
                "message": one.message,
            }
            for one in done.left
        ],
    }

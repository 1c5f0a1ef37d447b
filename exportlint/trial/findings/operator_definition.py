"""Put what is said of a custom operator together where it is defined: however often it is called, it is one cause."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.remedies import operator_name, operator_without_fake_kernel

if TYPE_CHECKING:
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import TargetReport


def at_operator(seen: Observation, report: TargetReport) -> Observation:
    """A refusal for want of a fake kernel, with the draft that the trial made of one; anything else as it is."""
    operator = operator_without_fake_kernel(seen) if seen.kind in ("exception", "graph-break") else None
    draft = _note("fake-kernel-draft", operator, report) if operator else None
    if draft is None:
        return seen
    drafted = seen.with_details(fake_kernel=draft.details["code"])
    if draft.user is None or is_installed(draft.user.path):
        return drafted
    called = {"called_at": [seen.user.path, seen.user.line]} if seen.user else {}
    return replace(drafted.with_details(**called), frames=draft.frames, user=draft.user)


def repeats_wrong_kernel(seen: Observation, report: TargetReport) -> bool:
    """Does draft_export say that a fake kernel is wrong, which the trial's own comparison has shown?"""
    if seen.details.get("draft") != "MISMATCHED_FAKE_KERNEL":
        return False
    return _note("fake-kernel", operator_name(str(seen.details["subject"])), report) is not None


def _note(name: str, operator: str, report: TargetReport) -> Observation | None:
    notes = (seen for stage in report.stages for seen in stage.observations)
    wanted = {"note": name, "operator": operator}
    return next((seen for seen in notes if wanted.items() <= seen.details.items()), None)

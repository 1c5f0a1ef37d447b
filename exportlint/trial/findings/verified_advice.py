"""Put what the trial saw help into the advice of a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.outcomes import MODES, STRICT, Outcome
from exportlint.trial.protocol.remedies import CHECKS, EVAL, FAKE_KERNEL, NO_GRAD, NO_VALIDATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.trial.findings.trial_finding import TrialFinding
    from exportlint.trial.protocol.result import TargetReport


_WORDS = {
    NO_GRAD: "export under `torch.no_grad()`",
    NO_VALIDATION: "build distributions with `validate_args=False`, or call "
    "`torch.distributions.Distribution.set_default_validate_args(False)` before the export",
    EVAL: "call `.eval()` before the export",
    FAKE_KERNEL: "register a fake kernel",
}


def with_remedy(found: TrialFinding, report: TargetReport, modes: Sequence[str] = MODES) -> TrialFinding:
    """The refusal at which an export ended, or one for which a fake kernel was drafted, with what made the same export
    pass; any other finding as it is, and a refusal in a mode that is not among the chosen `modes` where those agree."""
    if found.family != "refused" or not (found.stage.mode or found.code):
        return found
    refused = [mode for mode, outcome in found.effect.items() if outcome == Outcome.REFUSED.value]
    if all(mode not in refused and report.agrees(mode) for mode in modes):
        return found
    return replace(found, remedy=_remedy(refused, report))


def _remedy(refused: list[str], report: TargetReport) -> str:
    helped = _helped(report)
    agrees = [mode for mode in MODES if mode not in refused and report.agrees(mode)]
    if agrees:
        argument = "`strict=True`" if agrees[0] == STRICT else "`strict=False`, the default"
        return f"export with {argument}, as this trial did: it exports and agrees with eager"
    for mode in refused:
        if mode in helped:
            return _in_words(helped[mode], mode, report)
    return ""


def _in_words(helped: Mapping[str, Any], mode: str, report: TargetReport) -> str:
    if helped["remedy"] == CHECKS:
        behind: dict[str, list[str]] = {}
        for one in helped["checks"]:
            behind.setdefault(f"`{one['source']}` (line {one['line']})", []).append(f"`{one['text']}`")
        written = ", ".join(f"{_listed(texts)} behind {place}" for place, texts in behind.items())
        return (
            f"write {written}, as this trial did: it then exports and agrees with eager in {mode} mode, and "
            f"refuses inputs for which that does not hold{_cut(helped['checks'], report)}"
        )
    result = "exports" if helped["remedy"] == EVAL else "exports and agrees with eager on the sample"
    return f"{_WORDS[helped['remedy']]}, as this trial did: it then {result} in {mode} mode"


def _cut(checks: Sequence[Mapping[str, Any]], report: TargetReport) -> str:
    """The samples went on with the checks, so a `return` that they never reached is what those cut off."""
    at = {(one["path"], one["cuts"]) for one in checks if one["cuts"]}
    lines = sorted(line for path, line in at if path in report.called and line not in report.called[path])
    return f", for which eager returns at line {' and '.join(map(str, lines))}" if lines else ""


def _listed(texts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _helped(report: TargetReport) -> dict[str, Mapping[str, Any]]:
    """Mode -> the note of the remedy that made it export."""
    notes = (seen.details for stage in report.stages for seen in stage.observations)
    return {note["mode"]: note for note in notes if note.get("note") == "remedy"}

"""How loud a suspicion is, and what it says torch does: read from the measured truth, never decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.finding import Outcome, Severity
from exportlint.registry import version_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.registry import RuleInfo

_DOES = {
    Outcome.EXPORTS: "exports it correctly",
    Outcome.DIFFERS: "exports it and the program computes something else, silently",
    Outcome.REFUSED: "refuses to export it",
    Outcome.CRASHED: "crashes on it",
    Outcome.TIMED_OUT: "does not finish on it",
}


class Verdicts:
    """What one torch version does with the cases of a rule."""

    def __init__(self, rule: RuleInfo, torch: str | None, modes: Sequence[str]) -> None:
        self._modes = tuple(modes)
        truth = rule.truth()
        measured = [v for v, cases in truth.items() if cases]
        fitting = [v for v in measured if torch is None or version_key(v)[:2] <= version_key(torch)[:2]]
        self._version = fitting[-1] if fitting else None
        self._truth: Mapping[str, Any] = truth[self._version] if self._version else {}

    def effect(self, case: str) -> dict[str, str]:
        """Mode -> outcome; empty where nothing was measured."""
        return {mode: record["outcome"] for mode, record in self._truth.get(case, {}).items()}

    def severity(self, case: str) -> Severity | None:
        """None: torch does it right, there is nothing to say."""
        effect = self.effect(case)
        if not effect:
            return Severity.WARNING
        exports = Outcome.EXPORTS.value
        if any(effect.get(mode, exports) != exports for mode in self._modes):
            return Severity.ERROR
        if any(self._later(case, mode) for mode in self._modes):
            return Severity.WARNING
        return Severity.NOTE if any(outcome != exports for outcome in effect.values()) else None

    def sentence(self, case: str) -> str:
        """What torch does with it, in this version and mode."""
        effect = self.effect(case)
        if not effect or self._version is None:
            return "what torch does with it is not measured"
        chosen = [m for m in self._modes if m in effect] or list(effect)
        said = {mode: _DOES[Outcome(effect[mode])] for mode in (*chosen, *(m for m in effect if m not in chosen))}
        release = ".".join(self._version.split(".")[:2])
        if len(set(said.values())) == 1:
            text = f"torch {release} {next(iter(said.values()))} in either mode"
        else:
            text = f"torch {release} " + "; ".join(f"in {mode} mode {does}" for mode, does in said.items())
        later = next((x for mode in chosen if (x := self._later(case, mode))), None)
        return f"{text}, and {later}" if later else text

    def _later(self, case: str, mode: str) -> str | None:
        """The step after export that fails, for a case that exports."""
        record = self._truth.get(case, {}).get(mode, {})
        names = {
            "decompose": "run_decompositions(), so every lowering, refuses it",
            "save": "torch.export.save refuses it",
        }
        failed = [names[step] for step in record.get("then", {}) if step in names]
        return failed[0] if failed and record.get("outcome") == Outcome.EXPORTS.value else None

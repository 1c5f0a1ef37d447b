"""Decide how severe a suspicion about targets of deployment is, and word what they do, from the measured truth."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from exportlint.finding import Severity
from exportlint.registry import version_key
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED, REFUSED, TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from exportlint.registry import RuleInfo


_DOES = {
    DIFFERS: ("computes something else, silently", "compute something else, silently"),
    REFUSED: ("refuses it", "refuse it"),
    CRASHED: ("crashes on it", "crash on it"),
    TIMED_OUT: ("does not finish on it", "do not finish on it"),
}


class LoweredCases:
    """What targets of deployment do with the cases of a rule, which torch exports.

    `shipped_to` are those that somebody ships to, `settings` what is set for each; of others nothing is said. A torch
    version that was not measured is judged by the nearest older one.
    """

    def __init__(
        self,
        rule: RuleInfo,
        torch: str | None,
        shipped_to: Collection[str],
        settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        cured = {name for name, setting in rule.cls.cured_by.items() if settings.get(name, {}).get(setting)}
        self._rule, self._shipped_to = rule, set(shipped_to) - cured
        lowered = rule.lowered()
        versions = [v for v in lowered if torch is None or version_key(v)[:2] <= version_key(torch)[:2]]
        self._fitting = [lowered[version] for version in reversed(versions)]

    def _measured(self, case: str) -> Mapping[str, Mapping[str, Any]]:
        return next((cases[case] for cases in self._fitting if case in cases), {})

    def lowerings(self, case: str) -> dict[str, str]:
        """Target -> the status of its stage, of those that fail."""
        statuses = {name: record["status"] for name, record in self._measured(case).items()}
        return {name: said for name, said in statuses.items() if said != PASSED and name in self._shipped_to}

    def severity(self, case: str) -> Severity | None:
        """None: every target that was measured, and that somebody ships to, runs it."""
        return Severity.ERROR if self.lowerings(case) else None

    def sentence(self, case: str) -> str:
        """What the targets do with it, in this torch version."""
        statuses = self.lowerings(case)
        groups = {said: [name for name in statuses if statuses[name] == said] for said in statuses.values()}
        return "torch exports it, and " + "; ".join(
            f"{_listed(names)} {_DOES[said][len(names) > 1]}" for said, names in groups.items()
        )

    def suggestion(self, case: str, text: str) -> str:
        """For the targets that were seen to run the Good class that shows it; "" where there are none."""
        tried = self._measured(shown_in(self._rule, case))
        failing = list(self.lowerings(case))
        helped = [name for name in failing if tried.get(name, {}).get("status") == PASSED]
        if not helped or helped == failing:
            return text if helped else ""
        return f"for {_listed(helped)}: {text}"

    def effect(self, case: str) -> dict[str, str]:  # noqa: ARG002 - the same of every case
        """Torch exports it in either mode, which is nothing to tell."""
        return {}

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:  # noqa: ARG002 - as above
        """No mode shows it: the stages of the targets do."""
        return {}


def shown_in(rule: RuleInfo, case: str) -> str:
    """The Good class of the fixture that shows what the rule suggests for the case."""
    return rule.cls.cases[case].shown_in or f"Good{case.removeprefix('Bad')}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))

"""Which findings make a run fail: a least severity, and whether a trial must have shown them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.errors import UserError, nearest
from exportlint.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


NEVER = "never"
_CONFIRMED = f"evidence={Evidence.CONFIRMED.value}"
_SUSPECTED = f"evidence={Evidence.SUSPECTED.value}"
TERMS = (*(severity.value for severity in Severity), NEVER, _CONFIRMED, _SUSPECTED)


@dataclass(frozen=True, slots=True)
class FailOn:
    """What makes exit code 1.

    least   the least severe findings that do; None: none does
    shown   only what a trial has shown, whether the static pass had suspected it (confirmed) or not (discovered)

    >>> finding = Finding("a-rule", "net.py", 1, 1, 1, 2, Severity.WARNING, "…")
    >>> FailOn().includes(finding), FailOn(Severity.ERROR).includes(finding), FailOn(shown=True).includes(finding)
    (True, False, False)
    """

    least: Severity | None = Severity.WARNING
    shown: bool = False

    def includes(self, finding: Finding) -> bool:
        """Does the finding make the run fail?"""
        if self.shown and finding.evidence not in (Evidence.CONFIRMED, Evidence.DISCOVERED):
            return False
        return self.least is not None and finding.severity.rank <= self.least.rank

    def any_of(self, findings: Iterable[Finding]) -> bool:
        """Does one of them?"""
        return any(self.includes(finding) for finding in findings)


def read_fail_on(terms: Sequence[str], where: str) -> FailOn:
    """What the terms say together: of several severities the least one, and the evidence that is asked for beside it.

    where   the option or the key, for the sentence about a wrong term

    Raises UserError for a term that is none, and for terms that contradict each other.

    >>> read_fail_on(["error", "evidence=confirmed"], "--fail-on")
    FailOn(least=<Severity.ERROR: 'error'>, shown=True)
    """
    for term in terms:
        if term not in TERMS:
            raise UserError(
                f"{where}: there is no `{term}`{nearest(term, TERMS)}; choose of {', '.join(TERMS[:-1])} or {TERMS[-1]}"
            )
    severities = [severity for severity in Severity if severity.value in terms]
    for one, other in ((NEVER, next((s.value for s in severities), "")), (_CONFIRMED, _SUSPECTED)):
        if one in terms and other in terms:
            raise UserError(f"{where}: `{one}` and `{other}` contradict each other: give one of them")
    if NEVER in terms:
        return FailOn(None, _CONFIRMED in terms)
    least = max(severities, key=lambda one: one.rank, default=Severity.WARNING)
    return FailOn(least, _CONFIRMED in terms)

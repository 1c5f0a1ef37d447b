"""Try the `torch._check`s that a refusal asks for: does the model then export, and agree with eager?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from exportlint.trial.child.dynamic_shapes.shape_decisions import recorded_decisions
from exportlint.trial.child.execution.call_record import record_calls
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.export.source_overlay import lay_over
from exportlint.trial.child.localize.missing_checks import missing_checks
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences, in_results
from exportlint.trial.protocol.observation import of_exception

if TYPE_CHECKING:
    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.localize.missing_checks import Check


# The sample, and the other inputs: a check must hold for both.
_PLAN = (0, 1)
_MOST = 8  # tries, each of which costs an export


def checks_that_help(request: StageRequest, mode: str, known: list[Check]) -> list[Check]:
    """The checks with which the model exports and agrees; empty where none were found. `known` help in another mode."""
    search = _CheckSearch(request, mode)
    return (search.found(known) if known else []) or search.found([])


@dataclass
class _CheckSearch:
    request: StageRequest
    mode: str
    tried: list[list[Check]] = field(default_factory=list)

    def found(self, checks: list[Check]) -> list[Check]:
        """These checks with as many more as it takes, depth first."""
        if len(self.tried) >= _MOST or checks in self.tried:
            return []
        self.tried.append(checks)
        asked = in_fork(partial(self._asked, checks), self.request.folder).value
        if asked is None:
            return []
        if not asked:
            return checks
        ways = (self.found([*checks, check]) for check in asked if check not in checks)
        return next((way for way in ways if way), [])

    def _asked(self, checks: list[Check]) -> list[Check] | None:
        """What else torch asks with these checks in the source; [] where it exports and agrees; None: no way on."""
        loaded = self.request.loaded
        if not all(lay_over(path, statements) for path, statements in _by_file(checks).items()):
            return None
        if checks and any(call.raised for call in record_calls(loaded, loaded.eager(), _PLAN).calls):
            return None
        with recorded_decisions() as decisions:
            try:
                exported = export(loaded, self.mode)
            except Exception as exc:  # noqa: BLE001 - torch lets anything through
                return missing_checks(of_exception(exc), decisions) or None
        eager, again = kept_records(self.request.folder.parent)
        theirs = record_calls(loaded, exported.module(), _PLAN)
        return None if any(map(in_results, differences(eager, again, theirs))) else []


def _by_file(checks: list[Check]) -> dict[str, dict[int, list[str]]]:
    found: dict[str, dict[int, list[str]]] = {}
    for one in checks:
        found.setdefault(one.path, {}).setdefault(one.line, []).append(one.text)
    return found

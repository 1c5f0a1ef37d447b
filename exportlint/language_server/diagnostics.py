"""A finding as editors show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from exportlint.finding import Severity
from exportlint.language_server.projects import NOT_JUDGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.finding import Finding
    from exportlint.language_server.positions import Sheet

STATIC, TRIAL = "exportlint", "exportlint trial"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, sheet: Sheet, source: str = STATIC, *, fresh: bool = True) -> types.Diagnostic:
    """Of a finding in this text. `fresh`: it was found in it, so that the lines which it leads back to are where it
    says; else the text was edited since."""
    instead = f"\ninstead: {finding.fix.description}" if finding.fix else ""
    link = next((one.url for one in finding.links), None)
    return types.Diagnostic(
        sheet.range((finding.line, finding.column), (finding.end_line, finding.end_column)),
        f"{finding.message}{instead}",
        _SEVERITIES[finding.severity],
        None if finding.rule == NOT_JUDGED else finding.rule,
        types.CodeDescription(link) if link else None,
        source,
        related_information=list(_related(finding)) if fresh else None,
    )


def _related(finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
    """The lines that it leads back to, each whole: an editor takes a character beyond the end of a line for its end."""
    for word, steps in (("comes from", finding.trail), ("called by", finding.calls)):
        for step in steps:
            line = types.Range(types.Position(step.line - 1, 0), types.Position(step.line - 1, _BEYOND))
            place = types.Location(Path(step.path).resolve().as_uri(), line)
            yield types.DiagnosticRelatedInformation(place, f"{word} {step.text}")


_BEYOND = 10_000

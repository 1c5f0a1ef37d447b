"""A finding as editors show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from exportlint.finding import Severity
from exportlint.language_server.projects import NOT_JUDGED

if TYPE_CHECKING:
    from exportlint.finding import Finding
    from exportlint.language_server.positions import Sheet

STATIC, TRIAL = "exportlint", "exportlint trial"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, sheet: Sheet, source: str = STATIC) -> types.Diagnostic:
    """Of a finding in this text."""
    instead = f"\ninstead: {finding.fix.description}" if finding.fix else ""
    link = next((one.url for one in finding.links), None)
    return types.Diagnostic(
        sheet.range((finding.line, finding.column), (finding.end_line, finding.end_column)),
        f"{finding.message}{instead}",
        _SEVERITIES[finding.severity],
        None if finding.rule == NOT_JUDGED else finding.rule,
        types.CodeDescription(link) if link else None,
        source,
    )

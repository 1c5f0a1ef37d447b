"""Every style, named once; the names are what the other files use."""

from __future__ import annotations

STYLES = {
    "severity.error": "bold red",
    "severity.warning": "bold yellow",
    "severity.note": "bold cyan",
    "status.passed": "green",
    "status.compiled": "yellow",
    "status.running": "dim",
    "status.refused": "bold red",
    "status.differs": "bold red",
    "status.crashed": "bold red",
    "status.timed-out": "bold red",
    "status.skipped": "dim",
    "support.supported": "green",
    "support.delegated": "green",
    "support.fallback": "yellow",
    "support.missing": "bold red",
    "gutter": "blue",
    "label": "bold",
    "headline": "bold",
}

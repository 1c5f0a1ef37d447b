"""A report in, its text out. One file a format: a module with `render(report, options) -> str`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from exportlint.finding import Wanted

if TYPE_CHECKING:
    from exportlint.output.report import RenderOptions, Report

FORMATS = {
    "full": "exportlint.output.full",
    "concise": "exportlint.output.concise",
    "json": "exportlint.output.json_report",
    "json-lines": "exportlint.output.json_lines",
    "github": "exportlint.output.github",
    "gitlab": "exportlint.output.gitlab",
    "sarif": "exportlint.output.sarif",
    "junit": "exportlint.output.junit",
    "markdown": "exportlint.output.markdown",
    "agent": "exportlint.output.agent",
    "html": "exportlint.output.html",
}
NAMES_RULES = frozenset({"sarif"})  # which formats have the page of each rule
FULL, AGENT, HTML = "full", "agent", "html"
WITH_BACKGROUND = (AGENT, HTML)  # they alone ask for what stands behind a report
WITH_PROGRAM = (FULL, HTML)  # they alone show the exported program, and operators beyond those of the contract

# Which rewrites a format shows; none of the others.
SHOWN_REWRITES = {
    **dict.fromkeys(("json", "json-lines", "github", "markdown", HTML), Wanted.FIRST),
    **dict.fromkeys(("sarif", AGENT), Wanted.ALL),
}


def render(name: str, report: Report, options: RenderOptions) -> str:
    """The report in the format called `name`, which ends with a line end. Only that format's module is imported."""
    module = importlib.import_module(FORMATS[name])
    text: str = module.render(report, options)
    return text

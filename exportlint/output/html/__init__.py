"""The format `html`: a report as one page for a browser. It holds all that it needs, and asks no network.

The frame of the page, and what it says without scripts, are written by a template; the rest stands in it as JSON, from
which the script makes what somebody opens. So a report of thousands of findings costs the browser what is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.output.html.frame import inlined, written
from exportlint.output.html.page_data import page_data
from exportlint.version import __version__

if TYPE_CHECKING:
    from exportlint.output.report import RenderOptions, Report


def render(report: Report, options: RenderOptions) -> str:
    data = page_data(report)
    return written(
        "page.html.jinja",
        "page.css",
        "page.js",
        report=report,
        data=data,
        statistics=report.per_rule() if options.statistics else [],
        version=__version__,
        inlined=inlined(data),
    )

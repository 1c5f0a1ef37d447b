"""The format `html`: a report as one page for a browser. It holds all that it needs, and asks no network.

The frame of the page, and what it says without scripts, are written by a template; the rest stands in it as JSON, from
which the script makes what somebody opens. So a report of thousands of findings costs the browser what is looked at.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from exportlint.output.html.page_data import page_data
from exportlint.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from exportlint.output.report import RenderOptions, Report


def render(report: Report, options: RenderOptions) -> str:
    data = page_data(report)
    style, script = _asset("page.css"), _asset("page.js")
    text = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            report=report,
            data=data,
            statistics=report.per_rule() if options.statistics else [],
            version=__version__,
            style=style,
            script=script,
            # Whatever should get past the escaping of what the page shows, the browser runs these two and nothing else.
            style_hash=_hash(style),
            script_hash=_hash(script),
            inlined=_inlined(data),
        )
    )
    # Names of files may be no text. In JSON this is the escape of the same code unit.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _inlined(data: dict[str, Any]) -> str:
    """JSON that no text in it can end: HTML looks for `</script` and `<!--` inside of scripts too."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _hash(text: str) -> str:
    """As a Content-Security-Policy names an inlined script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    """A file beside this one; the line end is the template's."""
    return (files(__name__) / name).read_text("utf-8").strip("\n")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 (30 ms, and for this format alone)

    made = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(ticks=_ticks, breakable=_breakable)
    return made


def _ticks(text: str) -> Markup:
    """What stands in backticks as code."""
    from markupsafe import Markup  # noqa: PLC0415 (comes with jinja2)

    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces = [text]
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(piece) if number % 2 else piece for number, piece in enumerate(pieces))


def _breakable(path: str) -> Markup:
    """A path that goes to a new line behind a slash."""
    from markupsafe import Markup  # noqa: PLC0415 (comes with jinja2)

    return Markup("/<wbr>").join(path.split("/"))

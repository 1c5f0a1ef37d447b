"""What every page for a browser is made with: one file that holds all it needs, and asks no network."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def written(template: str, style: str, script: str, **data: Any) -> str:
    """The page of a template beside this file, with the theme and a style and script of its own."""
    whole = f"{_asset('theme.css')}\n{_asset(style)}"
    code = _asset(script)
    text = (
        _environment()
        .get_template(template)
        .render(
            style=whole,
            script=code,
            # Whatever should get past the escaping of what the page shows, the browser runs these two and nothing else.
            style_hash=_hash(whole),
            script_hash=_hash(code),
            **data,
        )
    )
    # Names of files may be no text. In JSON this is the escape of the same code unit.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def inlined(data: Any) -> str:
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
    return (files("exportlint.output.html") / name).read_text("utf-8").strip("\n")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 (30 ms, and for pages alone)

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

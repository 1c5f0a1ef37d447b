"""The console that text for people is made with, and every style, named once: the names are what others use."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from exportlint.output.report import RenderOptions


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


def text_console(options: RenderOptions) -> tuple[Console, StringIO]:
    """A console, and where it writes. Colour only where the options ask for it."""
    from rich.console import Console  # noqa: PLC0415 (50 ms)
    from rich.theme import Theme  # noqa: PLC0415

    file = StringIO()
    console = Console(
        file=file,
        force_terminal=options.color,
        color_system="standard" if options.color else None,
        width=options.width,
        theme=Theme(STYLES),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    return console, file


def printed(file: StringIO) -> str:
    """What was written, without spaces at the ends of lines; ends with a line end."""
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"

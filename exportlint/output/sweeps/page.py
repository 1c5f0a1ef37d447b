"""A page about sweeps: what it is made of, and how it is told in a terminal, in Markdown and in a browser."""

from __future__ import annotations

import base64
import os
import textwrap
from dataclasses import dataclass
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

from tabulate import tabulate

from exportlint.output.html.frame import written
from exportlint.output.markdown import cell
from exportlint.output.sweeps.charts import Bars, HeatMap, as_svg
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# As much of a sentence as stands in a cell; the page for a browser and JSON have all of it. A terminal shows it on
# lines of this width.
_SENTENCE, _COLUMN = 140, 48

Cell: TypeAlias = str | int | float


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads. A terminal and Markdown show the first `most` rows, and say how many more `what` there are."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    what: str = "rows"
    most: int = 25


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a title: sentences, tables and charts."""

    title: str
    parts: Sequence[str | Table | Bars | HeatMap]


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to say, the most important first. `more`: the command that has all rows of its tables; `facts`:
    what was asked for, as name and value."""

    headline: str
    sections: Sequence[Section]
    more: str
    notes: Sequence[str] = ()
    facts: Mapping[str, str] | None = None


def as_text(page: Page) -> str:
    """For a terminal. It has no charts: their numbers are in the tables.

    >>> print(as_text(Page("2 targets", [Section("Outcomes", [Table(("library", "targets"), [("timm", 2)])])], "all")))
    2 targets
    <BLANKLINE>
    Outcomes
    <BLANKLINE>
    library      targets
    ---------  ---------
    timm               2
    <BLANKLINE>
    """
    return "\n".join(_lines(page, "\n{}\n", _plain_table))


def as_markdown(page: Page, folder: PurePath | None = None) -> tuple[str, dict[str, str]]:
    """For a page in a repository: the text, and name -> SVG of the charts that it shows from the folder, which is given
    as seen from where the text will lie. Without a folder there are no charts."""
    pictures: dict[str, str] = {}
    numbers = count(1)

    def picture(chart: Bars | HeatMap) -> str:
        name = f"{next(numbers)}-{'-'.join(chart.title.lower().split())}.svg"
        pictures[name] = as_svg(chart)
        return f"![{chart.title}]({(folder / name).as_posix()})" if folder else ""

    lines = _lines(page, "\n## {}\n", _markdown_table, picture if folder else None)
    return "\n".join(lines), pictures


def as_html(page: Page) -> str:
    """For a browser: one file, with all rows and with the charts, which asks no network."""
    charts = {
        chart.title: base64.b64encode(as_svg(chart).encode()).decode()
        for section in page.sections
        for chart in section.parts
        if isinstance(chart, (Bars, HeatMap))
    }
    return written("sweep.html.jinja", "sweep.css", "sweep.js", page=page, charts=charts, version=__version__)


def _lines(
    page: Page,
    title: str,
    table: Callable[[Table], str],
    picture: Callable[[Bars | HeatMap], str] | None = None,
) -> Iterator[str]:
    yield page.headline
    yield from (f"\n{note}" for note in page.notes)
    for section in page.sections:
        shown = [one for one in section.parts if picture or not isinstance(one, (Bars, HeatMap))]
        if not shown:
            continue
        if section.title:
            yield title.format(section.title)
        for number, part in enumerate(shown):
            if number:
                yield ""
            match part:
                case Table():
                    yield table(part)
                    if len(part.rows) > part.most:
                        yield f"\n{len(part.rows) - part.most} more {part.what}: `{page.more}` has all"
                case str():
                    yield part
                case _ if picture:
                    yield picture(part)
    yield ""


def _plain_table(table: Table) -> str:
    rows = [[_short(one) for one in row] for row in table.rows[: table.most]]
    return tabulate(rows, table.heads, tablefmt="simple", floatfmt=".2f", maxcolwidths=_COLUMN)


def _markdown_table(table: Table) -> str:
    rows = [
        [cell(one) if isinstance(one, str) else one for one in map(_short, row)] for row in table.rows[: table.most]
    ]
    return tabulate(rows, table.heads, tablefmt="github", floatfmt=".2f")


def _short(value: Cell) -> Cell:
    return textwrap.shorten(value, _SENTENCE, placeholder="…") if isinstance(value, str) else value


def relative(folder: PurePath, page: PurePath | None) -> PurePath:
    """The folder of pictures as a link from the page's own folder, which is the working directory for stdout."""
    return PurePath(os.path.relpath(folder, page.parent if page else "."))

"""Plots of a sweep as SVG, through matplotlib.

Text, lines and paper take the colours of CSS variables with a dark counterpart, so that one picture is read in a light
and in a dark page alike. The same numbers give the same bytes.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 9.0  # inches; pages show 96 pixels for one
_BAR, _AROUND = 0.27, 0.9
_MOST_LABEL = 70  # characters
# In their places matplotlib writes colours that nothing else has; they become CSS variables.
_INK, _LINE = "#010203", "#040506"
_STYLE = """<style>
:root { --ink: #1b2128; --line: #d0d7de }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --line: #333d48 } }
</style>"""
# What a part of a bar is called -> its colour. Each is seen on white and on black.
_COLOURS = {
    "exports": "#2da44e",
    "passed": "#2da44e",
    "differs": "#a475f9",
    "refused": "#e5534b",
    "crashed": "#c2410c",
    "timed-out": "#d29922",
    "not-loaded": "#768390",
    "no-eager": "#909dab",
    "not-tried": "#adbac7",
    "waiting": "#cdd9e5",
}
_PLAIN = "#4184e4"


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar a row, of one or more parts: row -> part -> how much."""

    title: str
    rows: Mapping[str, Mapping[str, float]]
    unit: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """How many of how many: row -> column -> (these, of all). What stands nowhere was not asked."""

    title: str
    rows: Mapping[str, Mapping[str, tuple[int, int]]]
    unit: str

    @property
    def columns(self) -> Sequence[str]:
        """All that some row has."""
        return sorted({column for row in self.rows.values() for column in row})


def as_svg(chart: Bars | HeatMap) -> str:
    """The picture.

    Raises UserError where matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 (comes with the extra)
        from matplotlib.figure import Figure  # noqa: PLC0415 (as above)
    except ImportError as error:
        raise UserError(f"plots need matplotlib ({error}): pip install 'exportlint[sweep]'") from error
    look: Any = {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "exportlint",
        "text.parse_math": False,  # a dollar in a message is a dollar
        "font.family": "DejaVu Sans",  # matplotlib brings it, so the room it needs is known everywhere
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _LINE,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "grid.color": _LINE,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=(_WIDTH, _AROUND + _BAR * max(len(chart.rows), 2)), layout="constrained")
        axes = figure.add_subplot()
        if isinstance(chart, Bars):
            _draw_bars(figure, axes, chart)
        else:
            _draw_heat_map(axes, chart)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Title": chart.title}
        )
    text = out.getvalue().replace(_INK, "var(--ink, #1b2128)").replace(_LINE, "var(--line, #d0d7de)")
    opening, end, content = text.partition("<metadata>")
    return f"{opening}{_STYLE}\n {end}{content}"


def _draw_bars(figure: Figure, axes: Axes, chart: Bars) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 (as above)

    labels = [_label(name) for name in chart.rows]
    places = range(len(labels))
    parts = sorted({part for row in chart.rows.values() for part in row}, key=_order)
    left = [0.0] * len(labels)
    for part in parts:
        values = [float(row.get(part, 0)) for row in chart.rows.values()]
        axes.barh(places, values, left=left, height=0.72, label=part, color=_COLOURS.get(part, _PLAIN))
        left = [before + value for before, value in zip(left, values, strict=True)]
    for place, total in zip(places, left, strict=True):
        axes.annotate(f"{total:,.0f}" if total >= 10 or total == int(total) else f"{total:.1f}",  # noqa: PLR2004 (two digits are enough)
                      (total, place), xytext=(4, 0), textcoords="offset points", va="center")  # fmt: skip
    axes.set_yticks(list(places), labels)
    axes.invert_yaxis()
    axes.margins(x=0.08, y=0.01)
    axes.set_xlabel(chart.unit)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=all(total == int(total) for total in left)))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.grid(visible=True, linewidth=0.6)
    axes.set_axisbelow(True)
    if len(parts) > 1:
        figure.legend(loc="outside upper left", ncols=len(parts), frameon=False, handlelength=1, handleheight=1)


def _draw_heat_map(axes: Axes, chart: HeatMap) -> None:
    columns = chart.columns
    shares = [[_share(row.get(column)) for column in columns] for row in chart.rows.values()]
    axes.imshow(shares, cmap="RdYlGn", vmin=-0.15, vmax=1.15, aspect="auto")
    for place, row in enumerate(chart.rows.values()):
        for number, column in enumerate(columns):
            if column in row:
                these, of = row[column]
                axes.text(number, place, f"{these}/{of}", ha="center", va="center", color="#111111")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(chart.rows)), [_label(name) for name in chart.rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(chart.unit)


def _share(cell: tuple[int, int] | None) -> float:
    return cell[0] / cell[1] if cell and cell[1] else float("nan")


def _label(text: str) -> str:
    return text if len(text) <= _MOST_LABEL else f"{text[: _MOST_LABEL - 1]}…"


def _order(part: str) -> tuple[int, str]:
    known = list(_COLOURS)
    return (known.index(part) if part in known else len(known), part)

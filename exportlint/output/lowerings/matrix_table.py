"""The matrix on a terminal: as many columns side by side as fit, the others below, then the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.output.console import printed, text_console
from exportlint.output.lowerings.matrix import Matrix, MatrixRow, WhyNot, column, short_names
from exportlint.trial.protocol.outcomes import RUNNING, SKIPPED
from exportlint.trial.protocol.stages import stage_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from exportlint.output.report import RenderOptions


_CELLS = {SKIPPED: "-", RUNNING: "…"}
_LEAST, _MOST = 14, 40  # characters of a target's name
_NARROW = 100


def render_matrix(matrix: Matrix, options: RenderOptions) -> str:
    """The tables, the reasons, and the run in one sentence; ends with a line end."""
    console, file = text_console(options)
    for table in matrix_tables(matrix, options.width):
        console.print(table)
        console.print()
    for row in matrix.rows:
        _print_reasons(console, row)
    for line in matrix.unmet_in_words():
        console.print(line, style="severity.error", soft_wrap=True)
    console.print(matrix.headline, style="headline", soft_wrap=True)
    return printed(file)


def matrix_tables(matrix: Matrix, width: int) -> Iterator[Table]:
    """One, where all columns fit; else those of the lowerings begin another, and so does what does not fit."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    names = short_names([row.name for row in matrix.rows])
    between = 1 if width < _NARROW else 2
    widths = {stage: _width(stage, matrix) + between for stage in matrix.stages}
    for stages in _in_blocks(widths, width - _LEAST):
        table = Table(box=None, pad_edge=False, padding=(0, between, 0, 0), header_style="label")
        room = max(_LEAST, width - sum(widths[stage] for stage in stages))
        table.add_column("target", overflow="fold", max_width=min(room - between, _MOST), vertical="bottom")
        for stage in stages:
            table.add_column(_head(stage), no_wrap=True)
        for row in matrix.rows:
            table.add_row(Text(names[row.name]), *(_cell(row.statuses.get(stage, "")) for stage in stages))
        yield table


def _cell(status: str) -> Text:
    from rich.text import Text  # noqa: PLC0415 (50 ms)

    return Text(_CELLS.get(status, status), style=f"status.{status}" if status else "")


def _head(stage: str) -> str:
    """Long names go on below."""
    return column(stage).replace("-", "-\n")


def _width(stage: str, matrix: Matrix) -> int:
    statuses = (row.statuses.get(stage, "") for row in matrix.rows)
    return max(map(len, [*_head(stage).split("\n"), *(_CELLS.get(status, status) for status in statuses)]))


def _in_blocks(widths: Mapping[str, int], room: int) -> Iterator[list[str]]:
    if sum(widths.values()) <= room:
        yield list(widths)
        return
    for lowered in (False, True):
        yield from _filled([one for one in widths if bool(stage_named(one).lowering) is lowered], widths, room)


def _filled(stages: Sequence[str], widths: Mapping[str, int], room: int) -> Iterator[list[str]]:
    block: list[str] = []
    for stage in stages:
        if block and sum(widths[one] for one in (*block, stage)) > room:
            yield block
            block = []
        block.append(stage)
    if block:
        yield block


def _print_reasons(console: Console, row: MatrixRow) -> None:
    from rich.padding import Padding  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    if row.reasons:
        console.print(row.name, style="headline", soft_wrap=True)
        for reason in row.reasons:
            console.print(Padding(Text(reason_in_words(reason), overflow="fold"), (0, 0, 0, 2)))
        console.print()


def reason_in_words(reason: WhyNot) -> str:
    """As compilers print it: the place, the stages, what happened, why."""
    place = f"{reason.place}: " if reason.place else ""
    why = f": {reason.text}" if reason.text else ""
    return f"{place}{', '.join(reason.stages)} {reason.status}{why}"

"""Several targets beside all stages and lowerings: what became of each, and why what did not pass did not.

On a terminal as many columns stand side by side as fit, the others below, then the reasons; as Markdown for a page; as
JSON for programs (matrix-1.json beside schema-1.json describes it).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.output.console import printed, text_console
from exportlint.trial.protocol.outcomes import PASSED, RUNNING, SKIPPED
from exportlint.trial.protocol.stages import stage_named
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from exportlint.output.report import RenderOptions


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why stages of a target did not pass, at a line of the model where one is known."""

    stages: tuple[str, ...]
    status: str
    text: str
    path: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path else ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One target. `statuses`: of each stage that it has come to; `figures`: what a stage that passed has found, such
    as the number of graph breaks, or has measured."""

    name: str
    statuses: Mapping[str, str]
    seconds: Mapping[str, float]
    reasons: tuple[WhyNot, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)

    def cell(self, stage: str) -> str:
        """What a table shows."""
        return self.figures.get(stage) or self.statuses.get(stage, "")


@dataclass(frozen=True, slots=True)
class Matrix:
    """All targets. `required`: the stages that every target must pass."""

    torch: str | None
    stages: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    required: tuple[str, ...] = ()

    @property
    def unmet(self) -> tuple[tuple[str, str, str], ...]:
        """Target, stage and status of what was required and did not pass; a stage that never ran is `not run`."""
        every = ((row.name, stage, row.statuses.get(stage, "not run")) for row in self.rows for stage in self.required)
        return tuple(one for one in every if one[2] != PASSED)

    @property
    def headline(self) -> str:
        """The run in one sentence."""
        of_lowerings = [stage for stage in self.stages if stage_named(stage).lowering]
        passed = sum(row.statuses.get(stage) == PASSED for row in self.rows for stage in of_lowerings)
        number = len(self.rows)
        targets = "1 target" if number == 1 else f"{number} targets"
        lowered = f"; {passed} of {number * len(of_lowerings)} lowerings passed" if of_lowerings else ""
        return f"{targets}{f' (torch {self.torch})' if self.torch else ''}{lowered}"

    def unmet_in_words(self) -> Iterator[str]:
        """A line for each."""
        for target, stage, status in self.unmet:
            yield f"required and not passed: {column(stage)} of {target} ({status})"


def column(stage: str) -> str:
    """What a stage is called above its column."""
    return stage_named(stage).lowering or stage


def short_names(names: list[str]) -> dict[str, str]:
    """Without their folders, where that leaves each its own name."""
    short = {name: Path(name).name if "/" in name else name for name in names}
    own = list(short.values())
    return {name: one if own.count(one) == 1 else name for name, one in short.items()}


# On a terminal.


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
            table.add_row(Text(names[row.name]), *(_cell(row, stage) for stage in stages))
        yield table


def _cell(row: MatrixRow, stage: str) -> Text:
    from rich.text import Text  # noqa: PLC0415 (50 ms)

    shown, status = row.cell(stage), row.statuses.get(stage)
    return Text(
        _CELLS.get(shown, shown), style="label" if stage in row.figures else f"status.{status}" if status else ""
    )


def _head(stage: str) -> str:
    """Long names go on below."""
    return column(stage).replace("-", "-\n")


def _width(stage: str, matrix: Matrix) -> int:
    statuses = (row.cell(stage) for row in matrix.rows)
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
    if reason.status == PASSED:  # what a stage has found, and did not fail for
        return f"{place}{', '.join(reason.stages)}: {reason.text}"
    why = f": {reason.text}" if reason.text else ""
    return f"{place}{', '.join(reason.stages)} {reason.status}{why}"


# For pages and programs.


_VERSION = 1


def as_markdown(matrix: Matrix) -> str:
    """The table, and the reasons in another one."""
    from exportlint.output.markdown import cell, table  # noqa: PLC0415 (tabulate, where it is used)

    rows = [[row.name, *(row.cell(stage) for stage in matrix.stages)] for row in matrix.rows]
    blocks = [table(["target", *map(column, matrix.stages)], rows)]
    reasons = [
        (row.name, ", ".join(map(column, why.stages)), why.status, f"`{why.place}`" if why.place else "", why.text)
        for row in matrix.rows
        for why in row.reasons
    ]
    if reasons:
        blocks.append(table(["target", "stages", "status", "place", "why"], reasons))
    return "\n\n".join([*blocks, *map(cell, matrix.unmet_in_words()), cell(matrix.headline)]) + "\n"


def as_json(matrix: Matrix) -> str:
    """The contract that other programs build on."""
    targets = [
        {
            "name": row.name,
            "stages": [
                {
                    "name": stage,
                    "status": status,
                    "seconds": round(row.seconds.get(stage, 0.0), 3),
                    **({"figure": row.figures[stage]} if stage in row.figures else {}),
                }
                for stage in matrix.stages
                if (status := row.statuses.get(stage))
            ],
            "reasons": [asdict(why) for why in row.reasons],
        }
        for row in matrix.rows
    ]
    unmet = [{"target": target, "stage": stage, "status": status} for target, stage, status in matrix.unmet]
    data = {"version": _VERSION, "exportlint": __version__, "torch": matrix.torch, "stages": list(matrix.stages)}
    return json.dumps({**data, "targets": targets, "required": list(matrix.required), "unmet": unmet}, indent=2) + "\n"

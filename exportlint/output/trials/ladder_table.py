"""Show the ladder of a target as a table: one line a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.output.verdict import verdict
from exportlint.trial.protocol.outcomes import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from exportlint.trial.protocol.result import StageResult, TargetReport


HEADS = ("  stage", "status", "seconds")


def print_ladder(console: Console, target: TargetReport, other_torch: str = "", *, shapes: bool = True) -> None:
    """Print the ladder of a target under its verdict. `other_torch` stands behind its name, where the report is about
    another torch; without `shapes` its dynamic shapes are left out, as where a finding says them."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    console.print(f"target {target.name}{other_torch}", style="headline", soft_wrap=True)
    if sentence := verdict(target):
        console.print(f"  {sentence}", style="label", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for head in (*HEADS, "detail"):
        table.add_column(
            head, justify="right" if head == "seconds" else "left", no_wrap=head != "detail", overflow="fold"
        )
    for stage in target.stages:
        if stage.status != SKIPPED or stage.support:
            status = Text(stage.status, style=f"status.{stage.status}")
            table.add_row(f"  {stage.name}", status, shown_seconds(stage), Text(detail_lines(stage)))
    console.print(table)
    for why, names in _skipped(target).items():
        console.print(f"  skipped: {', '.join(names)} ({why})", soft_wrap=True)
    if target.dynamic_shapes and shapes:
        _print_shapes(console, target.dynamic_shapes)
    for stage in target.stages:
        _print_beside(console, stage)
    console.print()


def detail_lines(stage: StageResult) -> str:
    """The detail; of a lowering below it how much of the program the target takes, unless the detail is that."""
    return "\n".join(dict.fromkeys(line for line in (stage.brief_detail, stage.support) if line))


def _skipped(target: TargetReport) -> dict[str, list[str]]:
    """Why -> the stages that had nothing to do."""
    found: dict[str, list[str]] = {}
    for stage in target.stages:
        if stage.status == SKIPPED and not stage.support:
            found.setdefault(stage.brief_detail, []).append(stage.name)
    return found


def shown_seconds(stage: StageResult) -> str:
    return "" if stage.status == SKIPPED else f"{stage.seconds:.2f}"


def _print_beside(console: Console, stage: StageResult) -> None:
    if swapped := stage.data.get("swapped"):
        _print_swapped(console, swapped)
    for repro in stage.repros:
        console.print(f"  {stage.name} again: python {repro}", soft_wrap=True)
    if stage.artifact:
        console.print(f"  {stage.name} kept: {stage.artifact}", soft_wrap=True)


def _print_swapped(console: Console, swapped: Sequence[tuple[str, int, int]]) -> None:
    """How often each operator occurs that decompositions of the user's change."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("  operator")
    for head in ("torch's table", "yours"):
        table.add_column(head, justify="right")
    for name, before, after in swapped:
        table.add_row(f"  {name}", str(before), str(after))
    console.print(table)


def _print_shapes(console: Console, text: str) -> None:
    """On lines of their own, to be copied, where there are several."""
    if "\n" not in text:
        console.print(f"  dynamic shapes: {text}", soft_wrap=True)
        return
    console.print("  dynamic shapes:", style="label")
    for line in text.split("\n"):
        console.print(f"    {line}".rstrip(), soft_wrap=True)

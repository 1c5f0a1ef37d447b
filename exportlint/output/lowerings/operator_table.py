"""Show the dry run of a lowering: each operator, how often it occurs, and what the target would do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.operator_support import OperatorRow, OperatorSupport

if TYPE_CHECKING:
    from rich.console import Console

    from exportlint.trial.protocol.result import StageResult, TargetReport


def support_of(stage: StageResult) -> OperatorSupport:
    """The dry run of a stage; without rows where there was none, or the target cannot say."""
    return OperatorSupport.from_dict(stage.data.get("operators", {})) if stage.row.lowering else OperatorSupport()


def print_operators(console: Console, target: TargetReport) -> None:
    """A table for each lowering that says what it would do with the operators."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    for stage in target.stages:
        support = support_of(stage)
        if not support.rows:
            continue
        console.print(f"  operators of {stage.name}", style="headline", soft_wrap=True)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
        for head in ("  operator", "count", "support", "first line", "reason"):
            table.add_column(head, justify="right" if head == "count" else "left", overflow="fold")
        for row in support.in_order:
            how = Text(row.support, style=f"support.{row.support}")
            table.add_row(f"  {row.name}", str(row.count), how, _place(row), Text(row.reason))
        console.print(table)
        console.print()


def _place(row: OperatorRow) -> str:
    return f"{from_here(row.path)}:{row.line}" if row.path else ""


def operators_as_data(support: OperatorSupport) -> dict[str, Any]:
    """As JSON has it: paths are relative to the working directory."""
    rows = [
        {
            "name": row.name,
            "count": row.count,
            "support": row.support,
            "path": from_here(row.path) if row.path else None,
            "line": row.line,
            "reason": row.reason,
        }
        for row in support.in_order
    ]
    return {"total": support.total, "rows": rows}

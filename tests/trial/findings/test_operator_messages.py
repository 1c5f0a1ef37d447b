"""The line on top of a dry run."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from exportlint.trial.findings.wording.difference_messages import support_line
from exportlint.trial.protocol.operator_support import OperatorRow, OperatorSupport

HERE = str(Path.cwd() / "model.py")


def row(name: str, count: int, support: str, line: int | None = None) -> OperatorRow:
    return OperatorRow(name, count, support, HERE if line else None, line)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([row("a", 412, "supported")], snapshot("all 412 operators supported")),
        ([row("a", 1, "supported")], snapshot("the one operator supported")),
        ([row("a", 8, "delegated"), row("b", 2, "supported")], snapshot("all 10 operators supported, 8 delegated")),
        (
            [row("a", 8, "delegated"), row("b", 2, "fallback")],
            snapshot("all 10 operators supported, 8 delegated, 2 by fallback"),
        ),
        (
            [row("aten.mm", 401, "supported"), row("aten.foo", 11, "missing", 31)],
            snapshot("97.3 % of 412 operators supported, 1 missing: aten.foo at model.py:31"),
        ),
        (
            [row("a", 9999, "supported"), row("b", 1, "missing")],
            snapshot("99.9 % of 10000 operators supported, 1 missing: b"),
        ),
        (
            [row(name, 1, "missing", 3) for name in "abcd"],
            snapshot("0.0 % of 4 operators supported, 4 missing: a at model.py:3, b at model.py:3, c at model.py:3, …"),
        ),
    ],
)
def test_the_line_counts_what_the_target_takes(rows: list[OperatorRow], line: str) -> None:
    assert support_line(OperatorSupport(tuple(rows))) == line

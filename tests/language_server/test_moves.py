"""Findings of an older text, where they stand in a newer one."""

from __future__ import annotations

import pytest

from exportlint.finding import Finding, Severity
from exportlint.language_server.moves import moved

BEFORE = "a\nb\nc\nd\n\n\ne"


def found(first: int, last: int) -> Finding:
    return Finding("a-rule", "net.py", first, 1, last, 2, Severity.ERROR, "")


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (BEFORE, (2, 3)),
        ("new\nnew\n" + BEFORE, (4, 5)),
        (BEFORE.replace("a\n", ""), (1, 2)),
        (BEFORE.replace("c", "C"), None),
        (BEFORE.replace("b\nc", "b\n\nc"), None),
        (BEFORE.replace("d", "dd").replace("a", "aa\naa"), (3, 4)),
        ("", None),
    ],
)
def test_a_finding_keeps_its_lines_as_long_as_they_are_what_they_were(
    after: str, lines: tuple[int, int] | None
) -> None:
    assert [(one.line, one.end_line) for one in moved([found(2, 3)], BEFORE, after)] == ([lines] if lines else [])

"""The matrix while it fills: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from inline_snapshot import snapshot

from exportlint.output.matrix import Matrix
from exportlint.trial.protocol.result import Event
from exportlint.workflow.matrix_run import live_matrix

if TYPE_CHECKING:
    import pytest

EMPTY = Matrix(None, ("eager", "lower-tvm"), ())
EVENTS = [
    Event("net.py", "eager", "running"),
    Event("net.py", "eager", "passed", 0.2),
    Event("net.py", "explain", "passed", 0.2),
    Event("net.py", "lower-tvm", "skipped"),
    Event("script.py:3", "eager", "refused", 1.25),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with live_matrix(EMPTY, ["net.py"]) as listener:
        for event in EVENTS:
            listener(event)
    return stream.getvalue()


def test_elsewhere_each_stage_of_the_matrix_that_ends_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(io.StringIO(), monkeypatch).splitlines()
    assert lines == [
        snapshot("exportlint: net.py: eager passed, 0.2 s"),
        snapshot("exportlint: script.py:3: eager refused, 1.2 s"),
    ]


def test_on_a_terminal_the_table_fills_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(Terminal(), monkeypatch)
    assert "net.py" in text
    assert "refused" in text
    assert "script.py:3" in text, "what a script gives is not known before"
    assert text.endswith("\x1b[2K"), "the last thing is to erase it"

"""A run of more than a second shows a bar: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from processes import EXPORTLINT
from sources import ROOT


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command that takes some seconds."""
    folder = tmp_path_factory.mktemp("long")
    for fixture in sorted((ROOT / "fixtures").glob("*.py"))[::2]:
        shutil.copy(fixture, folder)
    check = [*EXPORTLINT, "check", "--no-cache", "--jobs", "1", "--output-format", "json"]
    return [*check, str(folder)]


def shown_on_a_terminal(command: list[str]) -> str:
    """What the command writes on stderr where that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    written = b""
    with suppress(OSError):  # EIO: the other end is closed
        while chunk := os.read(ours, 1000):
            written += chunk
    os.close(ours)
    assert process.wait() == 1
    return written.decode()


def test_a_terminal_shows_how_many_files_are_judged_and_is_left_clean(long_run: list[str]) -> None:
    shown = shown_on_a_terminal(long_run)
    files = len(list(Path(long_run[-1]).glob("*.py")))
    assert f"/{files}" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the line of the bar is erased at the end


def test_what_is_no_terminal_gets_no_bar(long_run: list[str]) -> None:
    assert subprocess.run(long_run, capture_output=True, text=True, check=False).stderr == ""

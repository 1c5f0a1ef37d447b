"""`exportlint check --watch`, a process on real files."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from processes import EXPORTLINT, exportlint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("watchfiles")

CLEAN = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
BAD = CLEAN.replace("x * 2", "x.data * 2")
PATIENCE = 30.0


class Watched:
    """What the process says, as it says it."""

    def __init__(self, process: subprocess.Popen[bytes], streams: list[int]) -> None:
        self.process = process
        self._heard = dict.fromkeys(streams, b"")
        self._read = dict.fromkeys(streams, 0)
        for stream in streams:
            threading.Thread(target=self._listen, args=(stream,), daemon=True).start()

    def _listen(self, stream: int) -> None:
        while True:
            try:
                data = os.read(stream, 65536)
            except OSError:  # of a terminal whose program has ended
                return
            if not data:
                return
            self._heard[stream] += data

    def until(self, stream: int, words: str) -> str:
        """What came on the stream since it was last asked, up to the line with the words."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = self._heard[stream]
            at = text.find(words.encode(), self._read[stream])
            if at >= 0:
                line = text.find(b"\n", at)
                if line >= 0:
                    told = text[self._read[stream] : line + 1]
                    self._read[stream] = line + 1
                    return told.decode()
            time.sleep(0.02)
        raise AssertionError(f"`{words}` did not come: {self._heard}")

    def all(self, stream: int) -> str:
        return self._heard[stream].decode()


@contextmanager
def watching(folder: Path, *arguments: str, terminal: bool = False, stop: bool = True) -> Iterator[Watched]:
    """Its stdout is stream 0 and its stderr stream 1 of what is yielded."""
    out, out_end = pty.openpty() if terminal else os.pipe()
    err, err_end = os.pipe()
    process = subprocess.Popen(
        [*EXPORTLINT, "check", "--watch", *arguments],
        cwd=folder,
        stdout=out_end,
        stderr=err_end,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(out_end)
    os.close(err_end)
    watched = Watched(process, [out, err])
    watched.out, watched.err = out, err  # type: ignore[attr-defined]
    try:
        yield watched
        if stop:
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0, "Ctrl-C is how it is meant to end"
            time.sleep(0.1)
            assert "Traceback" not in watched.all(err)
            assert "stopped" not in watched.all(err)
    finally:
        process.kill()
        process.wait()
        os.close(out)
        os.close(err)


def test_each_change_is_judged_and_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(CLEAN, "utf-8")
    (tmp_path / "other.py").write_text(BAD, "utf-8")
    with watching(tmp_path, "--output-format", "concise") as told:
        out, err = told.out, told.err  # type: ignore[attr-defined]
        assert "exportlint: watching 2 files" in told.until(err, "watching")
        assert told.until(out, "Found").count("\n") == 2

        (tmp_path / "net.py").write_text(BAD, "utf-8")
        assert "exportlint: net.py changed: 1 new (" in told.until(err, "changed")
        assert "net.py:6:16: error[tensor-data-access]" in told.until(out, "Found")

        (tmp_path / "net.py").write_text("class Net(:\n", "utf-8")  # half way
        assert "exportlint: net.py:1: " in told.until(err, "changed: 1 gone")
        assert "Found 1 error in 2 files" in told.until(out, "Found")

        (tmp_path / "new.tmp").write_text(BAD.replace("x.data", "(x.data)"), "utf-8")
        (tmp_path / "new.tmp").replace(tmp_path / "net.py")  # as editors save
        assert "net.py changed: 1 new" in told.until(err, "changed")
        assert "Found 2 errors in 2 files" in told.until(out, "Found")

        (tmp_path / "more").mkdir()
        (tmp_path / "more/third.py").write_text(BAD, "utf-8")
        assert re.search(r"more\S*.* changed: 1 new", told.until(err, "1 new"))
        (tmp_path / "other.py").unlink()
        assert "other.py changed: 1 gone" in told.until(err, "changed")
        assert "\x1b" not in told.all(out), "no terminal, so nothing is cleared"


def test_what_a_named_file_imports_is_watched_and_the_rest_is_not(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text("", "utf-8")
    (tmp_path / "lib/part.py").write_text("def scaled(x):\n    return 2\n", "utf-8")
    (tmp_path / "net.py").write_text(
        "import torch\nfrom lib.part import scaled\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        if scaled(x) > 1:\n            return x\n        return -x\n",
        "utf-8",
    )
    with watching(tmp_path, "net.py", "--output-format", "concise") as told:
        out, err = told.out, told.err  # type: ignore[attr-defined]
        assert "Found nothing" in told.until(out, "Found")
        told.until(err, "watching")
        (tmp_path / "notes.txt").write_text("nothing to see", "utf-8")
        (tmp_path / "lib/part.py").write_text("def scaled(x):\n    return x.sum()\n", "utf-8")
        said = told.until(err, "changed")
        assert "lib/part.py changed: 1 new" in said
        assert "notes" not in said
        assert "net.py:7:12: " in told.until(out, "Found")


def test_settings_and_a_baseline_are_read_anew(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BAD, "utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.exportlint]\n", "utf-8")
    assert exportlint(tmp_path, ".", "--write-baseline", "b.json").returncode == 0
    with watching(tmp_path, ".", "--output-format", "concise") as told:
        out, err = told.out, told.err  # type: ignore[attr-defined]
        assert "Found 1 error" in told.until(out, "Found")
        told.until(err, "watching")
        (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nbaseline = "b.json"\n', "utf-8")
        assert "Found nothing in 1 file" in told.until(out, "Found")
        told.until(err, "pyproject.toml changed: 1 gone")
        (tmp_path / "pyproject.toml").write_text("[tool.exportlint\n", "utf-8")
        told.until(err, "this is not TOML")
        told.until(err, "pyproject.toml changed: no other findings")
        (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nignore = ["tensor-data-access"]\n', "utf-8")
        told.until(err, "pyproject.toml changed")
        assert told.process.poll() is None


def test_folders_that_are_never_judged_are_not_seen(tmp_path: Path) -> None:
    """But the project may lie in one of that name."""
    project = tmp_path / "build"
    (project / ".venv").mkdir(parents=True)
    (project / "net.py").write_text(BAD, "utf-8")
    with watching(project, ".", "--output-format", "concise") as told:
        err = told.err  # type: ignore[attr-defined]
        told.until(err, "watching")
        (project / ".venv/net.py").write_text(BAD, "utf-8")
        time.sleep(0.5)
        (project / "net.py").write_text(CLEAN, "utf-8")
        assert told.until(err, "changed").startswith("exportlint: net.py changed: 1 gone")


def test_a_terminal_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BAD, "utf-8")
    with watching(tmp_path, ".", terminal=True) as told:
        out, err = told.out, told.err  # type: ignore[attr-defined]
        assert told.until(out, "Found 1 error").startswith("\x1b[H\x1b[2J")
        told.until(err, "watching")


def test_it_is_fast_after_the_first_time(tmp_path: Path) -> None:
    """The living process judges what changed."""
    for number in range(40):
        (tmp_path / f"net{number}.py").write_text(BAD, "utf-8")
    with watching(tmp_path, "--no-cache", "--output-format", "concise", "--jobs", "1") as told:
        out, err = told.out, told.err  # type: ignore[attr-defined]
        first = float(told.until(err, "watching").rpartition("(")[2].partition(" s")[0])
        (tmp_path / "net7.py").write_text(BAD + "\n", "utf-8")
        again = float(told.until(err, "changed").rpartition("(")[2].partition(" s")[0])
        assert again < first / 3, (first, again)
        told.until(out, "Found")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-"], "stdin is none"),
        ([".", "--output-file", "report.py"], "would see report.py change"),
        ([".", "--output-file", "b.json", "--baseline", "b.json"], "would see b.json change"),
        ([".", "--trial"], "--trial is for one run"),
        ([".", "--add-suppressions", "so"], "--add-suppressions is for one run"),
        ([".", "--write-baseline", "b.json"], "--write-baseline is for one run"),
        ([".", "--baseline", "none.json"], "does not exist"),
        ([".", "--select", "no-such-rule"], "there is no rule"),
    ],
)
def test_what_cannot_be_watched_is_one_sentence_and_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "net.py").write_text(BAD, "utf-8")
    assert exportlint(tmp_path, ".", "--write-baseline", "b.json").returncode == 0
    done = exportlint(tmp_path, "check", *arguments, "--watch")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


def test_without_the_library_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BAD, "utf-8")
    code = "import sys; sys.modules['watchfiles'] = None; from exportlint.cli import main; main(['check', '--watch'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "exportlint: error: --watch needs watchfiles: pip install 'exportlint[watch]'\n"

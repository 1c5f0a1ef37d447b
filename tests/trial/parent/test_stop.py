"""A run that somebody stops tells what it knows, in every format, and leaves no process behind."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import psutil
import pytest
from processes import EXPORTLINT, all_end

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_of_its_own")]

# Eager is quick, and no trace of it ever ends.
NET = """
import time

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting() or torch.compiler.is_compiling():
            time.sleep(600)
        return x * 2


model = Net()
example_args = (torch.ones(3),)
"""


def stopped(folder: Path, number: signal.Signals, output_format: str) -> tuple[int, str, str]:
    """Stop a trial once eager has passed; its exit code, stdout and stderr."""
    (folder / "net.py").write_text(NET, "utf-8")
    command = [*EXPORTLINT, "trial", "net.py", "--output-format", output_format]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        told = ""
        while "eager passed" not in told:
            told = run.stderr.readline()
            assert told, "the trial ended before eager did"
        started = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(number)
        out, err = run.communicate(timeout=60)
    assert all_end(started)
    return run.returncode, out, err


def test_ctrl_c_ends_it_with_a_report(tmp_path: Path) -> None:
    code, out, err = stopped(tmp_path, signal.SIGINT, "full")
    assert code == 128 + signal.SIGINT
    assert "target net.py\n" in out
    assert re.search(r"^  eager +passed ", out, re.MULTILINE)
    assert re.search(r"^  skipped: .*soundness.* \(the run was stopped by Ctrl-C\)$", out, re.MULTILINE)
    assert "the report shows what was known by then" in err
    assert "Traceback" not in out + err


def test_what_a_program_reads_is_whole_too(tmp_path: Path) -> None:
    code, out, _ = stopped(tmp_path, signal.SIGTERM, "json")
    assert code == 128 + signal.SIGTERM
    (target,) = json.loads(out)["targets"]
    statuses = {stage["name"]: stage["status"] for stage in target["stages"]}
    assert statuses["eager"] == "passed"
    assert {status for name, status in statuses.items() if name not in ("load", "eager")} == {"skipped"}

"""An artefact whose runtime is torch runs where nothing of its model ever was, and hurts nobody but itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import EXPORTLINT, all_end, exportlint
from sources import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_of_its_own")]

LOWERINGS = """
import ctypes
import json
import os
import sys
import time
from pathlib import Path

from exportlint.lowering.saved_program import SavedProgram


class Telling(SavedProgram):
    def load(self, artefact):
        print("printed here")
        threads, group = len(os.listdir("/proc/self/task")), os.getpgid(0) == os.getpid()
        found = {"cwd": os.getcwd(), "threads": threads, "own group": group, "said": os.environ.get("SAID")}
        targets = [name for name in sys.modules if "target" in name and not name.startswith("torch")]
        stages = [name for name in sys.modules if name.startswith("exportlint.trial.child.stages")]
        raise RuntimeError(json.dumps({**found, "targets": targets, "stages": stages}))


class Crashing(SavedProgram):
    def load(self, artefact):
        ctypes.string_at(0)


class Leaving(SavedProgram):
    def load(self, artefact):
        os._exit(7)


class Greedy(SavedProgram):
    def load(self, artefact):
        Path(os.environ["PIDS"], "greedy").write_text(str(os.getpid()))
        held = []
        while len(held) < 40:
            held.append(b"x" * (64 << 20))
            time.sleep(0.1)
        time.sleep(600)


class Endless(SavedProgram):
    def load(self, artefact):
        part = Path(os.environ["PIDS"], "part")
        part.write_text(str(os.getpid()))
        part.rename(part.with_name("endless"))
        time.sleep(600)
"""
POINTS = "[exportlint.lowerings]\n" + "".join(
    f"{name} = strange:{name.capitalize()}\n" for name in ("telling", "crashing", "leaving", "greedy", "endless")
)
NET = """
import os

import torch

os.environ["SAID"] = "by the target"


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


model = Net()
example_args = (torch.ones(2),)
"""
OPTIONS = ("trial", "net.py", "--mode", "non-strict", "--no-cache", "--output-format", "json")


def installed(folder: Path) -> Path:
    info = folder / "site/strange.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(POINTS, "utf-8")
    (folder / "site/strange.py").write_text(LOWERINGS, "utf-8")
    (folder / "net.py").write_text(NET, "utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def stages(folder: Path) -> dict[str, Any]:
    """Of one trial with all of them but the endless one."""
    chosen = ("--lower", "telling,crashing,leaving,greedy", "--memory", "1.5", "--jobs", "1")
    done = exportlint(folder, *OPTIONS, *chosen, PYTHONPATH="site", PIDS=str(folder))
    (target,) = json.loads(done.stdout)["targets"]
    return {stage["name"]: stage for stage in target["stages"]}


def test_nothing_of_the_target_was_ever_in_it(stages: dict[str, Any]) -> None:
    detail = json.dumps(stages["lower-telling"])
    assert (stages["lower-telling"]["status"], stages["save-load"]["status"]) == ("refused", "passed")
    for fact in ('"threads": 1', '"own group": true', '"targets": []', '"stages": []', '"said": "by the target"'):
        assert json.dumps(fact)[1:-1] in detail, detail
    assert "fresh-" in detail


def test_each_end_is_told_and_the_next_one_runs(stages: dict[str, Any]) -> None:
    for name, words in (("crashing", "SIGSEGV"), ("leaving", "exit code 7"), ("greedy", "memory limit of 1500 MB")):
        stage = stages[f"lower-{name}"]
        assert (stage["status"], words in stage["detail"]) == ("crashed", True), stage


def test_what_passed_a_limit_is_gone(stages: dict[str, Any], folder: Path) -> None:
    assert "lower-greedy" in stages
    pid = int((folder / "greedy").read_text())
    assert not psutil.pid_exists(pid) or all_end([psutil.Process(pid)])


def test_it_goes_when_exportlint_is_killed(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": "site", "PIDS": str(folder)}
    command = [*EXPORTLINT, *OPTIONS, "--quick", "--lower", "endless"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while not (folder / "endless").exists() and run.poll() is None:
            time.sleep(0.05)
        artefact = psutil.Process(int((folder / "endless").read_text()))
        run.send_signal(signal.SIGKILL)
    assert all_end([artefact])


SLOW_TO_ANSWER = """
import socket, sys
from pathlib import Path

import torch
from own_lowerings import Hanging

from exportlint.trial.child.lowering.artefact_processes import FreshProcess
from exportlint.trial.child.lowering.torch_forks import start_torch_forks

start_torch_forks(socket.socketpair()[0])
with FreshProcess("own_lowerings:Hanging", Hanging({}), Path(sys.argv[1])) as process:
    answer = process.run(Path("no artefact"), {}, [], seconds=2)
print((answer.step, answer.timed_out, answer.ended, answer.printed))
"""


def test_one_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests/lowering")}
    command = [sys.executable, "-c", SLOW_TO_ANSWER, str(tmp_path)]
    said = subprocess.check_output(command, env=environment, text=True, cwd=tmp_path)
    assert said == "('load', True, 'no answer within 2 s', 'waiting for the device\\n')\n"

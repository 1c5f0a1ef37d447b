"""`--python PATH` tries a model in another environment, where exportlint is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NET = """
import os
import sys

import torch

assert sys.prefix == os.environ["WANTED_PREFIX"]


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


model = Net()
example_args = (torch.ones(3, 2),)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


def test_the_model_runs_where_it_lives(project: Path, other_python: Path) -> None:
    prefix = subprocess.check_output([str(other_python), "-c", "import sys; print(sys.prefix, end='')"], text=True)
    assert prefix != sys.prefix
    done = exportlint(
        project, "trial", "net.py", "--python", str(other_python), "--output-format", "json", WANTED_PREFIX=prefix
    )
    assert done.returncode == 1, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    stages = {stage["name"]: stage["status"] for stage in target["stages"]}
    assert (stages["eager"], stages["export-non-strict"], stages["export-strict"]) == ("passed", "refused", "refused")


def test_exportlint_is_not_there(other_python: Path) -> None:
    done = subprocess.run([str(other_python), "-c", "import exportlint"], capture_output=True, check=False, cwd="/")
    assert done.returncode != 0, "the environment shows nothing if exportlint can be imported in it"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("#!/bin/sh\nexit 3\n", "did not start the trial: it printed nothing"),
        ("#!/bin/sh\necho no such thing >&2\nexit 3\n", "did not start the trial: no such thing"),
        ("no program at all", "cannot start"),
    ],
)
def test_what_is_no_interpreter_is_a_sentence(project: Path, content: str, says: str) -> None:
    python = project / "python"
    python.write_text(content, "utf-8")
    python.chmod(0o755)
    done = exportlint(project, "trial", "net.py", "--python", str(python))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_interpreter_without_torch_says_how_to_get_it(project: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "bare"], check=True, cwd=project)
    done = exportlint(project, "trial", "net.py", "--python", "bare/bin/python")
    assert done.returncode == 2
    assert "-m pip install torch" in done.stderr

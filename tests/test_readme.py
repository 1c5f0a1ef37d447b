"""What the README tells people to type does what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from exportlint.commands.trying import chosen
from exportlint.config import Asked, load
from exportlint.trial.target import TargetKind

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")

SCRIPT = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int)
width = parser.parse_args().width
torch.jit.trace(torch.nn.Linear(width, 2).eval(), torch.ones(3, width))
"""


def snippet(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```\n<!-- /{name} -->", README, re.DOTALL)
    assert found, f"README.md has no snippet marked {name}"
    return found[1]


def test_the_script_that_one_has_is_tried(tmp_path: Path) -> None:
    (command,) = snippet("script").splitlines()
    name, trial, script, *rest = shlex.split(command)
    (tmp_path / script).write_text(SCRIPT, "utf-8")
    arguments = [sys.executable, "-m", name, trial, script, *rest]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"target {script}:8" in done.stdout
    assert "Linear(float32[3, 8]), given to torch.jit.trace" in done.stdout


def test_the_names_of_models_are_those_of_libraries() -> None:
    config = load(["."], Asked())
    nothing = dict.fromkeys(("model", "args", "kwargs", "dynamic_shapes", "other_args"))
    for command in snippet("zoo").splitlines():
        (target,) = chosen(shlex.split(command)[2:], nothing, (), config)
        assert target.kind is TargetKind.ZOO


def test_the_python_example_runs(tmp_path: Path) -> None:
    (tmp_path / "test_export.py").write_text(snippet("python"), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_export.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "True [] passed" in done.stdout


def test_the_sizes_that_are_shown_are_what_is_printed() -> None:
    command = [sys.executable, "-m", "exportlint", "trial", "fixtures/examples/clean_encoder.py", "--dynamic", "auto"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert snippet("sizes") in done.stdout

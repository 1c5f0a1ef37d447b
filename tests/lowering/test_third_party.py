"""A lowering of somebody else: installed beside exportlint, taken by its name, held to what the built-in ones are."""

import json
import re
import subprocess
import sys

import pytest
from processes import exportlint
from sources import ROOT

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)```\n", re.DOTALL)
MODEL = """\
import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        return (x * 2).relu()


model = Head().eval()
example_args = (torch.randn(2, 4),)
"""


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """The package of docs/writing-a-lowering.md, installed as a user does it; a trial with both of its lowerings."""
    folder = tmp_path_factory.mktemp("third")
    for found in BLOCK.finditer((ROOT / "docs/writing-a-lowering.md").read_text("utf-8")):
        (folder / found["name"]).parent.mkdir(exist_ok=True)
        (folder / found["name"]).write_text(found["text"], "utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "site", "./saved"]
    subprocess.run([*command, "--no-build-isolation"], cwd=folder, check=True)
    (folder / "model.py").write_text(MODEL, "utf-8")
    options = ("--mode", "non-strict", "--lower", "saved,chip", "--output-format", "json")
    done = exportlint(folder, "trial", "model.py", *options, PYTHONPATH="site")
    (target,) = json.loads(done.stdout)["targets"]
    return {stage["name"]: stage for stage in target["stages"]}


def test_it_is_run_in_a_fresh_process_and_compared(stages):
    found = stages["lower-saved"]
    assert found["status"] == "passed"
    assert "run in a fresh process: sample twice, other values" in found["detail"]


def test_what_cannot_run_here_is_never_passed(stages):
    found = stages["lower-chip"]
    assert (found["status"], "compiled, not run" in found["detail"]) == ("compiled", True)

"""The script beside a kept artefact: it loads and runs it in a process of its own, without exportlint."""

import ast
import importlib
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch
from processes import exportlint

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.stages.lower import kept_artefact, why_no_script
from exportlint.trial.protocol.stages import LOWERINGS

pytestmark = pytest.mark.slow

SAMPLE = (torch.linspace(-1, 1, 8).reshape(2, 4), torch.full((4,), 2.0))
POINTS = sorted(entry_points(group=LOWERINGS), key=lambda point: point.name)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, scale):
        return torch.relu(self.linear(x * scale))


def lowering_of(point):
    module, _, name = point.value.partition(":")
    return getattr(importlib.import_module(module), name)({})


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_a_script_prints_what_eager_gives(point, tmp_path):
    lowering = lowering_of(point)
    if why := lowering.missing():
        pytest.skip(why)
    torch.manual_seed(0)
    net = Net().eval()
    compiled, home = tmp_path / "compiled", tmp_path / "kept"
    compiled.mkdir()
    home.mkdir()
    artefact = lowering.compile(torch.export.export(net, SAMPLE), compiled)
    kept = kept_artefact(lowering, artefact, array_leaves(SAMPLE), home)
    text = (tmp_path / kept / "run.py").read_text("utf-8")
    assert "exportlint" not in text
    assert len([node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]) <= 10
    said = subprocess.run([sys.executable, f"{kept}/run.py"], capture_output=True, text=True, cwd="/", check=False)
    assert said.returncode == 0, said.stderr
    printed = [float(word) for word in _numbers(said.stdout)]
    assert printed == pytest.approx(net(*SAMPLE).flatten().tolist(), abs=1e-3)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_inputs_that_numpy_cannot_hold_get_no_script(point, tmp_path):
    lowering = lowering_of(point)
    leaves = array_leaves([torch.ones(2, dtype=torch.bfloat16)])
    compiled, home = tmp_path / "compiled", tmp_path / "kept"
    for folder in (compiled, home):
        folder.mkdir()
    (compiled / "model").touch()
    kept = Path(kept_artefact(lowering, compiled / "model", leaves, home))
    reads_torch = "torch.load" in lowering.script
    assert (kept / "run.py").exists() is reads_torch
    assert bool(why_no_script(lowering, leaves)) is not reads_torch


def test_the_stage_says_that_it_keeps_no_script(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.py").write_text(NET, "utf-8")
    options = ("--quick", "--lower", "onnxruntime", "--artifacts", "kept", "--output-format", "json")
    done = exportlint(tmp_path, "trial", "net.py", *options)
    (target,) = json.loads(done.stdout)["targets"]
    (stage,) = [stage for stage in target["stages"] if stage["name"] == "lower-onnxruntime"]
    assert (stage["status"], stage["detail"].endswith("; no script is kept: NumPy has no bfloat16")) == ("passed", True)
    assert not (tmp_path / "kept" / "net-onnxruntime" / "run.py").exists()


NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.float() * 2


model = Net().eval()
example_args = (torch.ones(2, dtype=torch.bfloat16),)
"""


def _numbers(text):
    """The numbers of the last array or tensor that was printed."""
    inside = text[text.rindex("[[") : text.rindex("]]")]
    return inside.replace("[", " ").replace("]", " ").replace(",", " ").split()

"""The script beside a kept artefact: it loads and runs it in a process of its own, without exportlint."""

import ast
import importlib
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
import torch

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.lowering.kept_artefact import kept_artefact
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


def _numbers(text):
    """The numbers of the last array or tensor that was printed."""
    inside = text[text.rindex("[[") : text.rindex("]]")]
    return inside.replace("[", " ").replace("]", " ").replace(",", " ").split()

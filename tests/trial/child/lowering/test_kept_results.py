"""A result is good for the same graph, weights, inputs, settings and versions, and for nothing else."""

import pytest
import torch
from plugin_lowering import install

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.lowering.proof import key_of

pytestmark = pytest.mark.slow

SAMPLE = torch.ones(2, 4)
DTYPES = [torch.float32, torch.float64]


class Net(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = torch.nn.Linear(4, width)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Other(Net):
    def forward(self, x):
        return torch.tanh(self.linear(x))


def key(model, sample=SAMPLE, *, lowering="a:A", **settings):
    program = torch.export.export(model.eval(), (sample,))
    return key_of(lowering, settings, ("torch", "saved-lowering"), program, [array_leaves([sample])])


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def test_everything_that_a_result_rests_on_changes_its_name(net, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(install(tmp_path)))
    same = key(net)
    assert key(net) == same
    other = Other()
    other.load_state_dict(net.state_dict())
    keys = {
        "weight": key(Net()),
        "size of a layer": key(Net(5)),
        "operator": key(other),
        "input": key(net, SAMPLE * 2),
        "shape": key(net, torch.ones(3, 4)),
        "dtype": key(Net().double(), SAMPLE.double()),
        "lowering": key(net, lowering="a:B"),
        "setting": key(net, opset=18),
        "value of a setting": key(net, opset=19),
    }
    install(tmp_path, "1.1")
    keys["version of a package"] = key(net)
    assert len({same, *keys.values()}) == len(keys) + 1, keys

"""Writes that torch does not decompose: refused at their line with what to write instead, and what is advised runs."""

from types import SimpleNamespace

import pytest
import torch
from live_models import line
from torch import nn

from exportlint.trial.child.lowering.undecomposed import why_undecomposed

pytestmark = pytest.mark.slow

X = torch.ones(4)


class OtherName(nn.Module):
    """As transformers keeps a static cache: in an object of its own, and in buffers."""

    def __init__(self):
        super().__init__()
        self.layer = SimpleNamespace(kept=torch.zeros(4))
        self.register_buffer("cache", self.layer.kept)

    def forward(self, x):
        y = x * 2
        self.layer.kept.add_(y)
        return self.layer.kept + 1


class OwnName(OtherName):
    def forward(self, x):
        self.layer.kept = self.cache
        return super().forward(x)


class OnlyRead(OtherName):
    def forward(self, x):
        return self.layer.kept + x


class PlainTensor(nn.Module):
    """A tensor attribute that is no buffer, written through a view."""

    def __init__(self):
        super().__init__()
        self.window = torch.zeros(4)

    def forward(self, x):
        head = self.window[:2]
        head.copy_(x[:2])
        return self.window + x


class Registered(PlainTensor):
    def __init__(self):
        nn.Module.__init__(self)
        self.register_buffer("window", torch.zeros(4))


class Reshaped(nn.Module):
    def forward(self, x):
        x.t_()
        return x * 2


class Named(nn.Module):
    def forward(self, x):
        y = x.t()
        return y * 2


@pytest.mark.parametrize("name", ["onnxruntime", "aotinductor"])
def test_a_write_through_another_name_stands_at_its_line(name, lowered):
    proved = lowered(name, OtherName(), (X,))
    assert (proved.status, line(proved)) == ("refused", "self.layer.kept.add_(y)")
    assert "`cache` is written through another name" in proved.detail
    assert "write to `self.cache`" in proved.observations[0].details["suggestion"]


def test_written_through_its_own_name_it_is_decomposed_and_runs(lowered):
    assert lowered("executorch", OwnName(), (X,)).status == "passed"


@pytest.mark.parametrize("strict", [False, True])
def test_what_torch_decomposes_is_what_the_advice_says(strict):
    program = torch.export.export(OtherName(), (X,), strict=strict)
    if strict:
        assert program.run_decompositions().graph_signature.buffers_to_mutate
        return
    with pytest.raises(AssertionError, match="expected compiled_fn to be GraphModule") as raised:
        program.run_decompositions()
    assert why_undecomposed(program, str(raised.value))
    read = torch.export.export(OnlyRead(), (X,))
    assert read.run_decompositions()
    assert why_undecomposed(read, str(raised.value)) is None


@pytest.mark.parametrize(
    ("model", "x", "text", "advice", "rewritten"),
    [
        (PlainTensor, X, "head.copy_(x[:2])", "register it as a buffer", Registered),
        (Reshaped, torch.ones(2, 3), "x.t_()", "give the result a name of its own", Named),
    ],
)
def test_other_writes_stand_at_their_line_and_what_is_advised_runs(lowered, model, x, text, advice, rewritten):
    proved = lowered("executorch", model(), (x.clone(),))
    assert (proved.status, line(proved)) == ("refused", text)
    assert advice in proved.observations[0].details["suggestion"]
    assert lowered("executorch", rewritten(), (x.clone(),)).status == "passed"

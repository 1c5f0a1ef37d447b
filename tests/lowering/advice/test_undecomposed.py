"""Writes that torch does not decompose: refused at their line with what to write instead, and what is advised runs."""

from types import SimpleNamespace
from typing import NamedTuple

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


class CopyOfPlainTensor(PlainTensor):
    """Inductor computes the copy when it compiles."""

    def forward(self, x):
        window = self.window.clone()
        window[:2] = x[:2]
        return window + x


class CopyOfRegistered(Registered):
    forward = CopyOfPlainTensor.forward


class Reshaped(nn.Module):
    def forward(self, x):
        x.t_()
        return x * 2


class Named(nn.Module):
    def forward(self, x):
        y = x.t()
        return y * 2


class NumberInBranch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t + torch.tensor(1.0), (x,))


class NumberItself(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t + 1.0, (x,))


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class ReturnsPair(nn.Module):
    def forward(self, x):
        return Pair(x * 2, x + 1)


class ReturnsTuple(nn.Module):
    def forward(self, x):
        return x * 2, x + 1


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


AHEAD, DEVICE = "aotinductor", "executorch"
BUFFER = "register it as a buffer"


@pytest.mark.parametrize(
    ("target", "model", "x", "text", "advice", "rewritten"),
    [
        (DEVICE, PlainTensor, X, "head.copy_(x[:2])", BUFFER, Registered),
        (AHEAD, CopyOfPlainTensor, X, "window[:2] = x[:2]", BUFFER, CopyOfRegistered),
        (DEVICE, Reshaped, torch.ones(2, 3), "x.t_()", "give the result a name of its own", Named),
        (AHEAD, Reshaped, torch.ones(2, 3), "x.t_()", "give the result a name of its own", Named),
        (
            AHEAD,
            NumberInBranch,
            X,
            "return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t + torch.tensor(1.0), (x,))",
            "the number itself: `t + 1.0`",
            NumberItself,
        ),
    ],
)
def test_other_programs_stand_at_their_line_and_what_is_advised_runs(
    lowered, target, model, x, text, advice, rewritten
):
    proved = lowered(target, model(), (x.clone(),))
    assert (proved.status, line(proved)) == ("refused", text)
    assert advice in proved.observations[0].details["suggestion"]
    runs_on = AHEAD if rewritten is CopyOfRegistered else DEVICE  # compiles in a fraction of the time
    assert lowered(runs_on, rewritten(), (x.clone(),)).status == "passed"


def test_a_class_without_a_name_in_files_is_said_and_plain_tuples_run(lowered):
    proved = lowered(DEVICE, ReturnsPair(), (X,))
    assert "output is a `Pair`, and the program cannot be saved" in proved.detail
    assert "take and return plain tuples" in proved.observations[0].details["suggestion"]
    assert lowered(DEVICE, ReturnsTuple(), (X,)).status == "passed"

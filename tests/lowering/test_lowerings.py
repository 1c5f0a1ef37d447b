"""Lowering for real: compiled, loaded, run twice and compared, with what each target gets wrong."""

import shutil
from typing import NamedTuple

import pytest
import torch
from torch import nn

from exportlint.lowering import aotinductor, executorch

pytestmark = pytest.mark.slow

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a C++ compiler")


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Structures(nn.Module):
    """Outputs of every shape, keyword inputs, a Python number among them."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, *, scale, mask=None, flag=True):
        y = self.linear(x) * scale
        return {"y": y if mask is None else y + mask, "number": 3, "none": None, "pair": [x + 1, (flag, x)]}


class ScalarState(nn.Module):
    """A buffer without dimensions, which AOTInductor takes for a constant and ExecuTorch starts at zero."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(7.0))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


class NoKernel(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.linalg.svd(y)[1]


class Noise(nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5, training=True)


class ReturnsPair(nn.Module):
    def forward(self, x):
        return Pair(x, x + 1)


class WritesInput(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


def lowered(backend, build, args, kwargs, folder):
    def seeded():
        torch.manual_seed(0)
        return build().eval()

    program = torch.export.export(seeded(), args, kwargs)
    return backend.lower(program, seeded, args, kwargs, folder)


STRUCTURES = ((torch.randn(2, 4),), {"scale": 2, "mask": torch.ones(4)})


@pytest.mark.parametrize("backend", [pytest.param(aotinductor, marks=needs_compiler), executorch])
def test_structures_keywords_and_plain_values_arrive_as_in_eager(backend, tmp_path):
    result = lowered(backend, Structures, *STRUCTURES, tmp_path)
    assert (result.status, result.observations) == ("passed", ())
    assert "run 2 times" in result.detail
    assert result.data["bytes"] == next(tmp_path.iterdir()).stat().st_size


@pytest.mark.parametrize(
    ("backend", "call"), [pytest.param(aotinductor, 1, marks=needs_compiler), pytest.param(executorch, 0)]
)
def test_a_buffer_that_the_target_loses_shows_at_the_line_of_the_output(backend, call, tmp_path):
    result = lowered(backend, ScalarState, (torch.ones(2),), {}, tmp_path)
    (seen,) = result.observations
    assert (result.status, seen.kind, seen.details["call"]) == ("differs", "difference", call)
    assert (seen.user.path, seen.user.text) == (__file__, "return x * self.count")


def test_the_message_gives_the_stage_and_the_line_of_the_operator(tmp_path):
    result = lowered(executorch, NoKernel, (torch.randn(3, 3),), {}, tmp_path)
    (seen,) = result.observations
    assert result.status == "refused"
    assert result.detail.startswith("compile: SpecViolationError: Operator torch._ops.aten._linalg_svd.default is not")
    assert (seen.user.path, seen.user.text) == (__file__, "return torch.linalg.svd(y)[1]")


def test_random_values_are_not_held_against_the_target(tmp_path):
    result = lowered(executorch, Noise, (torch.ones(64),), {}, tmp_path)
    assert result.status == "passed", result
    assert "only shapes were compared" in result.detail


def test_an_input_that_is_not_written_back_differs(tmp_path):
    result = lowered(executorch, WritesInput, (torch.ones(2),), {}, tmp_path)
    assert (result.status, result.observations[0].check) == ("differs", "input-effect")


def test_without_a_compiler_aotinductor_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", ("no-such-compiler",))
    aotinductor_answer = lowered(aotinductor, Noise, (torch.ones(64),), {}, tmp_path)
    assert aotinductor_answer.status == "skipped"
    assert "no C++ compiler" in aotinductor_answer.detail


def test_a_class_that_cannot_be_saved_is_refused_by_name(tmp_path):
    result = lowered(executorch, ReturnsPair, (torch.zeros(8),), {}, tmp_path)
    assert result.status == "refused"
    assert "Pair" in result.detail

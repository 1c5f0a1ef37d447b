"""What AOTInductor cannot do, or does otherwise, each at its line, with what helps. Every compile takes seconds."""

import shutil

import pytest
import torch
from proving import line, proved, the_one
from torch import nn

from exportlint.lowering.aotinductor import AOTInductor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a C++ compiler"),
]

X = torch.randn(3, 3)


@torch.library.custom_op("exportlint_tests::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@tripled.register_fake
def _(x):
    return torch.empty_like(x)


class PythonOperator(nn.Module):
    def forward(self, x):
        y = x + 1
        return tripled(y)


class Quantized(nn.Module):
    def forward(self, x):
        y = x + 1
        q = torch.quantize_per_tensor(y, 0.1, 0, torch.quint8)
        return q.dequantize()


class Sparse(nn.Module):
    def forward(self, x):
        y = x.to_sparse()
        return y.to_dense()


class ScalarState(nn.Module):
    """A buffer of one element, which AOTInductor takes for a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(7.0))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


class Scaled(nn.Module):
    """A number that the program guards, and a buffer of two elements, which keeps its value."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((2,), 7.0))

    def forward(self, x, factor):
        self.count.add_(1)
        return x * factor + self.count.sum()


class Sum(nn.Module):
    def forward(self, x):
        y = x * 2
        return torch.sigmoid(y).exp()


def lowered(build, args, tmp_path, **settings):
    return proved(AOTInductor(settings), build, args, tmp_path)


def test_an_operator_of_python_has_no_place_in_a_package(tmp_path):
    seen = the_one(lowered(PythonOperator, (X,), tmp_path), "refused")
    assert line(seen) == "return tripled(y)"
    assert (
        "load: the process that runs the package does not know `exportlint_tests::tripled`" in seen.details["summary"]
    )
    assert "TORCH_LIBRARY" in seen.details["suggestion"]


def test_a_dtype_without_a_type_in_cpp_stands_where_it_is_made(tmp_path):
    seen = the_one(lowered(Quantized, (X,), tmp_path), "refused")
    assert line(seen) == "q = torch.quantize_per_tensor(y, 0.1, 0, torch.quint8)"
    assert "no C++ type for tensors of torch.quint8" in seen.details["summary"]


def test_an_operator_without_a_fake_kernel_stands_at_its_line(tmp_path):
    seen = the_one(lowered(Sparse, (X,), tmp_path), "refused")
    assert line(seen) == "return y.to_dense()"
    assert "`aten::_to_dense` has no fake kernel" in seen.details["summary"]


def test_what_the_compiler_says_is_told(tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text(f'#!/bin/sh\nexec {shutil.which("g++")} -Dfloat=no_such_type "$@"\n')
    compiler.chmod(0o755)
    with torch._inductor.config.patch({"cpp.cxx": (str(compiler),)}):
        seen = the_one(lowered(Sum, (X,), tmp_path), "refused")
    assert "the C++ compiler refuses the generated code: " in seen.details["summary"]


def test_a_write_that_is_lost_stands_at_its_line(tmp_path):
    seen = the_one(lowered(ScalarState, (torch.ones(2),), tmp_path), "differs")
    assert (line(seen), seen.check) == ("self.count.add_(1)", "state")
    assert (seen.details["cause"], seen.details["buffers"]) == ("forgets", ["count"])
    assert "a buffer of several elements" in seen.details["suggestion"]


def test_a_guard_that_the_package_dropped_is_a_note(tmp_path):
    note = the_one(lowered(Scaled, (X, 2), tmp_path), "passed")
    found = {name: note.details[name] for name in ("note", "argument", "value", "other")}
    assert found == {"note": "dropped-guard", "argument": "factor", "value": "2", "other": "3"}
    assert "factor == 2" in note.text


class RowSums(nn.Module):
    def forward(self, x):
        totals = (x * 2).sum(1)
        return totals.abs().sqrt()


def test_results_that_differ_stand_at_the_first_operator(tmp_path):
    """Nothing is as exact as this asks for: kernels add up in their own order."""
    seen = the_one(lowered(RowSums, (torch.randn(64, 500),), tmp_path, tolerance=0.0), "differs")
    assert line(seen) == "totals = (x * 2).sum(1)"
    assert seen.details["first"]["operator"] == "aten.sum.dim_IntList"


def test_without_a_compiler_it_is_skipped(tmp_path):
    with torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}):
        result = lowered(Sum, (X,), tmp_path)
    assert result.status == "skipped"
    assert "no C++ compiler" in result.detail

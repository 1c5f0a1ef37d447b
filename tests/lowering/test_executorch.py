"""What ExecuTorch cannot do, or does otherwise, each at its line, with what helps."""

from pathlib import Path

import pytest
import torch
from proving import line, proved, the_one
from torch import nn

pytest.importorskip("executorch")

from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

from exportlint.lowering.executorch import ExecuTorch
from exportlint.lowering.executorch_xnnpack import ExecuTorchXnnpack
from exportlint.lowering.explaining.executorch_reasons import INSTEAD

pytestmark = pytest.mark.slow

X = torch.randn(3, 3)


@torch.library.custom_op("exportlint_tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


class NotCore(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.linalg.svd(y)[1]


class NoKernel(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.sort(y)[0]


class NoOutVariant(nn.Module):
    def forward(self, x):
        y = x + 1
        return doubled(y)


class Complex(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.fft.rfft(y).abs()


class Unsigned(nn.Module):
    """Two casts: the runtime names only its instruction."""

    def forward(self, x):
        y = x.to(torch.int32)
        return y.to(torch.uint16)


class SizeOfData(nn.Module):
    def forward(self, x):
        n = x.sum().int().item()
        torch._check(n >= 0)
        return torch.zeros(n) + 1


class BoundedSizeOfData(nn.Module):
    def forward(self, x):
        n = x.sum().int().item()
        torch._check(n >= 0)
        torch._check(n <= 64)
        return torch.zeros(n) + 1


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


class Counter(nn.Module):
    """One buffer starts at zero, which ExecuTorch keeps, the other does not."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(2))
        self.register_buffer("scale", torch.full((2,), 7.0))

    def forward(self, x):
        self.steps.add_(1)
        self.scale.mul_(2)
        return x * self.scale + self.steps


class WritesInput(nn.Module):
    def forward(self, x):
        y = x * 3
        x.add_(1)
        return x * y


class ReturnsWritten(nn.Module):
    def forward(self, x):
        y = x * 3
        written = x + 1
        return written * y, written


class Indices(nn.Module):
    """The runtime takes columns for rows: the strides in the file are torch's, those of its kernel are not."""

    def forward(self, x):
        y = x * 2
        found = torch.nonzero(y)
        return found, y.sum()


class Mode(nn.Module):
    def forward(self, x, mode="double"):
        return x * 2 if mode == "double" else x


class Scaled(nn.Module):
    def forward(self, x, factor):
        return x * factor


def lowered(build, args, tmp_path, **kwargs):
    return proved(ExecuTorch({}), build, args, tmp_path, **kwargs)


@pytest.mark.parametrize(
    ("build", "args", "step", "source", "says", "instead"),
    [
        (NotCore, (X,), "compile", "torch.linalg.svd(y)[1]", "is there for aten::_linalg_svd", "pass it in"),
        (NoOutVariant, (X,), "compile", "doubled(y)", "no out variant", "register its out variant"),
        (Complex, (X,), "compile", "torch.fft.rfft(y).abs()", "`aten.abs` is given complex64", "real and imaginary"),
        (SizeOfData, (torch.ones(5),), "compile", "x.sum().int().item()", "has no upper bound", "torch._check(size <="),
        (NoKernel, (X,), "load", "torch.sort(y)[0]", "the runtime has no kernel for aten::sort", "torch.topk"),
        (Unsigned, (torch.ones(2),), "run", "y.to(torch.uint16)", "InvalidArgument: Unhandled dtype UInt16", "float32"),
    ],
)
def test_a_refusal_stands_at_its_operator_with_what_to_write_instead(
    build, args, step, source, says, instead, tmp_path
):
    seen = the_one(lowered(build, args, tmp_path), "refused")
    assert source in line(seen)
    assert seen.details["summary"].startswith(f"{step}: ")
    assert says in seen.details["summary"]
    assert instead in seen.details["suggestion"]


def test_a_size_of_data_with_an_end_runs(tmp_path):
    assert lowered(BoundedSizeOfData, (torch.ones(5),), tmp_path).status == "passed"


@pytest.mark.parametrize(("most", "status"), [(None, "refused"), (16, "passed")])
def test_a_dynamic_dim_needs_an_end(most, status, tmp_path):
    dims = ({0: torch.export.Dim("batch", max=most)},)
    result = lowered(Doubled, (X,), tmp_path, dynamic_shapes=dims, other_sizes=((torch.randn(5, 3),), {}))
    assert result.status == status
    if most is None:
        (seen,) = result.observations
        assert "planned for 9 elements of the input `x`, and 15 were given" in seen.details["summary"]
        assert "max=" in seen.details["suggestion"]


def test_a_buffer_that_loses_its_start_stands_at_its_write(tmp_path):
    seen = the_one(lowered(Counter, (torch.ones(2),), tmp_path), "differs")
    assert line(seen) == "self.scale.mul_(2)"
    assert (seen.details["cause"], seen.details["buffers"]) == ("starts-at-zero", ["scale"])
    assert "InitializedMutableBufferPass" in seen.details["suggestion"]


def test_the_setting_keeps_the_start_of_a_buffer(tmp_path):
    setting = ExecuTorch({"initialized_buffers": ["scale"]})
    assert proved(setting, Counter, (torch.ones(2),), tmp_path).status == "passed"


def test_an_input_that_is_not_written_back_stands_at_the_write(tmp_path):
    seen = the_one(lowered(WritesInput, (torch.ones(2),), tmp_path), "differs")
    assert (line(seen), seen.check) == ("x.add_(1)", "input-effect")
    assert (seen.details["cause"], seen.details["input"]) == ("not-written-back", "x")
    (tmp_path / "instead").mkdir()
    assert lowered(ReturnsWritten, (torch.ones(2),), tmp_path / "instead").status == "passed"


def test_results_that_differ_stand_at_the_first_operator(tmp_path):
    seen = the_one(lowered(Indices, (X,), tmp_path), "differs")
    assert line(seen) == "found = torch.nonzero(y)"
    assert seen.details["first"]["operator"] == "aten.nonzero.default"


def test_text_cannot_be_given_and_numbers_keep_their_guard(tmp_path):
    seen = the_one(lowered(Mode, (X, "double"), tmp_path), "refused")
    assert "given a str" in seen.details["summary"]
    (tmp_path / "number").mkdir()
    result = lowered(Scaled, (X, 2), tmp_path / "number")
    assert (result.status, result.observations) == ("passed", ())


def test_xnnpack_explains_as_the_portable_runtime_does(tmp_path):
    seen = the_one(proved(ExecuTorchXnnpack({}), NoKernel, (X,), tmp_path), "refused")
    assert line(seen) == "return torch.sort(y)[0]"


P = torch.rand(4, 6) + 0.5
BOUNDARIES = torch.tensor([0.6, 0.9, 1.2])
NUMBERS = torch.tensor([0, 2, 2, 1])


def _topk_median(x):
    return torch.topk(x.flatten(), (x.numel() + 1) // 2, largest=False)[0][-1]


# For each operator: what cannot be lowered, and what is advised, of the same arguments.
PAIRS = {
    "aten::sort": (lambda x: torch.sort(x)[0], lambda x: torch.topk(x, x.shape[-1], largest=False)[0], (P,)),
    "aten::median": (torch.median, _topk_median, (P,)),
    "aten::kthvalue": (
        lambda x: torch.kthvalue(x, 2)[0],
        lambda x: torch.topk(x, 2, largest=False)[0][..., -1],
        (P,),
    ),
    "aten::bucketize": (torch.bucketize, lambda x, b: (x.unsqueeze(-1) > b).sum(-1), (P, BOUNDARIES)),
    "aten::searchsorted": (
        lambda x, b: torch.searchsorted(b, x),
        lambda x, b: (x.unsqueeze(-1) > b).sum(-1),
        (P, BOUNDARIES),
    ),
    "aten::var_mean": (lambda x: torch.var_mean(x, 0), lambda x: (x.var(0), x.mean(0)), (P,)),
    "aten::hypot": (torch.hypot, lambda x, y: (x * x + y * y).sqrt(), (P, P + 1)),
    "aten::bincount": (
        lambda x: torch.bincount(x, minlength=3),
        lambda x: (x.unsqueeze(-1) == torch.arange(3)).sum(0),
        (NUMBERS,),
    ),
    "aten::_embedding_bag_forward_only": (
        nn.functional.embedding_bag,
        lambda i, w: nn.functional.embedding(i, w).mean(1),
        (NUMBERS.reshape(2, 2), P),
    ),
    "aten::cumprod": (lambda x: x.cumprod(0), lambda x: x.log().cumsum(0).exp(), (P,)),
}
DRAWN_OUTSIDE = {"aten::multinomial", "aten::rand_like"}


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def executed(function, args):
    """What the runtime of this process gives."""
    lowered = to_edge_transform_and_lower(torch.export.export(Of(function), args)).to_executorch()
    return Runtime.get().load_program(lowered.buffer).load_method("forward").execute(list(args))


@pytest.mark.parametrize("operator", sorted(PAIRS))
def test_what_is_advised_for_an_operator_runs_and_agrees(operator):
    refused, advised, args = PAIRS[operator]
    expected = refused(*args)
    with pytest.raises(Exception, match=r"not in Core ATen opset|0x:14"):
        executed(refused, args)
    found = executed(advised, args)
    torch.testing.assert_close(found, list(expected) if isinstance(expected, tuple) else [expected])


def test_every_advice_was_tried():
    assert PAIRS.keys() | DRAWN_OUTSIDE == INSTEAD.keys()


def test_a_fourier_transform_is_a_product_with_two_matrices():
    k, i = torch.arange(4.0).unsqueeze(1), torch.arange(6.0)

    def advised(x):
        angle = 2 * torch.pi * i * k / 6
        real, imaginary = x @ torch.cos(angle).T, x @ -torch.sin(angle).T
        return (real * real + imaginary * imaginary).sqrt()

    torch.testing.assert_close(executed(advised, (P,))[0], torch.fft.rfft(P).abs(), rtol=1e-4, atol=1e-5)


def test_the_folder_of_a_proof_keeps_the_artefact(tmp_path):
    result = lowered(Doubled, (X,), tmp_path)
    assert result.data["bytes"] == Path(result.data["artefact"]).stat().st_size

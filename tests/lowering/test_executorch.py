"""What ExecuTorch cannot do, or does otherwise, each at its line, with what helps."""

from pathlib import Path

import pytest
import torch
from proving import line, proved, the_one
from torch import nn

pytest.importorskip("executorch")

from exportlint.lowering.executorch import ExecuTorch
from exportlint.lowering.executorch_xnnpack import ExecuTorchXnnpack

pytestmark = pytest.mark.slow

X = torch.randn(3, 3)


@torch.library.custom_op("exportlint_tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("exportlint_tests::one_more", mutates_args=("x",))
def raised(x: torch.Tensor) -> None:
    x.add_(1)


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


class Writing(nn.Module):
    """What torch makes of it has no schema, and ExecuTorch asks for that."""

    def forward(self, x):
        y = x + 1
        raised(y)
        return y * 2


class Trained(nn.Module):
    """The buffer needs gradients where it is read, since the weights do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("kept", torch.zeros(3, 3))

    def forward(self, x):
        self.kept.copy_(x)
        self.kept.add_(self.linear(x))
        return self.kept * 2


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
        (Writing, (X,), "compile", "raised(y)", "not taken: exportlint_tests::one_more", "with operators of torch"),
        (Trained, (X,), "compile", "self.kept.copy_(x)", "needs gradients", "requires_grad_(False)"),
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


def test_the_folder_of_a_proof_keeps_the_artefact(tmp_path):
    result = lowered(Doubled, (X,), tmp_path)
    assert result.data["bytes"] == Path(result.data["artefact"]).stat().st_size

"""What ExecuTorch, XNNPACK and AOTInductor say of a program's operators before anything is compiled."""

import json

import pytest
import small_models
import torch
from inline_snapshot import snapshot
from live_models import made
from processes import exportlint
from torch import nn

from exportlint.trial.child.lowering.dry_run import operator_support

pytest.importorskip("executorch")

pytestmark = pytest.mark.slow

X = torch.randn(3, 4)
BOTH = ("executorch", "executorch-xnnpack")


@torch.library.custom_op("exportlint_tests::quadrupled", mutates_args=())
def quadrupled(x: torch.Tensor) -> torch.Tensor:
    return x * 4


@quadrupled.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("exportlint_tests::raised", mutates_args=("x",))
def raised(x: torch.Tensor) -> None:
    x.add_(1)


class Lacking(nn.Module):
    """No kernel, no decomposition, no out variant, and a schema that ExecuTorch cannot read."""

    def forward(self, x):
        y = torch.sort(x)[0] + torch.lgamma(x)
        z = quadrupled(y)
        raised(z)
        return z * 2


class Mean(nn.Module):
    """XNNPACK takes the linear layer; its mean is of four dimensions only, and of cumsum it knows nothing."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).mean(-1).cumsum(0)


class Mixed(nn.Module):
    """A kernel of inductor's own, ATen's, ATen's for a dtype, and two that only Python has."""

    def forward(self, x):
        y = torch.linalg.svd(x * 2)[1].sum() + torch.fft.rfft(x).abs()
        z = quadrupled(y)
        raised(z)
        return z.exp()


def said(name, model, args):
    program = torch.export.export(model.eval(), args)
    return {row.name: row for row in operator_support(made(name)[1], program).rows}


@pytest.mark.parametrize("name", BOTH)
def test_executorch_says_why_an_operator_is_missing(name):
    rows = said(name, Lacking(), (X,))
    missing = {row.name: row.reason for row in rows.values() if row.support == "missing"}
    assert missing == {
        "aten.sort.default": snapshot("the runtime has no kernel for aten::sort.values"),
        "aten.lgamma.default": snapshot("neither a kernel nor a decomposition into operators of Core ATen is there"),
        "exportlint_tests.quadrupled.default": snapshot(
            "no out variant, which writes to memory that was planned, is registered"
        ),
        "exportlint_tests.raised.default": snapshot(
            "it writes to its arguments, and what torch makes of such an operator has no out variant"
        ),
    }


class Powers(nn.Module):
    def forward(self, x):
        return x.pow(2.5) + 2.0**x + x**x


def test_an_operator_that_runs_is_not_said_to_be_missing(tmp_path):
    """torch has several powers of the same arguments, of which one is of Python's numbers."""
    rows = said("executorch", Powers(), (X,))
    assert {row.support for row in rows.values()} == {"supported"}
    assert {"aten.pow.Tensor_Scalar", "aten.pow.Scalar", "aten.pow.Tensor_Tensor"} <= rows.keys()
    assert made("executorch")[1].compile(torch.export.export(Powers(), (X,)), tmp_path).is_file()


def test_xnnpack_says_what_it_takes_and_why_it_leaves_the_rest():
    rows = said("executorch-xnnpack", Mean(), (X,))
    assert {name: (row.support, row.reason) for name, row in rows.items()} == {
        "aten.linear.default": ("delegated", ""),
        "aten.mean.dim": ("supported", snapshot("mean.dim only supports averaging 4D tensors, got tensor of rank 2")),
        "aten.cumsum.default": ("supported", snapshot("the partitioner has no configuration for it")),
    }
    assert {row.support for row in said("executorch", Mean(), (X,)).values()} == {"supported"}


def test_inductor_says_who_computes_an_operator():
    rows = said("aotinductor", Mixed(), (X,))
    assert rows["aten.exp.default"].support == "supported"
    assert (rows["aten._linalg_svd.default"].support, rows["aten.abs.default"].support) == ("fallback", "fallback")
    assert "dtypes" in rows["aten.abs.default"].reason
    assert "dtypes" not in rows["aten._linalg_svd.default"].reason
    missing = {row.name: row.reason for row in rows.values() if row.support == "missing"}
    assert missing.keys() == {"exportlint_tests.quadrupled.default", "exportlint_tests.raised.default"}
    assert set(missing.values()) == {"it is defined in Python, and a package runs without Python"}


@pytest.mark.parametrize("name", BOTH)
def test_a_dry_run_leaves_sizes_of_data_as_they_were(name, tmp_path):
    program = torch.export.export(small_models.Picks(), (torch.randn(6),))
    lowering = made(name)[1]
    assert {row.support for row in operator_support(lowering, program).rows} == {"supported"}
    assert lowering.compile(program, tmp_path).is_file()


NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.sort(y)[0] * 2


model = Net().eval()
example_args = (torch.randn(3, 3),)
"""


def test_a_dry_run_of_executorch_names_the_missing_operator_at_its_line(tmp_path):
    (tmp_path / "net.py").write_text(NET, "utf-8")
    options = ("--quick", "--lower", "executorch", "--dry-run", "--output-format", "json")
    done = exportlint(tmp_path, "trial", "net.py", *options)
    (target,) = json.loads(done.stdout)["targets"]
    (stage,) = [stage for stage in target["stages"] if stage["name"] == "lower-executorch"]
    counted = f"of {stage['operators']['total']} operators supported"
    assert stage["status"] == "skipped"
    assert counted in stage["detail"]
    assert stage["detail"].endswith("% " + counted + ", 1 missing: aten.sort.default at net.py:8")

"""What is advised where targets with converters refuse: refused with these words, and what follows them passes."""

import math

import pytest
import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch.export import Dim

from exportlint.lowering.converters import (
    KNOWN_SIZES,
    NO_LOOP,
    NO_NOISE,
    OTHER_DTYPE,
    REAL_NUMBERS,
    SAME_DTYPES,
    SMALLER_STEPS,
    TENSOR_ARGUMENTS,
    TENSORS_ONLY,
)

pytestmark = pytest.mark.slow

ORT, OV, TVM = "onnxruntime", "openvino", "tvm"
X, Y, P = torch.randn(3, 4), torch.randn(3, 4), torch.rand(3, 4) + 0.5
COLUMNS = torch.tensor([[0, 1], [1, 2], [2, 3]])
AT = torch.tensor([1, 1, 2])


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Matrices(nn.Module):
    """The absolute values of rfft over 4 numbers."""

    def __init__(self):
        super().__init__()
        angle = 2 * math.pi * torch.arange(4.0).unsqueeze(1) * torch.arange(3.0) / 4
        self.register_buffer("cosines", torch.cos(angle))
        self.register_buffer("sines", torch.sin(angle))

    def forward(self, x):
        return ((x @ self.cosines) ** 2 + (x @ self.sines) ** 2).sqrt()


def _until_three(x):
    def more(i, _):
        return i < 3

    def step(i, y):
        return i + 1, y + 1

    return torch._higher_order_ops.while_loop(more, step, (torch.tensor(0), x))[1]


def _scanned(x):
    return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x, dim=0)[1]


def _scanned_in_python(x):
    carry, rows = torch.zeros(4), []
    for row in x:
        rows.append(carry * row)
        carry = carry + row
    return torch.stack(rows)


def _twice(x):
    y = x + 1
    return y, x * 2, y


def _mapped(x):
    return torch._higher_order_ops.map(lambda row: row.sin() + 1, x)


def _added(x, at):
    return torch.zeros(4, 4).index_add(0, at, x)


def _added_by_product(x, at):
    return nn.functional.one_hot(at, 4).to(x.dtype).T @ x


LINEAR = nn.Linear(4, 4)
# The targets, what they say, what is refused with its inputs, what follows the advice with its inputs.
ADVISED = {
    "transform": ((OV, TVM), "cosines and sines", Call(lambda x: torch.fft.rfft(x).abs()), (X,), Matrices(), (X,)),
    "picked": (
        (TVM,),
        KNOWN_SIZES,
        Call(lambda x: x[x > 0].sum()),
        (X,),
        Call(lambda x: torch.where(x > 0, x, 0.0).sum()),
        (X,),
    ),
    "counted": (
        (TVM,),
        KNOWN_SIZES,
        Call(lambda x: torch.nonzero(x).shape[0] * x),
        (X,),
        Call(lambda x: (x != 0).sum() * x),
        (X,),
    ),
    "prod": ((TVM,), "is prod", Call(lambda x: x.prod(0)), (P,), Call(lambda x: torch.exp(torch.log(x).sum(0))), (P,)),
    "cumprod": (
        (ORT, OV),
        "is cumprod",
        Call(lambda x: x.cumprod(0)),
        (P,),
        Call(lambda x: torch.exp(torch.log(x).cumsum(0))),
        (P,),
    ),
    "complex": (
        (ORT, TVM),
        REAL_NUMBERS,
        Call(lambda z: torch.view_as_real(z * z)),
        (torch.complex(X, Y),),
        Call(lambda x, y: torch.stack((x * x - y * y, 2 * x * y), -1)),
        (X, Y),
    ),
    "while": ((TVM,), NO_LOOP, Call(_until_three), (X,), Call(lambda x: x + 1 + 1 + 1), (X,)),
    "scan": ((OV, TVM), NO_LOOP, Call(_scanned), (X,), Call(_scanned_in_python), (X,)),
    "map": (
        (ORT, OV, TVM),
        NO_LOOP,
        Call(_mapped),
        (X,),
        Call(lambda x: torch.stack([row.sin() + 1 for row in x])),
        (X,),
    ),
    "simpler": ((OV,), SMALLER_STEPS, Call(_added), (X, AT), Call(_added_by_product), (X, AT)),
    "outside": (
        (ORT, OV, TVM),
        SMALLER_STEPS,
        Call(lambda x: x * torch.linalg.svd(x)[1].sum()),
        (X,),
        Call(lambda x, s: x * s.sum()),
        (X, torch.linalg.svd(X)[1]),
    ),
    "takes": ((OV, TVM), TENSOR_ARGUMENTS, Call(lambda x, n: x * n), (X, 3), Call(lambda x: x * 3), (X,)),
    "float64": ((TVM,), OTHER_DTYPE, nn.Linear(4, 4).double(), (X.double(),), LINEAR, (X,)),
    "bfloat16": ((ORT, TVM), OTHER_DTYPE, nn.Linear(4, 4).bfloat16(), (X.bfloat16(),), LINEAR, (X,)),
    "number": ((ORT, OV, TVM), TENSORS_ONLY, Call(lambda x: (x + 1, 3)), (X,), Call(lambda x: x + 1), (X,)),
    "twice": (
        (OV,),
        "return it once",
        Call(_twice),
        (X,),
        Call(lambda x: (x + 1, x * 2)),
        (X,),
    ),
    "noise": (
        (OV, TVM),
        NO_NOISE,
        Call(lambda x: x.gather(1, torch.multinomial(x, 2))),
        (P,),
        Call(lambda x, columns: x.gather(1, columns)),
        (P, COLUMNS),
    ),
}
NOT_THE_SAME = ("float64", "bfloat16", "number", "twice", "noise")
CASES = [(case, target) for case, row in ADVISED.items() for target in row[0]]


@pytest.mark.parametrize(("case", "target"), CASES)
def test_what_follows_the_advice_passes(lowered, case, target):
    _, words, refused, args, advised, instead = ADVISED[case]
    proved = lowered(target, refused, args)
    assert proved.status == "refused"
    assert words in proved.observations[0].details["suggestion"]
    assert lowered(target, advised, instead).status == "passed"
    if case not in NOT_THE_SAME:
        torch.testing.assert_close(advised(*instead), refused(*args), rtol=1e-4, atol=1e-5)


def test_a_size_as_a_factor_takes_the_dtype_of_the_tensor(lowered):
    shapes = ((({0: Dim("batch", min=2, max=8)}),),)
    refused = lowered(TVM, Call(lambda x: x * x.shape[0]), (X,), None, shapes)
    assert refused.observations[0].details["suggestion"] == SAME_DTYPES
    advised = Call(lambda x: x * torch.full_like(x, x.shape[0]))
    assert lowered(TVM, advised, (X,), None, shapes).status == "passed"

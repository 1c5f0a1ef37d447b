"""What is advised where ExecuTorch refuses: each is refused with the advice, and what follows it runs and agrees."""

import pytest
import torch
from inline_snapshot import snapshot
from torch import nn

pytest.importorskip("executorch")

from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

from exportlint.lowering.executorch_reasons import INSTEAD

pytestmark = pytest.mark.slow

P = torch.rand(4, 6) + 0.5
BOUNDARIES = torch.tensor([0.6, 0.9, 1.2])
NUMBERS = torch.tensor([0, 2, 2, 1])
S = torch.rand(3, 3)


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


def _drawn(draw):
    """As the model draws it."""
    torch.manual_seed(3)
    return draw()


INDICES = _drawn(lambda: torch.multinomial(P, 2))
NOISE = _drawn(lambda: torch.rand_like(P))
DRAWN_OUTSIDE = {
    "aten::multinomial": (lambda x: x.gather(1, torch.multinomial(x, 2)), lambda x, i: x.gather(1, i), INDICES),
    "aten::rand_like": (lambda x: x + torch.rand_like(x), lambda x, noise: x + noise, NOISE),
}


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
    assert PAIRS.keys() | DRAWN_OUTSIDE.keys() == INSTEAD.keys()


@pytest.mark.parametrize("operator", sorted(DRAWN_OUTSIDE))
def test_what_is_drawn_outside_gives_what_the_model_drew(operator):
    refused, advised, drawn = DRAWN_OUTSIDE[operator]
    with pytest.raises(Exception, match="not in Core ATen opset"):
        executed(refused, (P,))
    torch.testing.assert_close(executed(advised, (P, drawn)), [_drawn(lambda: refused(P))])


def test_a_fourier_transform_is_a_product_with_two_matrices():
    k, i = torch.arange(4.0).unsqueeze(1), torch.arange(6.0)

    def advised(x):
        angle = 2 * torch.pi * i * k / 6
        real, imaginary = x @ torch.cos(angle).T, x @ -torch.sin(angle).T
        return (real * real + imaginary * imaginary).sqrt()

    torch.testing.assert_close(executed(advised, (P,))[0], torch.fft.rfft(P).abs(), rtol=1e-4, atol=1e-5)


@torch.library.custom_op("exportlint_tests::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@torch.library.custom_op("exportlint_tests::planned", mutates_args=())
def planned(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@torch.library.custom_op("exportlint_tests::lowered", mutates_args=("x",))
def minus_one(x: torch.Tensor) -> None:
    x.sub_(1)


for _operator in (halved, planned):
    _operator.register_fake(torch.empty_like)
LIBRARY = torch.library.Library("exportlint_tests", "FRAGMENT")
LIBRARY.define("planned.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")


class Subtracts(nn.Module):
    def forward(self, x):
        y = x + 1
        minus_one(y)
        return y * 2


class SubtractsInPlace(nn.Module):
    def forward(self, x):
        y = x + 1
        y.sub_(1)
        return y * 2


class Mode(nn.Module):
    def forward(self, x, mode):
        return x * 2 if mode == "double" else x


class FixedMode(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        return x * 2 if self.mode == "double" else x


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.register_buffer("kept", torch.zeros(4, 6))

    def forward(self, x):
        self.kept.copy_(self.linear(x))
        return self.kept * 2


def _squared(real, imaginary):
    """`z * z`"""
    return real * real - imaginary * imaginary, 2 * real * imaginary


def _largest(x):
    """`top` is a number that is read from data."""
    top = x.to(torch.int64).max().item()
    return x * torch.sym_max(top, 1)


def _halved_to_one(x):
    return torch.while_loop(lambda x: x.sum() > 1, lambda x: (x / 2,), (x,))[0]


def _halved_eight_times_at_most(x):
    for _ in range(8):
        x = torch.where(x.sum() > 1, x / 2, x)
    return x


def _first_columns(x, n):
    return x[:, : n.item()].sum()


def _masked_columns(x, n):
    return (x * (torch.arange(6) < n)).sum()


def _either(x, predicate):
    return torch.cond(predicate, lambda x: x + 1, lambda x: x - 1, (x,))


# What is said, the model that is refused, what follows the advice, and the inputs of both.
ADVISED = {
    "pass it in, or": (
        Of(lambda x: x @ torch.linalg.svd(x)[1]),
        Of(lambda x, s: x @ s),
        (S,),
        (S, torch.linalg.svd(S)[1]),
    ),
    "or write it with operators of torch": (Of(halved), Of(lambda x: x / 2), (P,), (P,)),
    "which may be in-place ones": (Subtracts(), SubtractsInPlace(), (P,), (P,)),
    "change the dtype outside": (
        Of(lambda x: x.to(torch.int32).to(torch.uint16)),
        Of(lambda x: x.to(torch.int32)),
        (NUMBERS.float(),),
        (NUMBERS.float(),),
    ),
    "as two real tensors": (Of(lambda z: z * z), Of(_squared), (torch.complex(P, -P),), (P, -P)),
    "decide it when the model is built": (Mode(), FixedMode("double"), (P, "double"), (P,)),
    "run as many steps as can come": (Of(_halved_to_one), Of(_halved_eight_times_at_most), (P,), (P,)),
    "keep the size fixed": (
        Of(_first_columns),
        Of(_masked_columns),
        (P, torch.tensor(2)),
        (P, torch.tensor(2)),
    ),
    "give torch.cond a bool": (
        Of(lambda x: _either(x, x.sum())),
        Of(lambda x: _either(x, x.sum() != 0)),
        (P,),
        (P,),
    ),
    "keep it a tensor": (
        Of(_largest),
        Of(lambda x: x * x.to(torch.int64).max().clamp(min=1)),
        (NUMBERS.float(),),
        (NUMBERS.float(),),
    ),
    "export without gradients": (Cache(), Cache().requires_grad_(False), (P,), (P,)),
}


@pytest.mark.parametrize("words", sorted(ADVISED))
def test_what_follows_the_advice_passes(lowered, words):
    refused, advised, args, instead = ADVISED[words]
    proved = lowered("executorch", refused, args)
    assert proved.status == "refused"
    assert words in proved.observations[0].details["suggestion"]
    assert lowered("executorch", advised, instead).status == "passed"
    if not isinstance(refused, Cache):
        torch.testing.assert_close(_real(advised(*instead)), _real(refused(*args)))


def _real(value):
    """Integers as one dtype, and a complex tensor as two real ones."""
    if isinstance(value, tuple):
        return value
    return (value.real, value.imag) if value.is_complex() else value.to(torch.float32)


def test_with_an_out_variant_the_kernel_is_what_is_missing(lowered):
    assert "no out variant" in lowered("executorch", Of(halved), (P,)).detail
    assert lowered("executorch", Of(planned), (P,)).detail == (
        snapshot("load: the runtime has no kernel for exportlint_tests::planned")
    )

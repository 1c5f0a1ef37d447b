"""What is written between bounds that data says is written with a mask, and is one graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.rewrite.proposed import proposed

NET = """
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor):
        y = x.clone()
        {body}
        return y
"""
ROWS = "for i in range(x.shape[0]):\n            {write}"
TOLD = "for i, n in enumerate(lengths):\n            {write}"


def made(body: str, write: str) -> list[str]:
    """What is proposed, the body of `forward` of each."""
    source = NET.format(body=body.format(write=write))
    return [*proposed(source, write, "loop-in-data"), *proposed(source, write, "numbers-stay-tensors")]


def result(text: str, *inputs: Any) -> Any:
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102 - what the test wrote, and what was made of it
    return space["Net"]()(*inputs)


@pytest.mark.parametrize(
    ("body", "write"),
    [
        (ROWS, "y[i, lengths[i].item():] = 0"),
        (ROWS, "y[i, : lengths[i]] = -1.5"),
        (ROWS, "y[i, 1 : int(lengths[i])] = float('-inf')"),
        (ROWS, "y[i, : int(lengths[i]) // 2 + 1] = 0"),
        (ROWS, "y[i, lengths[i] :, :] = 0"),
        (ROWS, "y[:, i, lengths[i] :] = 0"),
        (ROWS, "y[i, lengths[i] - 1 :] = 0"),  # for 0 the last one
        (ROWS, "y[i, i : lengths[i]] = 0"),
        (ROWS, "y[i, -lengths[i] :] = 0"),  # for 0 all
        (ROWS, "y[i, 1 : lengths[i] - 3] = 0"),
        (TOLD, "y[i, n:] = 0"),
        (TOLD, "y[i, : int(n)] = i"),
        (ROWS, "y[i][lengths[i] :] = 0"),
        ("z = y[None]\n        " + ROWS, "z[0][i, lengths[i] :] = 0"),
        (ROWS, "y[i, lengths[i] :].fill_(2)"),
        (ROWS, "y[i, :, lengths[i] :].zero_()"),
        (ROWS, "y[i].narrow(0, 0, int(lengths[i])).zero_()"),
        (ROWS, "if lengths[i] < y.shape[1]:\n                y[i, lengths[i] :] = 0"),
        (
            TOLD,
            "n = n.item()\n            if y[i].size(0) - n > 0:\n                y[i].narrow(0, n, y[i].size(0) - n).fill_(1)",
        ),
        (TOLD, "n = int(n)\n            y[i].narrow(1, n, y[i].size(1) - n).fill_(1)"),
        ("{write}", "y[:, lengths.min().item() :] = 0"),
        ("{write}", "y[:, lengths.min().item() - 2 : -1] = 0"),
        ("{write}", "y[lengths.min() :] = 0"),
        ("{write}", "y[0, :, : lengths.max()] = 0"),
    ],
)
@pytest.mark.parametrize("shape", [(3, 5, 4), (3, 4, 5, 2)])
def test_the_same_places_are_written(body: str, write: str, shape: tuple[int, ...]) -> None:
    x, lengths = torch.randn(shape), torch.tensor([4, 0, 2])
    before = NET.format(body=body.format(write=write))
    texts = made(body, write)
    masked = [text for text in texts if "masked_fill_" in text]
    assert masked
    for text in masked:
        assert torch.equal(result(text, x, lengths), result(before, x, lengths))


@pytest.mark.parametrize("write", ["y[i, lengths[i].item():] = 0", "y[i, : int(lengths[i])] = 1"])
def test_one_mask_serves_all_rows_in_one_graph(write: str) -> None:
    text = made(ROWS, write)[0]
    assert "for i in" not in text
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102 - what was made of the test's own
    inputs = (torch.randn(3, 5, 4), torch.tensor([4, 0, 2]))
    compiled = torch.compile(space["Net"](), backend="eager", fullgraph=True)
    assert torch.equal(compiled(*inputs), result(text, *inputs))
    program = torch.export.export(space["Net"](), inputs, strict=False).module()
    other = (inputs[0], torch.tensor([1, 5, 3]))
    assert torch.equal(program(*other), result(text, *other))


@pytest.mark.parametrize(
    "write",
    [
        "y[i, lengths[i] :] = x[i, lengths[i] :]",  # as many entries as data says
        "y[lengths[i], : lengths[i]] = 0",  # of rows that a tensor chooses it would write a copy
        "y[i, :: lengths[i]] = 0",
        "y[self.rows, : lengths[i]] = 0",  # nobody knows whether it is a number
        "if y.shape[1] > lengths[i]:\n                y[i, : lengths[i]] = 0",  # a test of something else
    ],
)
def test_what_no_mask_says_is_left(write: str) -> None:
    assert not any("masked_fill_" in text for text in made(ROWS, write))


def test_a_step_that_may_do_something_else_stays() -> None:
    texts = made(ROWS, "k = self.counted()\n            y[i, : lengths[i]] = 0")
    assert texts
    assert all("k = self.counted()" in text for text in texts)

"""Rows that stay padded give what packed and nested ones give."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{layer}(4, 3, {layers}, bidirectional={both}, batch_first={first})

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first={first}, enforce_sorted=False)
        {body}
"""
_ALL = "out, state = self.rnn(packed)\n        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first={first})\n"
_LAST = "_, {state} = self.rnn(packed)\n        return h[-1]"


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_steps_give_what_packing_gives(layer: str, both: bool, first: bool) -> None:
    body = _ALL.format(first=first) + "        return out, state"
    source = _NET.format(layer=layer, layers=2, both=both, first=first, body=body)
    after = next(one for one in proposed(source, "nn.utils.rnn.pack_padded", "padded-rows") if "run_padded" in one)
    assert "run_padded(self.rnn, x, lengths" in after
    _assert_same(source, after, first=first)


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("body", [_LAST, _ALL + "        return out"])
def test_a_mask_does_for_one_direction(layer: str, first: bool, body: str) -> None:
    state = "(h, _)" if layer == "LSTM" else "h"
    body = body.format(first=first, state=state)
    source = _NET.format(layer=layer, layers=2, both=False, first=first, body=body)
    after = proposed(source, "nn.utils.rnn.pack_padded", "padded-rows")[0]
    assert "run_padded" not in after
    _assert_same(source, after, first=first)


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_the_output_ends_with_the_longest_row(layer: str, both: bool, first: bool) -> None:
    """As padding it does, that is not told how long rows are; where it is told, nothing is cut."""
    body = _ALL.format(first=first) + "        return out"
    source = _NET.format(layer=layer, layers=1, both=both, first=first, body=body)
    cut = [one for one in proposed(source, "nn.utils.rnn.pack_padded", "padded-rows") if ".max().item()" in one]
    assert len(cut) == (2 if both else 4)  # with what packing checks, and without
    x, lengths = torch.randn(3, 6, 4), torch.tensor([2, 4, 1])
    for after in cut:
        old, new = _built(source), _built(after)
        args = (x if first else x.transpose(0, 1).contiguous(), lengths)
        program = torch.export.export(new, (args[0], torch.tensor([6, 2, 3])))
        for one in (new, program.module()):
            assert torch.allclose(old(*args), one(*args), atol=1e-6)
    told = source.replace("(out, batch_first", "(out, total_length=6, batch_first")
    assert not [one for one in proposed(told, "nn.utils.rnn.pack_padded", "padded-rows") if ".max()" in one]


@pytest.mark.parametrize("rows", ["x", "self.rnn.weight_ih_l0.mean() + x"])
@pytest.mark.parametrize("both", [True, False])
def test_lengths_may_be_a_list_and_are_checked_as_packing_does(both: bool, rows: str) -> None:
    """A list of numbers; and what packing raises of lengths that are not sorted, or are longer than the rows."""
    body = _ALL.format(first=True) + "        return out, state"
    source = _NET.format(layer="GRU", layers=1, both=both, first=True, body=body).replace(", enforce_sorted=False", "")
    source = source.replace("lengths.cpu()", "lengths").replace("(x, lengths", f"({rows}, lengths")
    x, checked = torch.randn(3, 6, 4), 0
    for after in proposed(source, "nn.utils.rnn.pack_padded", "padded-rows"):
        if ".item()" in after or "[:, :" not in after:
            continue
        old, new = _built(source), _built(after)
        for one, other in zip(_flat(old(x, [5, 3, 2])), _flat(new(x, [5, 3, 2])), strict=True):
            torch.testing.assert_close(one, other)
        if "_assert_async" in after:
            checked += 1
            for wrong in ([2, 5, 3], [7, 3, 2], [5, 3, 0]):
                for model in (old, new):
                    with pytest.raises(RuntimeError):
                        model(x, wrong)
    assert checked == (1 if both else 2)  # of one direction a mask does, too


_ONE_NAME = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.both = both
        self.rnn = kind(input_size=4, hidden_size=3, bidirectional=both)

    def forward(self, x, lengths, h=None):
        x = x * 2
        x = nn.utils.rnn.pack_padded_sequence(x, lengths)
        x, h = self.rnn(x, h)
        x, n = nn.utils.rnn.pad_packed_sequence(x)
        if self.both:
            x = x.view(x.size(0), x.size(1), 2, -1).sum(2)
        return x, h, n
"""


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
@pytest.mark.parametrize("both", [True, False])
def test_one_name_may_hold_the_rows_packed_and_padded(kind: type, both: bool) -> None:
    x, lengths = torch.randn(5, 3, 4), torch.tensor([5, 3, 1])
    afters = proposed(_ONE_NAME, "nn.utils.rnn.pack_padded", "padded-rows")
    assert afters
    for after in afters:
        old, new = _built(_ONE_NAME, kind, both), _built(after, kind, both)
        for one, other in zip(_flat(old(x, lengths)), _flat(new(x, lengths)), strict=True):
            torch.testing.assert_close(one, other)


_IF_PACKED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, packs):
        super().__init__()
        self.packs = packs
        self.rnn = nn.LSTM(4, 3, bidirectional=True, batch_first=True)

    def forward(self, x, lengths):
        if self.packs:
            x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        out, state = self.rnn(x)
        if self.packs:
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return out, state
"""


@pytest.mark.parametrize("packs", [True, False])
def test_what_is_packed_under_a_test_is_stepped_over_under_it(packs: bool) -> None:
    source = _IF_PACKED
    x = torch.randn(3, 5, 4)
    afters = [one for one in proposed(source, "nn.utils.rnn.pack_padded", "padded-rows") if "max(lengths)" in one]
    assert afters
    for after in afters:
        old, new = _built(source, packs), _built(after, packs)
        for one, other in zip(_flat(old(x, [4, 3, 2])), _flat(new(x, [4, 3, 2])), strict=True):
            torch.testing.assert_close(one, other)
    # Packed under one test and padded under another: nobody knows what stands in between.
    other_test = source.replace("if self.packs:\n            out", "if self.training:\n            out")
    assert proposed(other_test, "nn.utils.rnn.pack_padded", "padded-rows") == []


def test_of_two_directions_a_mask_does_not() -> None:
    body = _LAST.format(state="h")
    source = _NET.format(layer="GRU", layers=1, both=True, first=True, body=body)
    assert all("run_padded" in text for text in proposed(source, "nn.utils.rnn.pack_padded", "padded-rows"))


@pytest.mark.parametrize(
    "body",
    [
        "return torch.nested.to_padded_tensor(torch.nested.nested_tensor([x[0], x[1, :2]]) * 2 + 1, -1.0)",
        "return torch.nested.nested_tensor([x[0], x[1, :2]]).to_padded_tensor(-1.0)",
    ],
)
def test_nested_rows_are_padded(body: str) -> None:
    source = _NET.format(layer="GRU", layers=1, both=False, first=True, body=body)
    after = proposed(source, "torch.nested.nested_tensor", "padded-rows")[-1]
    assert "nested" not in after
    _assert_same(source, after, first=True)


def _assert_same(source: str, after: str, *, first: bool) -> None:
    x, lengths = torch.randn((3, 5, 4) if first else (5, 3, 4)), torch.tensor([2, 5, 3])
    for one, other in zip(_leaves(source, x, lengths), _leaves(after, x, lengths), strict=True):
        torch.testing.assert_close(one, other)


def _leaves(source: str, *inputs: Any) -> list[Any]:
    return _flat(_built(source)(*inputs))


def _flat(output: Any) -> list[Any]:
    found: list[Any] = torch.utils._pytree.tree_leaves(output)
    return found


def _built(source: str, *given: Any) -> Any:
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - the text stands above
    return names["Net"](*given)


def test_what_a_mask_leaves_out_need_not_be_cut_off() -> None:
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x, lengths):
        longest = int(lengths.max())
        x = x[:, :longest]
        mask = torch.arange(longest) < lengths[:, None]
        return torch.where(mask, x, 0).sum(1)
"""
    whole, filled = proposed(text, "longest = ", "padded-rows")
    assert "longest = x.shape[1]" in whole
    assert "torch.where(torch.arange(longest, device=x.device) < lengths.max(), x, 0)" in filled
    x, lengths = torch.randn(3, 7), torch.tensor([2, 5, 4])
    results = []
    for one in (text, whole, filled):
        names: dict[str, Any] = {}
        exec(one, names)  # noqa: S102 - made above
        results.append(names["Net"]()(x, lengths))
    assert torch.allclose(results[0], results[1])
    assert torch.allclose(results[0], results[2])
    # What nothing masks counts: it is cut off.
    plain = text.replace("mask = torch.arange(longest) < lengths[:, None]", "mask = x > 0")
    assert proposed(plain, "longest = ", "padded-rows") == []


@pytest.mark.parametrize("listed", ["list(lengths)", "lengths.tolist()", "[int(one) for one in lengths]"])
def test_lengths_in_a_list_that_data_says_stay_in_the_graph(listed: str) -> None:
    """A helper is given them, and does not know what they are. Dynamo leaves the graph for `as_tensor` of such."""
    text = f"""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 3, batch_first=True)

    def encode(self, x, lens):
        packed = nn.utils.rnn.pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        out, state = self.rnn(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        return out

    def forward(self, x, lengths):
        return self.encode(x, {listed})
"""
    after = proposed(text, "nn.utils.rnn.pack_padded", "padded-rows")[0]
    models = []
    for source in (text, after):
        space: dict[str, Any] = {}
        exec(source, space)  # noqa: S102 - what the test wrote, and what was made of it
        torch.manual_seed(0)
        models.append(space["Net"]())
    x, lengths = torch.randn(3, 5, 4), torch.tensor([2, 5, 3])
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True, capture_scalar_outputs=True):
        told = torch._dynamo.explain(models[1])(x, lengths)
    assert told.graph_break_count == 0, told.break_reasons
    torch.testing.assert_close(models[1](x, lengths), models[0](x, lengths))

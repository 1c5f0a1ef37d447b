"""What recurrent layers leave behind, and the last few values, are kept in buffers of the sample's size."""

import pytest
import torch
from rewritten_text import HEAD, rewritten

NET = """\
class Net(nn.Module):
    def __init__(self, hidden=5):
        super().__init__()
        self.layer = {layer}
        self.state = None

    def forward(self, x):
        y, self.state = self.layer(x, self.state)
        return y

    @staticmethod
    def inputs():
        return (torch.randn(2, 3, 4),)
"""
SETTER = """\
    @property
    def state(self):
        return self.state_h.clone(), self.state_c.clone()

    @state.setter
    def state(self, new):
        self.state_h.copy_(new[0])
        self.state_c.copy_(new[1])
"""


def test_one_tensor_is_a_buffer():
    text = rewritten(HEAD + NET.format(layer="nn.GRU(4, hidden, batch_first=True)"))
    assert '        self.register_buffer("state", torch.zeros(1, 2, hidden), persistent=False)\n' in text
    assert "        y, new_state = self.layer(x, self.state)\n        self.state.copy_(new_state)\n" in text


def test_a_pair_is_two_buffers_behind_a_property():
    text = rewritten(HEAD + NET.format(layer="nn.LSTM(4, hidden)"))
    for part in "hc":
        assert f'self.register_buffer("state_{part}", torch.zeros(1, 3, hidden), persistent=False)' in text
    assert SETTER in text
    assert "        y, self.state = self.layer(x, self.state)\n" in text


@pytest.mark.parametrize(
    "layer",
    ["nn.LSTM(4, hidden, proj_size=2)", "nn.GRU(4, hidden, bidirectional=True)", "make_layer(hidden)"],
    ids=["of two sizes", "in both directions", "of a kind that nobody knows"],
)
def test_others_stay(layer):
    text = HEAD + NET.format(layer=layer)
    assert rewritten(text) == text


LAST = """\
class Net(nn.Module):
    def __init__(self, length=4):
        super().__init__()
        self.length = length
        self.seen = []

    def forward(self, x):
        self.seen.append(x.mean(0))
        if len(self.seen) > self.length:
            self.seen.pop(0)
        return x - torch.stack(self.seen).mean(0)

    @staticmethod
    def inputs():
        return (torch.randn(2, 3),)
"""


@pytest.mark.parametrize("bounded", [False, True], ids=["list", "deque"])
def test_the_last_values_are_a_window_with_its_total_and_count(bounded):
    source = LAST
    if bounded:
        drop = "        if len(self.seen) > self.length:\n            self.seen.pop(0)\n"
        source = "from collections import deque\n" + LAST.replace("[]", "deque(maxlen=length)").replace(drop, "")
    lines = [line.strip() for line in rewritten(HEAD + source).split("\n")]
    start = lines.index("self.length = length")
    assert lines[start + 1 : start + 10] == [
        'self.register_buffer("seen_window", torch.zeros(length, 3), persistent=False)',
        'self.register_buffer("seen_count", torch.tensor(0), persistent=False)',
        'self.register_buffer("seen_total", torch.zeros(3), persistent=False)',
        "",
        "def forward(self, x):",
        "self.seen_window.copy_(torch.cat([self.seen_window[1:], torch.unsqueeze(x.mean(0), 0)]))",
        "self.seen_total.copy_(self.seen_window.sum(0))",
        "self.seen_count.add_(1).clamp_(max=self.seen_window.shape[0])",
        "return x - (self.seen_total / self.seen_count)",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.stack(self.seen).mean(0)", "torch.stack(self.seen).amax(0)"),
        ("self.seen.pop(0)", "self.seen.pop()"),
    ],
    ids=["the largest of them", "the newest goes"],
)
def test_other_windows_stay(old, new):
    text = HEAD + LAST.replace(old, new)
    assert rewritten(text) == text


TRIM_FIRST = """\
        if len(self.seen) {test} self.length:
            self.seen.pop(0)
        self.seen.append(x.mean(0))
"""
TRIM_LAST = """\
        self.seen.append(x.mean(0))
        if len(self.seen) {test} self.length:
            self.seen.pop(0)
"""


@pytest.mark.parametrize(
    ("kept", "test", "length"),
    [
        (TRIM_LAST, ">", 4),
        (TRIM_LAST, ">=", 3),
        (TRIM_LAST, "==", 3),
        (TRIM_FIRST, ">", 5),
        (TRIM_FIRST, ">=", 4),
    ],
)
def test_a_window_is_as_long_as_what_a_call_leaves(kept, test, length):
    text = HEAD + LAST.replace(TRIM_LAST.format(test=">"), kept.format(test=test))
    plain, buffered = model(text), model(rewritten(text))
    assert next(buffered.buffers()).shape == (length, 3)
    for _ in range(8):
        x = torch.randn(2, 3)
        torch.testing.assert_close(buffered(x), plain(x))


def model(source):
    names = {}
    exec(source, names)  # noqa: S102 - our own text
    return names["Net"](4)

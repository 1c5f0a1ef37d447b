"""Packed rows are stepped over where they are padded; what comes out is what torch gives for packed ones."""

from typing import Any

import pytest
from rewritten_text import HEAD, rewritten

torch = pytest.importorskip("torch")

_FORWARD = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{layer}(4, 3, 2, bidirectional={both}, batch_first={first})

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first={first}, enforce_sorted=False)
        out, state = self.rnn(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first={first})
        return out, state
"""


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_steps_give_what_packing_gives(layer: str, both: bool, first: bool) -> None:
    source = HEAD + _FORWARD.format(layer=layer, both=both, first=first)
    after = max((rewritten(source, which=number) for number in (0, 1)), key=lambda text: "run_padded" in text)
    assert "run_padded(self.rnn, x, lengths" in after
    x, lengths = torch.randn((3, 5, 4) if first else (5, 3, 4)), torch.tensor([2, 5, 3])
    for one, other in zip(_leaves(source, x, lengths), _leaves(after, x, lengths), strict=True):
        torch.testing.assert_close(one, other)


def _leaves(source: str, *inputs: Any) -> list[Any]:
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - the text stands above
    return torch.utils._pytree.tree_leaves(names["Net"]()(*inputs))

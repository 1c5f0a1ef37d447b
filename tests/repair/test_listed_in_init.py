"""Decisions on a tensor that `__init__` alone sets are made on its numbers, which it lists once."""

import pytest
from rewritten_text import forward, rewritten

_TENSOR = "self.used = torch.tensor([True, False])"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "out = [x * i for i, used in enumerate(self.used) if used]\nreturn sum(out) + x",
            "out = [x * i for i, used in enumerate(self.used_list) if used]\nreturn sum(out) + x",
        ),
        (
            "for y, used in zip(x, self.used):\n    if used:\n        x = x + y\nreturn x",
            "for y, used in zip(x, self.used_list):\n    if used:\n        x = x + y\nreturn x",
        ),
        ("if self.used[0]:\n    x = x + 1\nreturn x", "if self.used_list[0]:\n    x = x + 1\nreturn x"),
    ],
    ids=["enumerate", "zip", "an-entry"],
)
def test_numbers_are_listed(before: str, after: str) -> None:
    listed = f"{_TENSOR}\nself.used_list = self.used.tolist()"
    assert rewritten(forward(before, _TENSOR)) == forward(after, listed)


def test_one_number_is_a_value() -> None:
    init = "self.scale = torch.tensor(2.0)"
    assert "if self.scale_value > 1:" in rewritten(forward("if self.scale > 1:\n    x = x * 2\nreturn x", init))


@pytest.mark.parametrize(
    "init",
    [
        'self.register_buffer("used", torch.tensor([True, False]))',
        f"{_TENSOR}\n\ndef switch(self):\n    self.used = ~self.used",
        f"{_TENSOR}\n\ndef switch(self):\n    self.used[0] = False",
    ],
    ids=["a-state-dict-brings-it", "set-again", "written-to"],
)
def test_tensor_that_may_change_is_not_listed(init: str) -> None:
    own, _, later = init.partition("\n\n")
    source = forward("if self.used[0]:\n    x = x + 1\nreturn x", own)
    source += "".join(f"\n    {line}" if line else "\n" for line in later.split("\n")) + "\n" if later else ""
    assert "tolist" not in rewritten(source)

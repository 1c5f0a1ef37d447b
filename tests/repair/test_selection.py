"""Decisions on data that become no selection, and what was selected once."""

import pytest
from rewritten_text import forward, rewritten


@pytest.mark.parametrize(
    "body",
    [
        # a side that does more than to set names
        """
        if x.sum() > 0:
            self.calls = 3
        return x
        """,
        # a side that is no tensor
        """
        return None if x.sum() > 0 else x
        """,
        # the test decides what runs at all
        """
        if x.sum() > 0:
            for row in x:
                x = x + row
            return x
        return x
        """,
    ],
)
def test_what_cannot_be_selected_is_left(body):
    assert "torch.where" not in rewritten(forward(body))


def test_what_was_rewritten_is_rewritten_no_further():
    once = rewritten(forward("if x.sum() > 0:\n    x = x * 2\nreturn x"))
    assert rewritten(once) == once

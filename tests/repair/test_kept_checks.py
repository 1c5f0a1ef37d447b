"""Checks of data stay in the program, part by part; what Python can decide stays Python's."""

import pytest
from rewritten_text import forward, rewritten


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """
            assert x.dim() == 2 and x.max() < 100, f"bad {x.shape}"
            return x
            """,
            """
            assert x.dim() == 2, f"bad {x.shape}"
            torch._assert_async(x.max() < 100, 'x.dim() == 2 and x.max() < 100')
            return x
            """,
        ),
        (
            """
            assert self.lax or x.std() > 0
            return x
            """,
            """
            if not (self.lax):
                torch._assert_async(x.std() > 0, 'self.lax or x.std() > 0')
            return x
            """,
        ),
        (
            """
            if self.lax and not (x > 0).all(): raise ValueError(f"got {x.shape}")
            return x
            """,
            """
            if self.lax:
                torch._assert_async((x > 0).all(), "got {x.shape}")
            return x
            """,
        ),
        (
            """
            if x.shape[0] > 5:
                x = x + 1
            elif x.isnan().any():
                raise RuntimeError("nan")
            return x
            """,
            """
            if x.shape[0] > 5:
                x = x + 1
            else:
                torch._assert_async(torch.logical_not(x.isnan().any()), "nan")
            return x
            """,
        ),
        (
            """
            full = not self.lax and (x > 0).all()
            if not full:
                raise ValueError("a gap")
            return x
            """,
            """
            full = not self.lax and (x > 0).all()
            torch._assert_async(torch.as_tensor(full).bool(), "a gap")
            return x
            """,
        ),
    ],
    ids=["an-assert-of-both", "an-assert-unless", "a-raise-behind-a-flag", "an-elif", "a-flag-or-a-tensor"],
)
def test_check_is_kept(before: str, after: str) -> None:
    init = "self.lax = False"
    assert rewritten(forward(before, init)) == forward(after, init)


@pytest.mark.parametrize(
    "body",
    [
        "if x.sum() > 0:\n    print(x.shape)\n    raise ValueError('no')\nreturn x",
    ],
    ids=["more-than-a-check"],
)
def test_other_checks_stay(body: str) -> None:
    source = forward(body, "self.lax = False")
    assert "_assert_async" not in rewritten(source)

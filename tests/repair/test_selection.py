"""Decisions on data become selections: what is written, for each way in which people write a decision."""

import pytest
from rewritten_text import forward, rewritten


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """
            if x.min() < 0:
                low = x - 1
                parts = [low, x]
            else:
                parts = [x, -x]
            return torch.stack(parts)
            """,
            """
            condition = x.min() < 0
            low_if = x - 1
            parts_if = [low_if, x]
            parts_else = [x, -x]
            parts = [torch.where(condition, parts_if[index], parts_else[index]) for index in range(2)]
            return torch.stack(parts)
            """,
        ),
        (
            """
            weight = max(0.0, (x.sum().item() - 1) / 3)
            return x * weight
            """,
            """
            weight = ((x.sum() - 1) / 3).clamp(min=0.0)
            return x * weight
            """,
        ),
        (
            """
            if x.sum() > 0:
                return x * 2
            return x - 1
            """,
            """
            return torch.where(x.sum() > 0, x * 2, x - 1)
            """,
        ),
        (
            """
            if x.mean() > 0.2:  # bright
                x = x * 2
            return x
            """,
            """
            x = torch.where(x.mean() > 0.2, x * 2, x)
            return x
            """,
        ),
        (
            """
            top = x.max().item()
            if top > 3:
                x /= top
            return x
            """,
            """
            top = x.max()
            x = torch.where(top > 3, x / top, x)
            return x
            """,
        ),
        (
            """
            if x.min() < 0:
                x = x + 1
                y = x * 2
            elif x.min() > 5:
                y = x
            else:
                y = -x
            return x, y
            """,
            """
            condition = x.min() < 0
            condition_2 = x.min() > 5
            x_if = x + 1
            y_if = x_if * 2
            y_elif = x
            y_else = -x
            x = torch.where(condition, x_if, x)
            y = torch.where(condition, y_if, torch.where(condition_2, y_elif, y_else))
            return x, y
            """,
        ),
        (
            """
            if x.sum() > 0:
                return x, x.sum()
            x = x + 1
            return x * 3, x.max()
            """,
            """
            condition = x.sum() > 0
            result = x, x.sum()
            x = x + 1
            return torch.where(condition, result[0], x * 3), torch.where(condition, result[1], x.max())
            """,
        ),
        (
            """
            if (x > 100).any():
                raise ValueError("too large")
            return x.sqrt()
            """,
            """
            torch._assert_async(torch.logical_not((x > 100).any()), "too large")
            return x.sqrt()
            """,
        ),
        (
            """
            assert not x.isnan().any()
            return x.sqrt() if x.max() > 0 else x
            """,
            """
            torch._assert_async(torch.logical_not(x.isnan().any()), 'not x.isnan().any()')
            return torch.where(x.max() > 0, x.sqrt(), x)
            """,
        ),
        (
            """
            for _ in range(4):
                x = x * 0.5
                if (x < 0.5).all():
                    break
            return x
            """,
            """
            done = torch.tensor(False)
            for _ in range(4):
                x = torch.where(done, x, x * 0.5)
                done = torch.logical_or(done, (x < 0.5).all())
            return x
            """,
        ),
        (
            """
            while x.norm() > 1:
                x = x / 2
            return x
            """,
            """
            def goes_on(x):
                return x.norm() > 1

            def step(x):
                x = x / 2
                return (x,)

            x, = torch._higher_order_ops.while_loop(goes_on, step, (x,))
            return x
            """,
        ),
    ],
)
def test_both_sides_are_computed(before, after):
    assert rewritten(forward(before)) == forward(after)


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

"""A model that computes something else while torch exports computes what eager does."""

import pytest
from proposed import proposed

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
{body}
"""


def rewritten(body):
    text = MODEL.format(body="\n".join(f"        {line}" for line in body))
    return [
        [line.strip() for line in after.split("def forward(self, x):\n")[1].splitlines()]
        for after in proposed(text, body[0], "eager-side")
    ]


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (
            ["if torch.compiler.is_compiling():", "    return x", "return x * 2"],
            ["return x * 2"],
        ),
        (
            [
                "if not torch.compiler.is_exporting() or x.ndim > 2:",
                "    x = x * 2",
                "else:",
                "    x = x + 1",
                "return x",
            ],
            ["x = x * 2", "return x"],
        ),
        (["return x if torch.compiler.is_exporting() else x * 2"], ["return x * 2"]),
    ],
    ids=["an early return", "both sides", "an expression"],
)
def test_the_side_of_eager_stays(body, after):
    assert rewritten(body) == [after]


def test_what_is_kept_out_of_the_program_on_purpose_stays():
    assert rewritten(["if not torch.compiler.is_exporting():", "    print(x)", "return x"]) == []

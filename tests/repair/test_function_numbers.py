"""What a function reads from tensors stays in them: Python's functions of numbers become torch's."""

import pytest
from rewritten_text import HEAD, found_in


def in_tensors(lines, result="x * scale"):
    body = "\n".join(f"        {line}" for line in lines.split("\n"))
    text = f"{HEAD}class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n{body}\n        return {result}\n"
    ways = [way for finding in found_in(text) for way in finding.rewrites]
    found = [way for way in ways if way.description == "keep its numbers in tensors"]
    return [edit.text for edit in found[0].edits] if found else None


def test_reads_bounds_and_roundings_go():
    lines = (
        "low = min(x.min().item(), 0.0)\nscale = int(round((x.max().item() - low) / 255))\nif scale < 1:\n    scale = 1"
    )
    assert in_tensors(lines) == [
        "low = torch.clamp(x.min().detach().double(), max=0.0)",
        "scale = torch.round((x.max().detach().double() - low) / 255)",
    ]


def test_functions_of_math_become_those_of_torch():
    lines = "n = float(x.sum())\nscale = math.exp(-n) if n > 0 else 1.0"
    assert in_tensors("import math\n" + lines) == [
        "n = x.sum().detach().double()",
        "scale = torch.where(n > 0, torch.exp(-n), 1.0)",
    ]


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        ("n = int(x.sum())\nif n > 3:\n    n = 3", "x[:n]"),
        ("n = x.sum().item()\nif n > 3:\n    n = 3", "torch.zeros(n)"),
        ("n = x.sum().item()\nscale = 1 if 0 < n < 3 else 2", "x * scale"),
    ],
    ids=["a bound of a slice", "a size", "a chained comparison"],
)
def test_numbers_that_no_tensor_can_stand_for_stay(lines, result):
    assert in_tensors(lines, result) is None

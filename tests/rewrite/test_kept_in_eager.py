"""What only says something goes behind `if not torch.compiler.is_compiling():`, with what only it uses."""

from __future__ import annotations

import pytest
from proposed import proposed

MODEL = """
import logging
import time
import torch
from torch import nn

log = logging.getLogger(__name__)

class Net(nn.Module):
    def forward(self, x):
{body}
"""
TEST = "if not torch.compiler.is_compiling():"


def rewritten(body: list[str], at: str) -> list[list[str]]:
    text = MODEL.format(body="\n".join(f"        {line}" for line in body))
    return [
        [line.removeprefix("        ") for line in after.split("def forward(self, x):\n")[1].splitlines()]
        for after in proposed(text, at, "kept-in-eager")
    ]


@pytest.mark.parametrize(
    ("body", "at", "after"),
    [
        (["x = x * 2", "print(x)", "return x"], "print", ["x = x * 2", TEST, "    print(x)", "return x"]),
        (
            ["mean = x.mean().item()", "if mean > 1:", '    log.warning("large %s", mean)', "return x"],
            "x.mean().item()",
            [
                TEST,
                "    mean = x.mean().item()",
                "    if mean > 1:",
                '        log.warning("large %s", mean)',
                "return x",
            ],
        ),
        (
            ["low, high = x.min().item(), x.max().item()", "print(low, high)", "return x"],
            "print",
            [TEST, "    low, high = x.min().item(), x.max().item()", "    print(low, high)", "return x"],
        ),
        (
            ["start = time.time()", "x = x * 2", 'log.info("took %s", time.time() - start)', "return x"],
            "time.time()",
            [  # behind a break, Python may run the second block where the first one was compiled
                "in_eager = not torch.compiler.is_compiling()",
                "if in_eager:",
                "    start = time.time()",
                "x = x * 2",
                "if in_eager:",
                '    log.info("took %s", time.time() - start)',
                "return x",
            ],
        ),
    ],
    ids=["a print", "a number that only a warning uses", "two numbers", "a clock"],
)
def test_what_only_says_something_is_left_out_of_what_is_compiled(body: list[str], at: str, after: list[str]) -> None:
    assert rewritten(body, at) == [after]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (["mean = x.mean().item()", "print(mean)", "return x * mean"], "x.mean().item()"),
        (["print(x.add_(1))", "return x"], "print"),
        (["self.seen.append(x)", "return x"], "self.seen"),
    ],
    ids=["a number that is used", "a print that writes", "an effect"],
)
def test_what_the_model_needs_stays(body: list[str], at: str) -> None:
    assert rewritten(body, at) == []


@pytest.mark.parametrize(
    ("bar", "steps"),
    [
        ("trange(1, 4, disable=True)", "range(1, 4)"),
        ("tqdm(x.unbind(0), desc='rows')", "x.unbind(0)"),
        ("tqdm(iterable=range(3))", "range(3)"),
    ],
)
def test_a_progress_bar_shows_progress_in_eager_only(bar: str, steps: str) -> None:
    text = f"""
from torch import nn
from tqdm.auto import tqdm, trange

class Net(nn.Module):
    def forward(self, x):
        for step in {bar}:
            x = x + step
        return x
"""
    (after,) = proposed(text, bar, "kept-in-eager")
    assert f"for step in {steps} if torch.compiler.is_compiling() else {bar}:".replace("'", '"') in after.replace(
        "'", '"'
    )
    assert proposed(text.replace("from tqdm.auto import", "from bars import"), bar, "kept-in-eager") == []

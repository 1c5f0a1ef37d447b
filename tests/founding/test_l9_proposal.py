"""Nobody knows which sizes can be declared: let export tell."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

MIXER = """\
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 8)
        self.gate = nn.Linear(8, 8)

    def forward(self, ids, mask, extra):
        words = torch.cat([self.words(ids) * mask.unsqueeze(-1), extra], 1)
        if ids.shape[0] * ids.shape[1] < 600:
            return self.gate(words)
        return words


model = Mixer().eval()
example_args = (torch.randint(0, 30, (2, 9)), torch.ones(2, 9), torch.randn(2, 3, 8))
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", MIXER, "--dynamic", "auto")


@pytest.mark.clause("one command proposes `dynamic_shapes`")
def test_every_free_dim_is_declared_and_named(report: str) -> None:
    assert "'ids': {0: batch, 1: length}," in report
    assert "'mask': {0: batch, 1: length}," in report
    assert "'extra': {0: batch, 1: length_2}," in report


@pytest.mark.clause("tries it")
def test_other_sizes_ran_up_to_the_limits(report: str) -> None:
    (stage,) = (line for line in report.split("\n") if line.startswith("  dynamic-shapes"))
    assert "passed" in stage
    assert "agrees for batch 1, 2," in stage


@pytest.mark.clause("prints it")
def test_what_is_printed_exports_and_agrees_at_its_limits(report: str, tmp_path: Path) -> None:
    lines = [line.removeprefix("    ") for line in report.split("\n")]
    code = "\n".join(lines[lines.index("from torch.export import Dim") : lines.index("}") + 1])
    (tmp_path / "pasted.py").write_text(f"{MIXER}\n{code}\n{RUN}", "utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.clause("a guard over a product of sizes limits the proposal, and is said with its line")
def test_the_product_is_a_sentence(report: str) -> None:
    assert "batch × length must be less than 600 (net.py:13: `if ids.shape[0] * ids.shape[1] < 600:`)" in report


RUN = """
program = torch.export.export(model, example_args, dynamic_shapes=dynamic_shapes).module()
for rows, columns in ((batch.min, length.min), (batch.max, length.max), (3, 7)):
    given = torch.randint(0, 30, (rows, columns)), torch.ones(rows, columns), torch.randn(rows, 5, 8)
    torch.testing.assert_close(program(*given), model(*given))
"""


TAGGER = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.places = nn.Embedding(6, 8)

    def forward(self, ids):
        where = torch.arange(ids.shape[1])
        return self.words(ids) + self.places(where)


model = Tagger().eval()
example_args = (torch.randint(0, 50, (2, 3)),)
"""
CLIP = """\
import torch
from torch import nn


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 8, 8)
        self.when = nn.Parameter(torch.randn(16, 4))

    def forward(self, frames, fps: float = 25.0):
        b, t = frames.shape[:2]
        seen = self.stem(frames.flatten(0, 1)).mean((-1, -2)).unflatten(0, (b, t))
        assert frames.shape[-1] % 8 == 0
        return seen + self.when[:t] * fps


model = Clip().eval()
example_args = (torch.randn(2, 5, 3, 16, 24),)
"""


@pytest.mark.parametrize(
    ("source", "declared", "says"),
    [
        (
            TAGGER,
            ('length = Dim("length", min=1, max=6)', "'ids': {0: batch, 1: length},"),
            "at most 6: with 7 eager raises IndexError: index out of range in self (net.py:13: `",
        ),
        (
            CLIP,
            (
                'frames_1 = Dim("frames_1", min=1, max=16)',
                "'frames': {0: batch, 1: frames_1, 3: height, 4: 8 * _width},",
            ),
            "a multiple of 8 (net.py:14: `assert frames.shape[-1] % 8 == 0`)",
        ),
    ],
    ids=["tagger", "clip"],
)
@pytest.mark.clause("a range ends where the code, or only eager, ends, and the line is said")
def test_a_range_ends_where_the_model_ends(
    say: Callable[..., str], tmp_path: Path, source: str, declared: tuple[str, str], says: str
) -> None:
    report = say("trial", source, "--dynamic", "auto")
    lines = [line.removeprefix("    ") for line in report.split("\n")]
    assert set(declared) <= {line.strip() for line in lines}
    assert says in report
    assert "batch, dim 0 of" in report
    assert ", tried up to " in report
    code = "\n".join(lines[lines.index("from torch.export import Dim") : lines.index("}") + 1])
    (tmp_path / "pasted.py").write_text(f"{source}\n{code}\n{EXPORTED}", "utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


EXPORTED = "torch.export.export(model, example_args, dynamic_shapes=dynamic_shapes)\n"

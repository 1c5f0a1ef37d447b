"""Sizes are declared by the old interface: `dynamic_dim`, `constraints=`, `constrain_as_value`, `constrain_as_size`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = """\
import torch
from torch import nn
from torch._export.constraints import constrain_as_size
from torch.export import Dim, constrain_as_value, dynamic_dim, equality_constraints, export


class Repeat(nn.Module):
    def forward(self, x, n):
        times = n.item()
        torch._constrain_as_value(times, min=2, max=8)
        torch._check_is_size(times)
        torch._constrain_as_size(times, min=2, max=8)
        return x.repeat(times, 1)


if __name__ == "__main__":
    x = torch.randn(2, 4)
    program = export(Repeat(), (x, torch.tensor(3)), constraints=[dynamic_dim(x, 0) <= 8])
    print(program.equality_constraints)
"""
TODAY = """\
import torch
from torch import nn
from torch.export import Dim, export


class Repeat(nn.Module):
    def forward(self, x, n):
        times = n.item()
        torch._check(times >= 2)
        torch._check(times <= 8)
        if times >= 2:
            x = x * 2
        return x.repeat(times, 1)


model = Repeat()
example_args = (torch.randn(2, 4), torch.tensor(3))
dynamic_shapes = {"x": {0: Dim("batch", min=2, max=8)}, "n": None}
"""


@pytest.fixture(scope="module")
def found(say: Callable[..., str]) -> str:
    return say("check", OLD, "--output-format", "concise")


@pytest.mark.clause("flag as gone in the target version")
def test_every_name_that_is_gone_is_an_error_and_names_what_took_its_place(found: str, say: Callable[..., str]) -> None:
    gone = ("torch.export.constrain_as_value", "torch.export.dynamic_dim", "torch.export.equality_constraints")
    for name in (*gone, "torch._export.constraints.constrain_as_size", "torch._constrain_as_value"):
        assert f"error[old-export-api] `{name}` is gone" in found
    assert "net.py:19:11: error[old-export-api] `program.equality_constraints` is gone" in found
    assert "torch.export has no keyword `constraints` any more" in found
    advice = say("check", OLD)
    assert "use `torch.export.Dim` and `dynamic_shapes=`" in advice
    assert "use `torch._check(n >= low)` and `torch._check(n <= high)`" in advice


@pytest.mark.clause("flag as deprecated in the target version")
def test_what_still_works_is_a_note_with_the_words_of_torch(found: str) -> None:
    assert "note[old-export-api] `torch._check_is_size` is deprecated: torch 2.13 still has it, and warns" in found
    assert "note[old-export-api] `torch._constrain_as_size` is the old way to bound a size" in found


@pytest.mark.clause("after a check that was made, a test that follows from it is no finding")
def test_the_code_of_today_is_silent(say: Callable[..., str]) -> None:
    assert "Found nothing" in say("check", TODAY, "--mode", "both")
    wider = TODAY.replace("if times >= 2", "if times >= 5")
    assert "error[data-dependent-branch] `times >= 5`" in say("check", wider)


@pytest.mark.slow
def test_the_code_of_today_exports_in_both_modes(say: Callable[..., str]) -> None:
    assert "agrees with eager" in say("trial", TODAY, "--mode", "both")


@pytest.mark.clause("rewrite to `Dim`, `dynamic_shapes`, `torch._check`")
def test_dims_and_bounds_are_declared_as_today(say: Callable[..., str]) -> None:
    written = say("fix", OLD, "--unsafe")
    assert "+        torch._check(times >= 2)\n+        torch._check(times <= 8)\n" in written
    assert 'dynamic_shapes=({0: Dim("x_0", max=8)}, None))' in written
    assert "+    print(program.range_constraints)\n" in written


GATHERED = """\
import torch
import torch.export as te
from torch import nn

ROWS = 64


class Match(nn.Module):
    def forward(self, left, right, *, scale):
        rows = te.constrain_as_value(scale.item(), 1, 3)
        return (left * right).sum(-1) * rows


def main():
    inputs = (torch.randn(6, 8), torch.randn(6, 8))
    batch = te.dynamic_dim(inputs[0], 0)
    limits = [batch >= 2]
    limits.append(batch < ROWS)
    limits += [te.dynamic_dim(inputs[1], 0) == batch]
    return te.export(Match(), args=inputs, kwargs={"scale": torch.tensor(2)}, constraints=limits)


if __name__ == "__main__":
    print(main().range_constraints)
"""
IN_A_DICT = """\
import torch
from torch import nn
from torch._export import dynamic_dim


class Sum(nn.Module):
    def forward(self, batch):
        return batch["a"] + batch["b"]


a, b = torch.randn(5, 3), torch.randn(5, 3)
program = torch.export.export(
    Sum(), ({"a": a, "b": b},), constraints=[dynamic_dim(a, 0) == dynamic_dim(b, 0), 2 <= dynamic_dim(a, 0), dynamic_dim(b, 0) <= 9]
)
print(program.range_constraints)
"""

IN_A_FUNCTION = """\
import torch
from torch import nn
from torch.export import dynamic_dim, export


class Level(nn.Module):
    def forward(self, past, now):
        return past.mean(0) + now


def limits(past):
    # as many hours as a week has
    hours = dynamic_dim(past, 0)
    return [hours >= 4, hours <= 168]


sample = (torch.randn(24, 3), torch.randn(3))
print(export(Level(), sample, constraints=limits(sample[0])).range_constraints)
"""


@pytest.mark.clause("what is written parses, imports and runs, and keeps the bounds")
@pytest.mark.parametrize(
    ("old", "bounds"), [(GATHERED, "VR[2, 63]"), (IN_A_DICT, "VR[2, 9]"), (IN_A_FUNCTION, "VR[4, 168]")]
)
def test_a_script_of_old_runs_again_with_its_bounds(
    say: Callable[..., str], tmp_path: Path, old: str, bounds: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(old, "utf-8")
    assert "old-export-api" in say("fix", file, "--unsafe", "--write")
    done = subprocess.run([sys.executable, file.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.count(bounds) == 1, done.stderr


def test_a_file_that_does_not_load_gets_what_is_right_untried(say: Callable[..., str]) -> None:
    target = TODAY.replace("Dim, export", "Dim, constrain_as_size").replace(
        "torch._check(times >= 2)", "constrain_as_size(times, 2, 8)"
    )
    written = say("fix", target, "--unsafe")
    assert "+from torch.export import Dim\n" in written
    assert "+        torch._check(times >= 2)\n" in written


@pytest.mark.parametrize(
    "constraints",
    [
        "[dynamic_dim(x, 0) <= 8 for x in xs]",
        "limits_of(x)",
        "[dynamic_dim(z, 0) <= 8]",
        "[dynamic_dim(x, 0) % 2 == 0]",
    ],
)
def test_what_cannot_be_said_today_is_left(say: Callable[..., str], constraints: str) -> None:
    head = "import torch\nfrom torch.export import dynamic_dim, export\n\n"
    assert "+++" not in say("fix", f"{head}export(Net(), (x, y), constraints={constraints})\n", "--unsafe")


@pytest.mark.parametrize(
    ("constraints", "shapes"),
    [
        ("2 <= dynamic_dim(x, 0), dynamic_dim(x, 1) < 9", '{0: Dim("x_0", min=2), 1: Dim("x_1", max=8)}, None'),
        ("dynamic_dim(x, 0) == dynamic_dim(y, 0)", "{0: x_0}, {0: x_0}"),
    ],
)
def test_what_is_declared_stays_the_same(say: Callable[..., str], constraints: str, shapes: str) -> None:
    head = "import torch\nfrom torch.export import dynamic_dim, export\n\n"
    old = f"{head}export(Net(), (x, y), constraints=[{constraints}])\n"
    assert f"dynamic_shapes=({shapes}))" in say("fix", old, "--unsafe")

"""Custom operators: one without a fake kernel, one whose size depends on data, one whose fake kernel is wrong."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

SORTER = """\
import torch
from torch import nn


@torch.library.custom_op("warehouse::strongest", mutates_args=())
def strongest(scores: torch.Tensor, width: int) -> torch.Tensor:
    rows = []
    for row in scores:
        if row.sum().item() > 0:
            rows.append(row[:width])
        else:
            rows.append(-row[:width])
    return torch.stack(rows)


library = torch.library.Library("depot", "DEF")
library.define("kept(Tensor rows, Tensor marks, *, float offset=0.5) -> (Tensor, Tensor)")


def kept(rows, marks, *, offset=0.5):
    where = marks.nonzero()[:, 0]
    return rows[where] + offset, where.clone()


library.impl("kept", kept, "CPU")


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 6)

    def forward(self, x, marks):
        best = strongest(self.score(x), 3)
        rows, where = torch.ops.depot.kept(strongest(best, 2), marks)
        return rows.sum(0) + where.sum()


model = Sorter()
example_args = (torch.randn(5, 8), torch.tensor([True, False, True, True, False]))
"""
EVERY_OTHER = """\
import torch
from torch import nn


@torch.library.custom_op("warehouse::every_other", mutates_args=())
def every_other(x: torch.Tensor) -> torch.Tensor:
    return x[:, ::2].clone()


@every_other.register_fake
def _(x):
    return x.new_empty((x.shape[0], 3))


class Thin(nn.Module):
    def forward(self, x):
        return every_other(x) * 2


model = Thin()
example_args = (torch.randn(4, 6),)
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", SORTER)


@pytest.mark.clause("flag at the definition")
def test_the_definitions_are_flagged_before_anything_runs(say: Callable[..., str]) -> None:
    found = say("check", SORTER, "--output-format", "concise")
    assert re.findall(r"net\.py:(\d+):\d+: error\[missing-fake-kernel\]", found) == ["5", "17"]


@pytest.mark.clause("the body of an opaque operator is not judged")
def test_a_branch_inside_of_the_operator_is_no_finding(say: Callable[..., str]) -> None:
    found = say("check", SORTER, "--output-format", "concise")
    assert set(re.findall(r"\[([\w-]+)\]", found)) == {"missing-fake-kernel"}


PACKAGE = {
    "__init__": "from . import fakes\n",
    "operators": """\
import torch


@torch.library.custom_op("barn::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("barn::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2
""",
    "fakes": """\
import torch
from .operators import doubled


@doubled.register_fake
def _(x):
    return torch.empty_like(x)
""",
}


@pytest.mark.clause("one that another file registers is none; in a package, where any file may do it, it is a warning")
def test_a_fake_kernel_may_stand_in_another_file(say: Callable[..., str], tmp_path: Path) -> None:
    for name, source in PACKAGE.items():
        (tmp_path / "barn").mkdir(exist_ok=True)
        (tmp_path / "barn" / f"{name}.py").write_text(source, "utf-8")
    found = say("check", tmp_path / "barn" / "operators.py", "--output-format", "concise")
    assert re.findall(r"(\w+)\[missing-fake-kernel\] the operator `(\w+)`", found) == [("warning", "halved")]


@pytest.mark.clause("a trial names the op")
def test_the_trial_says_which_operator_and_where_it_is_called(report: str) -> None:
    assert "`strongest` has no fake kernel" in report
    assert re.search(r"called\s+at\s+net\.py:34", report)


@pytest.mark.clause("one cause instead of three")
def test_each_operator_is_one_finding_however_often_it_is_called(report: str) -> None:
    assert "cause 1 of 1: missing-fake-kernel, 2 places" in report
    assert report.count("error[") == 2


@pytest.mark.clause("offer `register_fake` with the inferred schema")
def test_a_fake_kernel_is_offered_with_the_sizes_that_follow_from_the_arguments(report: str) -> None:
    assert '@torch.library.register_fake("warehouse::strongest")' in report
    assert "def _(scores, width):" in report
    assert "return scores.new_empty((scores.shape[0], min(scores.shape[1], width)))" in report


@pytest.mark.clause("`new_dynamic_size()` where an output size depends on data")
def test_a_size_that_depends_on_data_is_a_new_dynamic_size(report: str) -> None:
    assert "def _(rows, marks, *, offset=0.5):" in report
    assert "size = torch.library.get_ctx().new_dynamic_size()" in report
    assert "return rows.new_empty((size, rows.shape[1])), rows.new_empty((size,), dtype=torch.int64)" in report


@pytest.mark.clause("a draft kernel where torch can profile one")
def test_the_trial_exported_with_the_drafts(report: str) -> None:
    assert "instead (verified): register a fake kernel, as this trial did" in report


@pytest.mark.clause("what is offered can be pasted")
def test_the_model_exports_with_what_was_offered(report: str, say: Callable[..., str]) -> None:
    offered = re.findall(r"^ +@torch\.library\.register_fake.*\n(?: +def .*\n)(?: {8,}.*\n)+", report, re.MULTILINE)
    assert len(offered) == 2
    pasted = "\n".join(map(dedent, offered))
    again = say("trial", SORTER.replace("class Sorter", f"{pasted}\n\nclass Sorter"))
    assert "exports and agrees with eager" in again


@pytest.mark.clause("a wrong fake kernel found by comparing it with the real one on several sizes")
def test_a_fake_kernel_that_is_right_for_one_size_only_is_found(say: Callable[..., str]) -> None:
    found = " ".join(say("trial", EVERY_OTHER).split())
    assert "the fake kernel of `warehouse::every_other`, which the tracer believes" in found
    assert "net.py:10:1" in found
    assert "return x.new_empty((x.shape[0], (x.shape[1] + 1) // 2))" in found


UNTRUE = """\
import torch
from torch import nn


@torch.library.custom_op("scales::signs", mutates_args=())
def signs(x: torch.Tensor) -> torch.Tensor:
    return (x > 0).to(torch.int64)


@signs.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("scales::tared", mutates_args=())
def tared(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    x.sub_(by)
    return x.sum(0)


@tared.register_fake
def _(x, by):
    return x.new_empty(x.shape[1])


class Weigh(nn.Module):
    def forward(self, x):
        y = x * 1
        return tared(y, x[0]) + y + signs(x)


model = Weigh()
example_args = (torch.rand(3, 4) + 1,)
"""


@pytest.fixture(scope="module")
def untrue(say: Callable[..., str]) -> str:
    return say("trial", UNTRUE)


@pytest.mark.clause("a wrong fake kernel found by comparing it with the real one on several sizes")
def test_a_fake_kernel_that_is_wrong_here_is_no_stage_that_passed(untrue: str) -> None:
    assert "exports and agrees with eager in either mode; the fake kernel of scales::signs is wrong" in untrue
    assert re.search(r"^  soundness +differs ", untrue, re.MULTILINE)


@pytest.mark.clause("what its schema does not say")
def test_an_operator_that_writes_into_an_argument_must_say_so(untrue: str) -> None:
    found = " ".join(untrue.split())
    assert "warning[trial-soundness] the operator `scales::tared` changes its argument `x`, and its schema" in found
    assert "net.py:15:1" in found


ORCHARD = """\
import torch
from torch import nn

torch.library.define("orchard::in_boxes", "(Tensor x, int width=10) -> Tensor")


@torch.library.impl("orchard::in_boxes", "cpu")
def in_boxes(x, width=10):
    rows = [list(row)[:width] + [0.0] * (width - len(row)) for row in x.tolist()]
    return torch.tensor(rows)


@torch.library.custom_op("orchard::pick", mutates_args=())
def pick(apples: torch.Tensor, keep: int = 10, *, scale: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
    best, where = apples.topk(min(keep, apples.shape[-1]))
    return best * scale, where


class Orchard(nn.Module):
    def forward(self, apples):
        best, where = pick(apples)
        return best.sum(-1) + torch.ops.orchard.in_boxes(where.float()).mean(-1)


model = Orchard()
example_args = (torch.rand(5, 20),)
"""


@pytest.mark.clause(
    "fix writes the fake kernel that the trial drafted, with the schema's defaults and no sample's size"
)
def test_the_drafted_kernel_is_what_is_written(say: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(ORCHARD, "utf-8")
    said = say("fix", file, "--write")
    written = file.read_text("utf-8")
    assert said.count("register the fake kernel that the trial drafted (tried)") == 2
    assert "def _(x, width=10):\n    return x.new_empty((x.shape[0], width))" in written
    assert "def _(apples, keep=10, *, scale=2.0):" in written
    assert "apples.new_empty((apples.shape[0], min(apples.shape[1], keep)))" in written
    assert re.search(r"save-load +skipped +passed", said)  # read where the file that registers them is imported

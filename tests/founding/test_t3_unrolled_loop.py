"""A recurrent loop over the time dim: an export unrolls it to the sample's length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DECODER = """\
import torch
from torch import nn
from torch.export import Dim


class Smoother(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(6, 3)

    def forward(self, series):
        level = series.new_zeros(series.shape[0], 3)
        for moment in range(series.shape[1]):
            level = torch.tanh(self.mix(torch.cat([level, series[:, moment]], 1)))
        return level


model = Smoother()
example_args = (torch.rand(2, 4, 3),)
"""
BATCH_ONLY = DECODER + 'dynamic_shapes = {"series": {0: Dim("batch")}}\n'


@pytest.mark.clause("says the loop is unrolled to the sample's length (a size frozen by tracing)")
def test_the_loop_is_found_without_running_it(say: Callable[..., str]) -> None:
    report = say("check", DECODER)
    assert "recurrent-loop-unrolled" in report
    assert "is unrolled to the sample's length" in " ".join(report.split())


@pytest.mark.clause("offers `scan` where the version has it")
def test_scan_is_offered_by_the_name_that_it_has(say: Callable[..., str]) -> None:
    assert "from torch._higher_order_ops.scan import scan" in say("check", DECODER)


# torch's own layer is traced by its steps, too, where the time axis is declared.
LAYER = """\
import torch
from torch import nn
from torch.export import Dim, export


class Prosody(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.LSTM(4, 4, batch_first=True, bidirectional=True)
        self.duration = nn.Linear(8, 1)

    def forward(self, tokens):
        found, _ = self.steps(tokens)
        return self.duration(found).squeeze(-1)


model = Prosody().eval()
program = export(model, (torch.rand(2, 6, 4),), dynamic_shapes={"tokens": {1: Dim("tokens", min=2, max=64)}})
longer = torch.rand(2, 23, 4)
torch.testing.assert_close(program.module()(longer), model(longer))
"""


@pytest.mark.clause("says the loop is unrolled to the sample's length (a size frozen by tracing)")
def test_a_layer_of_torch_is_told_likewise(say: Callable[..., str]) -> None:
    assert "takes as many steps as the sample has of dim 1 (`tokens`)" in " ".join(say("check", LAYER).split())


@pytest.mark.slow
def test_a_layer_takes_any_length_where_onnx_writes_it_as_a_loop(say: Callable[..., str]) -> None:
    """torch.onnx.export has torch.export run under decompositions of its own."""
    shapes = 'dynamic_shapes={"tokens": {1: "tokens"}}'
    onnx = f"{LAYER[: LAYER.index('program = ')]}torch.onnx.export(model, (torch.rand(2, 6, 4),), {shapes})\n"
    assert "operation-fixes-dim" not in say("check", onnx)
    report = " ".join(say("trial", onnx).split())
    assert "exports and agrees with eager in either mode" in report
    assert "runs in onnxruntime" in report


# The same loop, as it is written with a `while`: up, with the length in a name and a list, down, without a test.
TRACKER = """\
import torch
from torch import nn
from torch.export import Dim


class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(4) * 0.1)

    def forward(self, track):
        pose = track[:, 0] * 0
        step = 0
        while step < track.shape[1]:
            pose = pose + self.gain * torch.sub(track[:, step], pose)
            step += 1
        return pose


model = Tracker()
example_args = (torch.rand(2, 5, 4),)
"""
VOLATILITY = """\
import torch
from torch import nn
from torch.export import Dim


class Volatility(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.cell = nn.GRUCell(width, 6)

    def forward(self, track):
        days = track.size(1)
        state = track.new_zeros(track.size(0), 6)
        seen, day = [], 0
        while day != days:
            today = track[:, day]
            state = self.cell(today, state)
            seen.append(state)
            day = day + 1
        return torch.stack(seen)


model = Volatility()
example_args = (torch.rand(2, 7, 3),)
"""
GENES = """\
import torch
from torch import nn
from torch.export import Dim


class Forward(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(4, 4))

    def forward(self, track):
        alpha = track[:, 0]
        i = 1
        while True:
            if i >= track.shape[1]:
                break
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.trans, 1) + track[:, i]
            i += 1
        return alpha


model = Forward()
example_args = (torch.rand(3, 6, 4),)
"""
BACKWARD = (
    GENES.replace("i = 1", "i = track.shape[1] - 1")
    .replace(
        """        while True:
            if i >= track.shape[1]:
                break
""",
        """        while i >= 0:
""",
    )
    .replace("i += 1", "i -= 1")
)
OTHERS = {"tracker": TRACKER, "volatility": VOLATILITY, "genes": GENES, "backward": BACKWARD}
DECLARED = 'dynamic_shapes = {"track": {1: Dim("steps")}}\n'


@pytest.mark.clause("says the loop is unrolled to the sample's length (a size frozen by tracing)")
@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_a_while_that_counts_is_the_same_loop(source: str, say: Callable[..., str]) -> None:
    for report, rule in ((say("check", source), "note[recurrent"), (say("check", source + DECLARED), "error[dynamic")):
        assert rule in report
        assert "is unrolled to the sample's length" in " ".join(report.split())
        assert "from torch._higher_order_ops.scan import scan" in " ".join(report.split())


@pytest.mark.slow
@pytest.mark.clause("offers `scan` where the version has it")
def test_scan_is_written_and_tried_where_the_length_is_declared(say: Callable[..., str]) -> None:
    written = say("fix", TRACKER + DECLARED)
    assert "[dynamic-shape-frozen] hand on from step to step with the operator `scan` (tried)" in written
    assert "-        while step < track.shape[1]:\n" in written
    assert "torch._higher_order_ops.scan(" in written


@pytest.mark.slow
@pytest.mark.clause("is not cleared by a trial in which only one length ran")
def test_another_batch_clears_nothing(say: Callable[..., str]) -> None:
    report = say("trial", BATCH_ONLY, "--show-cleared")
    assert "agrees for batch" in report
    assert "recurrent-loop-unrolled" in report
    assert "cleared" not in report


LOOP = (
    DECODER
    + """

def build():
    return Smoother()


def sample():
    return (torch.rand(2, 4, 3),)


def more_rows():
    return (torch.rand(5, 4, 3),)


def longer_and_more():
    return (torch.rand(5, 7, 3),)
"""
)


@pytest.mark.slow
@pytest.mark.clause("is not cleared by a trial in which only one length ran")
def test_other_inputs_show_the_loop_only_where_they_are_longer(say: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(LOOP, "utf-8")

    def with_others(name: str) -> str:
        given = ("--model=net.py:build", "--args=net.py:sample", f"--other-args=net.py:{name}")
        done = exportlint(tmp_path, "trial", *given, COLUMNS="160")
        assert done.returncode == 1, done.stderr
        return " ".join(done.stdout.split())

    rows = with_others("more_rows")
    assert "exports and agrees with eager in either mode; takes no other sizes than the sample's" in rows
    assert "error[trial-dynamic-shapes] the other inputs differ from the sample in dim 0 of `series`" in rows
    assert "note[recurrent-loop-unrolled]" in rows
    assert rows.count("dynamic_shapes = {") == 1
    both = with_others("longer_and_more")
    assert "error[trial-dynamic-shapes] the other inputs differ from the sample in dim 0 of `series`" in both
    assert "tried: the other inputs differ from the sample in dim 1 of `series`, of which the code makes" in both
    assert "error[recurrent-loop-unrolled]" in both

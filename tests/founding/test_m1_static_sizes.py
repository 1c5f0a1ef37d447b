"""A video transformer is exported with a batch of two, and a batch of four does not run: sizes are static unless
declared, and what may be declared is limited by a table of positions.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLIPS = """\
import torch
from torch import nn


class ClipClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.tubes = nn.Conv3d(3, 8, kernel_size=(2, 4, 4), stride=(2, 4, 4))
        self.place = nn.Parameter(torch.zeros(1, 2 * 2 * 3, 8))
        self.head = nn.Linear(8, 5)

    def forward(self, clip):
        tubes = self.tubes(clip).flatten(2).transpose(1, 2) + self.place
        weights = torch.softmax(tubes @ tubes.transpose(1, 2), -1)
        return self.head((weights @ tubes).mean(1))

    @staticmethod
    def inputs():
        return (torch.rand(1, 3, 4, 8, 12),)

    @staticmethod
    def other_inputs():
        return (torch.rand(4, 3, 4, 8, 12),)
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", CLIPS, "--dynamic", "auto")


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.clause("trial with other sizes says the batch dim is static")
def test_the_other_batch_differs_from_what_is_static(report: str) -> None:
    assert "the other inputs differ from the sample in dim 0 of `clip`, and nothing declares that dynamic" in flat(
        report
    )


@pytest.mark.slow
@pytest.mark.clause('and which declaration frees it (`Dim("batch", min, max)`)')
def test_the_declaration_that_frees_the_batch_is_named(report: str) -> None:
    assert 'batch = Dim("batch", min=1)' in report


@pytest.mark.slow
@pytest.mark.clause("knows that 0 and 1 are special")
def test_a_sample_of_one_is_said_to_be_a_constant_for_torch(report: str) -> None:
    assert "in the sample dim 0 of `clip` is 1, which torch makes a constant" in report


@pytest.mark.slow
@pytest.mark.clause("offers the `dynamic_shapes`, re-exports with it, runs another batch")
def test_what_is_offered_exports_and_runs_a_batch_that_was_never_seen(report: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(CLIPS, "utf-8")
    (tmp_path / "pasted.py").write_text(f"from net import *\n\n{pasted(report)}\n{RUN}", "utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the other inputs (batch=4) are within these ranges, and the program agrees with eager" in report


@pytest.mark.slow
@pytest.mark.clause("what cannot be declared is said as a constraint, with its line")
def test_the_table_of_positions_is_a_sentence(report: str) -> None:
    assert "frames/2 × height/4 × width/4 must be 12" in report
    assert "net.py:13: `tubes = self.tubes(clip)" in report
    assert "so dims 2, 3 and 4 of `clip` stay as in the sample" in report
    assert "(one of them free and the others computed from it was not tried)" in report


CALLED = """\
import torch
from torch import nn


class Pulse(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 2)

    def forward(self, wave):
        return self.conv(wave).mean(-1)


net = Pulse().eval()
program = torch.export.export(net, (torch.randn(2, 3, 8),))
run = program.module()
print(run(torch.randn(2, 3, 8)).shape)
print(run(torch.randn(4, 3, 8)).shape)
"""
LOADED = """\
import torch
from torch import nn


class Tone(nn.Module):
    def forward(self, wave):
        return wave.abs().mean(-1)


def main():
    tone = Tone().eval()
    program = torch.export.export(tone, (torch.randn(3, 100),))
    torch.export.save(program, "tone.pt2")
    again = torch.export.load("tone.pt2")
    batch = torch.randn(8, 100)
    print(again.module()(batch))


main()
"""


@pytest.mark.parametrize(
    ("source", "place", "freed"),
    [
        (CALLED, "net.py:18:7", 'dynamic_shapes={"wave": {0: torch.export.Dim("batch")}}'),
        (LOADED, "net.py:16:11", 'dynamic_shapes={"wave": {0: torch.export.Dim("batch")}}'),
    ],
    ids=["called beside the export", "saved and loaded"],
)
@pytest.mark.clause("a second call with another batch, written in the script, is found there, with the declaration")
def test_a_call_with_another_batch_is_found_and_declared(
    say: Callable[..., str], tmp_path: Path, source: str, place: str, freed: str
) -> None:
    found = flat(say("check", source))
    assert "error[undeclared-size]" in found
    assert place in found
    assert f"instead: export with `{freed}`" in found
    file = tmp_path / "net.py"
    file.write_text(source, "utf-8")
    say("fix", file, "--unsafe", "--write")
    assert freed in file.read_text("utf-8")
    done = subprocess.run([sys.executable, file.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Found nothing" in say("check", file)


RUN = """
model = ClipClassifier().eval()
program = torch.export.export(model, (torch.rand(2, 3, 4, 8, 12),), dynamic_shapes=dynamic_shapes).module()
for batch in (1, 3, 7):
    clip = torch.rand(batch, 3, 4, 8, 12)
    torch.testing.assert_close(program(clip), model(clip))
"""


def pasted(report: str) -> str:
    """The code of the report, as a person copies it."""
    lines = [line.removeprefix("    ") for line in report.split("\n")]
    start = lines.index("from torch.export import Dim")
    end = next(number for number, line in enumerate(lines) if number > start and line == "}")
    return "\n".join(lines[start : end + 1])

"""A model comes from TorchScript, with its calls and its marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DEPLOYED = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = torch.jit.script(nn.Linear(4, 2))

    @torch.jit.export
    def features(self, x):
        return self.body(x)

    @torch.jit.ignore
    def centred(self, x):
        return x - x.mean()

    @torch.jit.unused
    def report(self, x):
        return x.mean()

    def forward(self, x):
        if torch.jit.is_scripting():
            return self.head(self.body(x))
        return self.head(clipped(self.centred(self.body(x))))


@torch.jit.script_if_tracing
def clipped(x):
    return x.clamp(min=0)


if __name__ == "__main__":
    model = Tagger().eval()
    scripted = torch.jit.script(model)
    frozen = torch.jit.freeze(scripted)
    torch.jit.save(frozen, "tagger.pt")
    traced = torch.jit.trace(scripted, torch.randn(2, 4))
    compiled = torch.compile(model)
    broken = torch.jit.trace(compiled, torch.randn(2, 4))
    again = torch.jit.load("tagger.pt")
"""
# What is written, by line: what is said, and the equivalent that is offered.
SAID = {
    9: ("error", "makes a TorchScript submodule", "keep the eager module and export it"),
    12: (
        "note",
        "the model is exported without `features`",
        "for `features`, export a small `nn.Module` whose forward calls it",
    ),
    16: ("note", "`@torch.jit.ignore` means nothing", "make an operator with `torch.library.custom_op`"),
    24: ("note", "is False while torch.export traces", "write `torch.compiler.is_exporting()`"),
    30: ("note", "traces `clipped` as plain Python", "a branch on data in it is to be `torch.cond`"),
    36: ("note", "makes a TorchScript module", "`torch.export.export(model.eval(), args)`"),
    37: ("note", "with its weights as constants", "`torch.export.export(model.eval(), args)`"),
    38: ("note", "saves TorchScript", "`torch.export.save(program, path)`"),
    39: ("note", "records one run", "`torch.export.export(model.eval(), args)`"),
    41: ("error", "traces the wrapper of `torch.compile`", "`torch.export.export(model.eval(), args)`"),
    42: ("note", "loads TorchScript", "`torch.export.load(path).module()`"),
}
LIBRARY = """\
import torch
from torch import nn


@torch.jit.script
def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    @torch.jit.ignore
    def no_weight_decay(self):
        return {"body.bias"}

    def forward(self, x):
        if torch.jit.is_scripting() or not torch.jit.is_tracing():
            return gelu(self.body(x))
        return gelu(self.body(x.contiguous()))
"""


@pytest.fixture(scope="module")
def lines(say: Callable[..., str]) -> dict[int, str]:
    """What is said at each line."""
    found = say("check", DEPLOYED, "--mode", "both", "--output-format", "concise")
    placed = (text.split(":", 3) for text in found.splitlines() if text.startswith("net.py:"))
    return {int(line): text for _, line, _, text in placed if "[torchscript-remnant]" in text}


@pytest.mark.clause(
    "flag `torch.jit.script`, `@torch.jit.export`, `ignore`, `unused`, `script_if_tracing`, `is_scripting()`,"
    " mixtures of trace and script, a traced `torch.compile` result"
)
def test_each_is_flagged_as_loud_as_torch_takes_it(lines: dict[int, str]) -> None:
    assert sorted(lines) == sorted(SAID)
    for line, (severity, message, _) in SAID.items():
        assert lines[line].strip().startswith(f"{severity}[torchscript-remnant]"), lines[line]
        assert message in lines[line]


@pytest.mark.clause("say the export equivalent")
def test_each_says_the_equivalent(say: Callable[..., str]) -> None:
    advice = " ".join(say("check", DEPLOYED, "--mode", "both").split())
    for _, _, equivalent in SAID.values():
        assert equivalent in advice


def test_the_marks_that_libraries_carry_along_are_silent(say: Callable[..., str]) -> None:
    assert "Found nothing" in say("check", LIBRARY, "--mode", "both")


def test_an_unused_method_that_forward_calls_is_noted(say: Callable[..., str]) -> None:
    called = LIBRARY.replace("@torch.jit.ignore", "@torch.jit.unused").replace(
        "return gelu(self.body(x.contiguous()))", "return gelu(self.body(x)) * len(self.no_weight_decay())"
    )
    assert "note[torchscript-remnant] `@torch.jit.unused` means nothing to torch.export" in say("check", called)


@pytest.mark.clause("rewrite where it is mechanical")
def test_marks_and_scripted_submodules_are_taken_away(say: Callable[..., str]) -> None:
    written = say("fix", DEPLOYED, "--unsafe")
    assert "+        self.head = nn.Linear(4, 2)\n" in written
    for mark in ("export", "ignore", "unused", "script_if_tracing"):
        assert f"-    @torch.jit.{mark}\n" in written or f"-@torch.jit.{mark}\n" in written

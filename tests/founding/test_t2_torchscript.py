"""A model comes from TorchScript, with its calls and its marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    20: ("note", "`@torch.jit.unused` means nothing", "make an operator with `torch.library.custom_op`"),
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


def test_a_scripted_function_is_noted_once(say: Callable[..., str]) -> None:
    scripted = LIBRARY.replace("def gelu", "@torch.jit.script\ndef gelu").replace("class Block", HALVED + "class Block")
    found = say("check", scripted, "--mode", "both")
    assert "note[torchscript-remnant] torch.export looks through `gelu`, which is scripted" in " ".join(found.split())
    assert "Found 1 note" in found


HALVED = "@torch.jit.script\ndef halved(x):\n    return x / 2\n\n\n"


@pytest.mark.clause("rewrite where it is mechanical")
def test_marks_and_scripted_submodules_are_taken_away(tmp_path: Path) -> None:
    unsaved = "".join(
        line for line in DEPLOYED.splitlines(keepends=True) if "freeze" not in line and "save" not in line
    )
    (tmp_path / "net.py").write_text(unsaved, "utf-8")
    written = exportlint(tmp_path, "fix", ".", "--unsafe").stdout  # of a folder nothing runs
    assert "+        self.head = nn.Linear(4, 2)\n" in written
    assert "-        if torch.jit.is_scripting():\n" in written
    for mark in ("export", "ignore", "unused", "script_if_tracing"):
        assert f"-    @torch.jit.{mark}\n" in written or f"-@torch.jit.{mark}\n" in written


def test_what_is_saved_as_torchscript_is_scripted_as_before(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(DEPLOYED, "utf-8")
    written = exportlint(tmp_path, "fix", ".", "--unsafe").stdout
    assert "+        self.head = nn.Linear(4, 2)\n" in written
    for line in (
        "    scripted = torch.jit.script(model)",
        "    @torch.jit.ignore",
        "        if torch.jit.is_scripting():",
    ):
        assert f"-{line}\n" not in written


CLOUD = """\
from typing import List

import torch
from torch import Tensor, nn


@torch.jit.script
def pairwise(a: Tensor, b: Tensor) -> Tensor:
    return (a.unsqueeze(2) - b.unsqueeze(1)).pow(2).sum(-1)


@torch.jit.script
def nearest(d: Tensor, k: int) -> Tensor:
    return d.topk(k, dim=-1, largest=False).indices


class LocalMax(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.lin = nn.Linear(3, width)

    def forward(self, pts: Tensor, idx: Tensor) -> Tensor:
        b, n, k = idx.shape
        flat = idx.reshape(b, n * k, 1).expand(b, n * k, 3)
        return self.lin(pts.gather(1, flat).reshape(b, n, k, 3)).amax(2)


class CloudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = torch.jit.script(LocalMax(8))
        self.heads = nn.ModuleList([torch.jit.script(nn.Linear(8, 2)) for _ in range(2)])

    @torch.jit.export
    def embed(self, pts: Tensor) -> Tensor:
        return self.local(pts, nearest(pairwise(pts, pts), 3))

    def forward(self, pts: Tensor) -> List[Tensor]:
        z = self.embed(pts)
        return [head(z) for head in self.heads]


model = CloudNet()
example_args = (torch.rand(2, 10, 3),)
"""
SPEECH = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.jit import script, ignore


@torch.jit.script_if_tracing
def trim(x, n: int):
    if x.shape[-1] > n:
        x = x[..., :n]
    return x


def _mel(spec, bank):
    return spec @ bank


mel = script(_mel)


class Envelope(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 5, padding=2)

    def forward(self, x):
        if torch.jit.is_scripting():
            out = self.conv(x)
        else:
            out = self._fast(x)
        if not torch.jit.is_scripting():
            out = F.relu(out)
        return out

    @torch.jit.unused
    def _fast(self, x):
        return self.conv(x)

    @ignore
    def describe(self):
        return str(self.conv)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.rand(4, 6))
        self.env = Envelope()
        self.gate = script(nn.Sequential(nn.Linear(6, 6), nn.Sigmoid()))

    def forward(self, wave):
        m = mel(self.env(trim(wave, 32)).transpose(1, 2), self.bank)
        return m * self.gate(m)


model = Recogniser()
example_args = (torch.randn(2, 1, 40),)
"""
# All of it exports: there is nothing to mend, and TorchScript goes all the same.
WEATHER = """\
import torch
from torch import nn


@torch.jit.script
def wind(u: torch.Tensor, v: torch.Tensor):
    return (u * u + v * v).sqrt()


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)

    @torch.jit.export
    def speed(self, x):
        return wind(x[:, 0], x[:, 1])

    @torch.jit.unused
    def log(self, x):
        print(x.mean())

    def forward(self, x):
        if torch.jit.is_scripting() or x.dim() != 4:
            return x
        assert not torch.jit.is_scripting()
        y = self.conv(x)
        if not torch.jit.is_scripting():
            y = torch.jit.annotate(torch.Tensor, y.relu())
        return y + self.speed(x).unsqueeze(1)


model = Grid()
example_args = (torch.rand(2, 2, 5, 5),)
"""
# A scripted function that decides by data is refused; without the mark, the decision is mended, too.
BONDS = """\
import torch
from torch import nn


@torch.jit.script
def cutoff(d: torch.Tensor, r: float) -> torch.Tensor:
    if bool((d > r).any()):
        d = torch.where(d > r, torch.zeros_like(d), d)
    return d


class Bonds(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(cutoff(x, 0.5))


model = Bonds()
example_args = (torch.rand(3, 4),)
"""


@pytest.mark.slow
@pytest.mark.clause("rewrite where it is mechanical")
@pytest.mark.parametrize("source", [CLOUD, SPEECH, WEATHER, BONDS], ids=["cloud", "speech", "weather", "bonds"])
def test_the_plain_file_computes_the_same_and_exports(source: str, say: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(source, "utf-8")
    ended = say("fix", file, "--write")
    assert re.search(r"export-non-strict +\w+ +passed", ended), ended
    assert re.search(r"same-behaviour +passed", ended), ended
    assert "jit" not in file.read_text("utf-8")

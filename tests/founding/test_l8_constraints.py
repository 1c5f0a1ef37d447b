"""Samples break what is declared of sizes; sizes of two inputs must be equal; a test in the code narrows a size."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCORES = """\
import torch
from torch import nn
from torch.export import Dim


class Scores(nn.Module):
    def forward(self, queries, keys):
        scores = queries @ keys
        if queries.shape[0] <= 12:
            return torch.softmax(scores, -1)
        return scores


class TooFew(Scores):
    @staticmethod
    def inputs():
        return torch.randn(3, 6), torch.randn(6, 5)

    @staticmethod
    def dynamic_shapes():
        return {"queries": {0: Dim("rows", min=4, max=8)}, "keys": None}


class Declared(Scores):
    @staticmethod
    def inputs():
        return torch.randn(3, 6), torch.randn(6, 5)

    @staticmethod
    def dynamic_shapes():
        return {"queries": {0: Dim("rows", min=2, max=50), 1: Dim("inner")}, "keys": {0: Dim("other")}}
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", SCORES)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.clause("sample inputs that violate the declared constraints")
def test_a_sample_outside_of_its_range_is_a_sentence(report: str) -> None:
    assert "the sample's dim 0 of `queries` is 3, declared dynamic as `rows` from 4 to 8" in flat(report)


@pytest.mark.slow
@pytest.mark.clause("equality of dims across inputs (`x @ y`): a readable sentence, and the line that caused it")
def test_dims_that_meet_must_be_equal_at_their_line(report: str) -> None:
    said = "dim 1 of `queries` (declared dynamic as `inner`) and dim 0 of `keys` (`other`) must be equal at this line"
    assert said in flat(report)
    assert "scores = queries @ keys" in report


@pytest.mark.slow
@pytest.mark.clause("a size test in the code that narrows a dim: a readable sentence, and the line that caused it")
def test_a_test_of_a_size_narrows_the_dim_at_its_line(report: str) -> None:
    said = "dim 0 of `queries`, declared dynamic (from 2 to 50), can only be from 2 to 12 because of this line"
    assert said in flat(report)
    assert "if queries.shape[0] <= 12:" in report


@pytest.mark.slow
@pytest.mark.clause("the ready-to-paste `dynamic_shapes`")
def test_the_declaration_that_holds_can_be_pasted(report: str, tmp_path: Path) -> None:
    code = (
        'rows = Dim("rows", min=2, max=12)\n    inner = Dim("inner", min=1)\n'
        "    dynamic_shapes = {\n        'queries': {0: rows, 1: inner},\n        'keys': {0: inner},\n    }"
    )
    assert code in report
    pasted = code.replace("\n    ", "\n")
    (tmp_path / "pasted.py").write_text(SCORES + pasted + RUN, "utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# The specification is code, too: what is wrong with it, or with the sample, stands where it is written.

DECODER = """\
import torch
from torch import nn
from torch.export import Dim


class SpeechDecoder(nn.Module):
    def __init__(self, vocab=32, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens, memory, start=None):
        h = self.embed(tokens)
        if start is not None:
            h = h + start
        return self.out(h + memory.mean(1, keepdim=True))


if __name__ == "__main__":
    decoder = SpeechDecoder().eval()
    tokens = torch.randint(0, 32, (2, 5))
    memory = torch.randn(2, 7, 8)
    batch = Dim("batch", min=2, max=64)
    program = torch.export.export(
        decoder,
        (tokens, memory, None),
        dynamic_shapes={
            "tokens": {0: batch},
            "memory": {0: batch},
        },
    )
"""
RADAR = """\
import torch
from torch import nn
from torch.export import Dim, export


class RadarHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 3)

    def forward(self, echoes):
        near, far = echoes
        return self.lin(near) - self.lin(far)


n = Dim("n")
pair = (torch.randn(4, 6), torch.randn(4, 6))
program = export(RadarHead().eval(), (pair,), dynamic_shapes={"echoes": [{0: n}, {0: n}]})
"""
STEREO = """\
import torch
from torch import nn


class Stereo(nn.Module):
    def forward(self, batch, rate: int = 16000):
        return batch["left"] - batch["right"] * rate


def get_model():
    return Stereo().eval()


def get_inputs():
    return ({"left": torch.randn(3, 50), "right": torch.randn(3, 50)},)


def get_dynamic_shapes():
    n = torch.export.Dim("n", max=16)
    return {"left": {0: n}, "right": {0: n}}
"""
PRICE = """\
import torch
from torch import nn


class Price(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 1)

    def forward(self, features):
        return self.lin(features).squeeze(-1)


model = Price()
model.eval()
batch = torch.export.Dim("batch", min=1, max=128)
sample = torch.randn(1, 6)
program = torch.export.export(model, (sample,), dynamic_shapes={"features": {0: batch}})
"""
MADE = """\
import torch
from torch import nn
from torch.export import Dim, export


class Mixer(nn.Module):
    def forward(self, tracks, gain, pan=None):
        out = tracks[0] * gain + tracks[1]
        return out if pan is None else out * pan


batch = Dim("batch", min=2, max=32)
sample = ((torch.randn(4, 9), torch.randn(4, 9)), 0.5, torch.randn(4, 9))
spec = dict.fromkeys(["tracks", "pan"], {0: batch})
program = export(Mixer().eval(), sample, dynamic_shapes=spec)
"""


@pytest.mark.parametrize(
    ("source", "place", "instead"),
    [
        (DECODER, "net.py:27:24", "write `{'tokens': {0: batch}, 'memory': {0: batch}, 'start': None}`"),
        (RADAR, "net.py:18:73", "write `{'echoes': ({0: n}, {0: n})}`"),
        (STEREO, "net.py:20:12", "write `{'batch': {'left': {0: n}, 'right': {0: n}}}`"),
        (PRICE, "net.py:17:22", "use a sample of 2 or more there"),
    ],
    ids=["missing None", "list for tuple", "dict inside", "batch of one"],
)
@pytest.mark.clause("a specification that does not fit, and a sample of one, are errors where they are written")
def test_what_does_not_fit_is_found_at_its_literal(
    say: Callable[..., str], source: str, place: str, instead: str
) -> None:
    found = flat(say("check", source))
    assert "error[dynamic-shapes-misfit]" in found
    assert place in found
    assert f"instead: {instead}" in found


@pytest.mark.clause("the corrected text is written into the script")
def test_the_corrected_specification_and_sample_are_written(say: Callable[..., str]) -> None:
    assert '+        dynamic_shapes={"tokens": {0: batch}, "memory": {0: batch}, "start": None},' in say(
        "fix", DECODER, "--unsafe"
    )
    assert "+sample = torch.randn(2, 6)" in say("fix", PRICE, "--unsafe")


@pytest.mark.slow
@pytest.mark.clause("a trial tries the corrected specification, or a sample of two")
@pytest.mark.parametrize(
    ("source", "place", "tried"),
    [
        (
            DECODER,
            "net.py:27:24",
            "write `dynamic_shapes = {'tokens': {0: batch}, 'memory': {0: batch}, 'start': None}`",
        ),
        (PRICE, "net.py:17:22", "use a sample of 2 or more there, as this trial did: with 2 it exports"),
        (MADE, "net.py:15:1", "'tracks': ({0: batch}, {0: batch}), 'gain': None, 'pan': {0: batch}}`, as this trial"),
    ],
    ids=["missing None", "batch of one", "made by a call"],
)
def test_a_trial_says_what_it_saw_help(say: Callable[..., str], source: str, place: str, tried: str) -> None:
    found = flat(say("trial", source))
    assert found.count("error[dynamic-shapes-misfit]") == 1
    assert place in found
    assert "instead (verified): " in found
    assert tried in found
    assert "shown by no trial" not in found


RUN = """
model = Scores()
sample = torch.randn(3, 6), torch.randn(6, 5)
program = torch.export.export(model, sample, dynamic_shapes=dynamic_shapes).module()
for rows, inner in ((2, 1), (12, 9)):
    given = torch.randn(rows, inner), torch.randn(inner, 5)
    torch.testing.assert_close(program(*given), model(*given))
"""


MIX = """\
import torch
from torch import nn
from torch.export import Dim


class Mix(nn.Module):
    def forward(self, a, b):
        return a @ b


model = Mix()
example_args = (torch.randn(4, 6), torch.randn(6, 5))
dynamic_shapes = {"a": {1: Dim("k", min=8, max=64)}, "b": {0: Dim("k", min=8, max=64)}}
"""


@pytest.mark.clause("a sample outside of its range: which number to change, and a proposal with all sizes allowed")
def test_the_number_to_change_is_named_and_what_holds_is_proposed(say: Callable[..., str]) -> None:
    found = flat(say("trial", MIX))
    assert "give a sample with 8 or more instead of 6 there, or declare a range that has 6" in found
    assert "dynamic_shapes = { 'a': {1: a_1}, 'b': {0: a_1}, }" in found

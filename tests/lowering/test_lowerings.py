"""What every lowering is held to: compiled, run in a process of its own, compared, and explained where it differs."""

from pathlib import Path

import own_lowerings
import pytest
import scores
import torch
from inline_snapshot import snapshot
from proving import line, proved, the_one
from torch import nn

from exportlint.lowering.aotinductor import AOTInductor
from exportlint.lowering.executorch import ExecuTorch
from exportlint.lowering.saved_program import SavedProgram
from exportlint.trial.findings.wording.difference_messages import in_words

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The lowerings of these tests, in the processes that the tests start."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


class Structures(nn.Module):
    """Outputs of every shape, keyword inputs, a Python number among them."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, *, scale, mask=None, flag=True):
        y = self.linear(x) * scale
        return {"y": y if mask is None else y + mask, "number": 3, "none": None, "pair": [x + 1, (flag, x)]}


class Noise(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5, training=True)


class Two(nn.Module):
    def forward(self, x, y):
        z = torch.sigmoid(x) * y
        return z, x - y


class Scaled(nn.Module):
    """The trace keeps the first scale: what it computes later is wrong in the exported program already."""

    def forward(self, x):
        self.factor = getattr(self, "factor", 0) + 1
        return x * self.factor


PAIR = (torch.randn(2, 4), torch.randn(2, 4))


@pytest.mark.parametrize("lowering", [AOTInductor, ExecuTorch, SavedProgram])
def test_structures_keywords_and_plain_values_arrive_as_in_eager(lowering, tmp_path):
    if why := lowering({}).missing():
        pytest.skip(why)
    kwargs = {"scale": 2, "mask": torch.ones(4)}
    result = proved(lowering({}), Structures, (torch.randn(2, 4),), tmp_path, kwargs=kwargs)
    assert result.status == "passed", result
    assert result.detail.endswith("run in a fresh process: sample twice, other values")
    assert result.data["bytes"] == next((tmp_path / "artefact").iterdir()).stat().st_size


def test_random_values_are_not_held_against_the_target(tmp_path):
    result = proved(SavedProgram({}), Noise, (torch.ones(64),), tmp_path)
    assert result.status == "passed", result
    assert "only shapes were compared" in result.detail


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Swapped", "; the outputs come in another order: 1, 0"),
        ("Wearing", "; in a first call it gives what eager gives: an earlier call changes what it does"),
        ("Fewer", "eager returns 2 values, the lowered program 1"),
        ("FirstInput", "never reads the input `y`: it gives what the sample's `y` gives"),
    ],
)
def test_what_a_target_does_to_inputs_and_outputs_has_its_own_words(name, words, tmp_path):
    seen = the_one(proved(getattr(own_lowerings, name)({}), Two, PAIR, tmp_path), "differs")
    assert words in in_words(seen)
    assert line(seen) == "z = torch.sigmoid(x) * y"


def test_what_the_exported_program_does_too_is_not_the_targets_doing(tmp_path):
    seen = the_one(proved(SavedProgram({}), Scaled, (torch.ones(2),), tmp_path), "differs")
    assert in_words(seen).endswith("the exported program gives just that, so it is not the target's doing")


def test_a_runtime_that_crashes_ends_nothing_else(tmp_path):
    seen = the_one(proved(own_lowerings.Crashing({}), Two, PAIR, tmp_path), "crashed")
    assert seen.text.startswith("run: the process was ended by SIGSEGV; it printed: the kernel of the third call")


def test_a_runtime_that_hangs_ends_nothing_else(tmp_path):
    result = proved(own_lowerings.Hanging({}), Two, PAIR, tmp_path, seconds=8)
    assert the_one(result, "timed-out").text == snapshot(
        "load: no answer within 8 s; it printed: waiting for the device"
    )


def test_what_is_missing_is_told_with_its_command(tmp_path):
    result = proved(own_lowerings.Missing({}), Two, PAIR, tmp_path)
    assert (result.status, result.detail) == (
        "skipped",
        snapshot("no_such_runtime is not installed: pip install no-such-runtime"),
    )


def test_what_cannot_run_here_is_compiled_and_never_passed(tmp_path):
    result = proved(own_lowerings.CannotRun({}), Two, PAIR, tmp_path)
    assert (result.status, result.observations) == ("compiled", ())
    assert "compiled, not run" in result.detail


def test_a_node_that_torch_names_is_found(tmp_path):
    seen = the_one(proved(own_lowerings.Unserializable({}), Two, PAIR, tmp_path), "refused")
    assert line(seen) == "z = torch.sigmoid(x) * y"


class Classes(nn.Module):
    def forward(self, x):
        return scores.Scores(x - 1, x + 1)


def test_a_class_that_the_reader_does_not_know_is_refused_unless_it_is_imported(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    (tmp_path / "imported").mkdir()
    result = proved(SavedProgram({}), Classes, (torch.ones(2),), tmp_path)
    assert (result.status, result.data["step"]) == ("refused", "load")
    reader = SavedProgram({"imports": [("scores", scores.__file__)]})
    assert proved(reader, Classes, (torch.ones(2),), tmp_path / "imported").status == "passed"

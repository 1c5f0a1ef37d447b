"""What is exported is a method of a predictor, which is no `nn.Module`."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PREDICTOR = """\
import torch
from torch import nn


class Masks(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, points):
        return self.head(points)


class Predictor:
    def __init__(self, model):
        self.model = model

    def _predict(self, points):
        return torch.sigmoid(self.model(points))

    def save(self, path):
        program = torch.export.export(self._predict, (torch.randn(2, 4),))
        torch.export.save(program, path)


if __name__ == "__main__":
    predictor = Predictor(Masks().eval())
    torch.export.export(predictor._predict, (torch.randn(2, 4),))
"""
METHOD = (
    PREDICTOR.partition("\n\nif __name__")[0]
    + """

model = Predictor(Masks().eval())._predict
example_args = (torch.randn(2, 4),)
"""
)
FOREIGN = """\
import torch
from sam2.sam2_image_predictor import SAM2ImagePredictor

predictor = SAM2ImagePredictor.from_pretrained("facebook/sam2-hiera-tiny")
torch.export.export(predictor._predict, (torch.randn(1, 2, 2), torch.ones(1, 2)))
"""
WRAPPED = (
    PREDICTOR.partition("\n\nif __name__")[0]
    + """


class Predict(nn.Module):
    def __init__(self, predictor):
        super().__init__()
        self.predictor = predictor
        self.model = predictor.model

    def forward(self, points):
        return self.predictor._predict(points)


model = Predict(Predictor(Masks().eval()))
example_args = (torch.randn(2, 4),)
"""
)


@pytest.mark.clause("found statically at the export call")
def test_the_call_is_found_through_self_and_through_a_name(say: Callable[..., str]) -> None:
    found = say("check", PREDICTOR, "--output-format", "concise")
    assert "net.py:22:19: error[export-of-non-module] `self._predict` is a bound method" in found
    assert "net.py:28:5: error[export-of-non-module] `predictor._predict` is a bound method" in found
    assert "`predictor._predict` is a bound method" in say("check", FOREIGN)


@pytest.mark.clause(
    "the advice works for a predictor that is no module, whose weights then become constants: it says so"
)
def test_the_wrapper_of_the_advice_holds_the_modules_of_the_predictor(say: Callable[..., str]) -> None:
    found = " ".join(say("check", PREDICTOR).split())
    assert "export a small `nn.Module` whose forward calls it" in found
    assert "`self.model = predictor.model`" in found
    assert "weights that no module holds become constants" in found


class Predictor:
    def __init__(self) -> None:
        self.model = nn.Linear(4, 3)

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.model(x).relu()
        return result


class Wrapper(nn.Module):
    def __init__(self, predictor: Predictor, *, holds_model: bool) -> None:
        super().__init__()
        self.predictor = predictor
        if holds_model:
            self.model = predictor.model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.predictor.predict(x)


def test_what_the_advice_says_of_weights_is_what_torch_does() -> None:
    x = torch.randn(2, 4)
    without, held = (
        torch.export.export(Wrapper(Predictor(), holds_model=holds), (x,), strict=False) for holds in (False, True)
    )
    assert (len(without.constants), len(without.state_dict)) == (2, 0)
    assert (len(held.constants), len(held.state_dict)) == (0, 2)
    with pytest.raises(KeyError):
        torch.export.export(Wrapper(Predictor(), holds_model=False), (x,), strict=True)


@pytest.mark.slow
@pytest.mark.clause("found in a trial")
def test_a_trial_of_the_method_says_what_torch_refuses(say: Callable[..., str]) -> None:
    tried = " ".join(say("trial", METHOD, "--quick").split())
    assert "error[export-of-non-module] what is exported is a `method`" in tried
    assert "`forward` calls it" in tried


@pytest.mark.slow
@pytest.mark.clause("repair writes the wrapper module")
def test_the_file_with_the_wrapper_exports(say: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PREDICTOR, "utf-8")
    written = say("fix", file, "--unsafe", "--write")
    assert "+class PredictorPredict(torch.nn.Module):" in written
    assert "+        self.model = predictor.model" in written
    names = runpy.run_path(str(file), run_name="net")
    program = torch.export.export(
        names["PredictorPredict"](names["Predictor"](names["Masks"]().eval())), (torch.randn(2, 4),)
    )
    assert len(program.state_dict) == 2
    left = say("check", file)  # the script was run, and what it never ran was not tried
    assert "`self._predict` is a bound method" in left
    assert "Found 1 error" in left


@pytest.mark.slow
@pytest.mark.clause("the wrapped target exports")
def test_the_wrapper_of_the_advice_exports_and_agrees(say: Callable[..., str]) -> None:
    tried = say("trial", WRAPPED, "--mode", "both")
    assert "agrees with eager" in tried
    assert "refused" not in tried


STEERED = """\
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.masks = nn.Linear(4, 3)

    def forward(self, x, multimask_output: bool = True):
        masks = self.masks(x)
        if multimask_output:
            masks = masks[:, 1:]
        else:
            masks = masks[:, :1]
        return masks


model = Decoder().eval()
example_args = (torch.randn(2, 4), True)
"""


@pytest.mark.slow
@pytest.mark.clause("an argument that decides a branch is named at the branch, with the value that is fixed")
def test_a_flag_that_is_fixed_in_the_program_stands_at_its_branch(say: Callable[..., str]) -> None:
    found = " ".join(say("trial", STEERED, "--output-format", "concise").split())
    assert "net.py:12:" in found
    assert "the argument `multimask_output` decides this branch, and its value `True` is fixed in the program" in found


# Under another name.

MONITOR = """\
import torch
from torch import nn


class HeartRate:
    def __init__(self):
        self.filter = nn.Conv1d(1, 4, 5, padding=2)
        self.readout = nn.Linear(4, 1)

    def rate(self, ecg):
        h = torch.relu(self.filter(ecg)).mean(-1)
        return self.readout(h)


if __name__ == "__main__":
    monitor = HeartRate()
    entry = monitor.rate
    ecg = torch.randn(2, 1, 64)
    program = torch.export.export(entry, (ecg,))
    print(program.module()(ecg).shape)
"""
PROPOSER = """\
import torch
from torch import nn
from torch.export import export


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.enc(x)

    def propose(self, x, threshold: float = 0.5):
        return (torch.sigmoid(self.enc(x)) > threshold).float()


def main():
    model = Segmenter().eval()
    fn = model.propose
    return export(fn, args=(torch.randn(1, 3, 8, 8),))


if __name__ == "__main__":
    print(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "told"),
    [(MONITOR, "net.py:19:15: error[export-of-non-module] `entry`"), (PROPOSER, "net.py:21:12: error[export-of-non")],
    ids=["of a plain object", "of a model, in a function"],
)
@pytest.mark.clause("found statically at the export call, and the wrapper written into the script, under an alias too")
def test_an_alias_is_found_and_the_script_with_the_wrapper_runs(
    say: Callable[..., str], tmp_path: Path, source: str, told: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(source, "utf-8")
    assert told in say("check", file, "--output-format", "concise")
    say("fix", file, "--unsafe", "--write")
    runpy.run_path(str(file), run_name="__main__")

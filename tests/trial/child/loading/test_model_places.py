"""Where findings stand that torch names no line for: at the model's own class, parameters and returns."""

from __future__ import annotations

from pathlib import Path

import torch
from sources import line_of

from exportlint.trial.child.loading.module_wrapper import wrapped
from exportlint.trial.child.stages.load import ModelPlaces

HERE = Path(__file__).resolve()


class Net(torch.nn.Module):  # the class
    def __init__(self) -> None:
        super().__init__()

    @torch.no_grad()
    def forward(  # forward
        self,
        x: torch.Tensor,
        scale: float = 2.0,  # a parameter
    ) -> torch.Tensor:
        if scale > 1:
            return x * scale  # the first return
        return x


def function(x: torch.Tensor) -> torch.Tensor:  # a function
    return x * 2


def line(mark: str) -> int:
    return line_of(f"# {mark}", HERE)


def test_of_a_class() -> None:
    places = ModelPlaces(Net()).to_dict()
    assert (places["path"], places["class"], places["forward"]) == (str(HERE), line("the class"), line("forward"))
    assert places["parameters"]["scale"] == line("a parameter")
    assert places["returns"][0] == line("the first return")


def test_of_a_wrapped_function_those_of_the_function() -> None:
    places = ModelPlaces(wrapped(function)).to_dict()
    assert (places["path"], places["class"], places["forward"]) == (str(HERE), line("a function"), line("a function"))


def test_code_of_a_library_has_none() -> None:
    assert ModelPlaces(torch.nn.Sequential(torch.nn.ReLU())).to_dict() == {}

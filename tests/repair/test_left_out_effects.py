"""What a model does only where nobody exports is not missed in the program; what it computes there is."""

import pytest
from trials import tried

pytestmark = pytest.mark.slow

MODELS = """\
import torch
from torch import nn


class Prints(nn.Module):
    def forward(self, x):
        print("forward")
        return x * 2

    inputs = staticmethod(lambda: (torch.ones(3),))


class PrintsInEagerOnly(nn.Module):
    def forward(self, x):
        if not torch.compiler.is_exporting():
            print("forward")
        return x * 2

    inputs = staticmethod(lambda: (torch.ones(3),))


class WritesToTheCallerInEagerOnly(nn.Module):
    def forward(self, batch):
        if torch.compiler.is_exporting():
            batch = dict(batch)
        batch["y"] = batch["x"] * 2
        return batch["y"] + 1

    inputs = staticmethod(lambda: ({"x": torch.ones(3)},))


class ComputesSomethingElse(nn.Module):
    def forward(self, x):
        if not torch.compiler.is_exporting():
            print("forward")
            return x * 3
        return x * 2

    inputs = staticmethod(lambda: (torch.ones(3),))
"""
PASSING = ("PrintsInEagerOnly", "WritesToTheCallerInEagerOnly")
FAILING = ("Prints", "ComputesSomethingElse")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "models.py"
    path.write_text(MODELS, "utf-8")
    return {name: tried(f"{path}:{name}")[name] for name in (*PASSING, *FAILING)}


@pytest.mark.parametrize("name", PASSING)
def test_what_is_left_out_of_the_export_on_purpose_is_no_difference(reports, name):
    assert reports[name].stage("export-non-strict").passed
    assert reports[name].stage("soundness").passed


@pytest.mark.parametrize("name", FAILING)
def test_the_rest_is(reports, name):
    assert reports[name].stage("soundness").status == "differs"

"""No copy that a trial makes of a model changes an outcome: what torch says of the model itself is what a trial says."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from exportlint.trial.child.loading.as_first import AsFirst

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What a deep copy of each breaks, or leaves to the original. All have a linear layer `l` of four to four.
MODELS = {
    "traced part": (
        "self.part = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval(), torch.ones(2, 4))",
        "return self.l(self.part(x))",
    ),
    "scripted part": (
        "self.part = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))",
        "return self.l(self.part(x))",
    ),
    "scripted function": ("self.f = torch.jit.script(doubled)", "return self.l(self.f(x))"),
    "hook that closes over the model": (
        "self.l.register_forward_hook(lambda part, args, out: out * self.g)\nself.g = nn.Parameter(torch.tensor(2.0))",
        "return self.l(x)",
    ),
    "hook that keeps what it saw": (
        "self.seen = {}\nself.l.register_forward_hook(lambda part, args, out: self.seen.update(l=out))",
        "return self.l(x) + self.seen['l']",
    ),
    "hook that is a method": (
        "self.l.register_forward_pre_hook(self.before)\nself.g = nn.Parameter(torch.full((4,), 3.0))",
        "return self.l(x)",
        "def before(self, part, args):\n    return (args[0] * self.g,)",
    ),
    "old weight_norm": ("self.l = nn.utils.weight_norm(self.l)", "return self.l(x)"),
    "parametrization": ("nn.utils.parametrizations.spectral_norm(self.l)", "return self.l(x)"),
    "parametrization with a state": ("nn.utils.parametrize.register_parametrization(self.l, 'weight', Masked())", "return self.l(x)"),
    "tied parameters": ("self.m = nn.Linear(4, 4)\nself.m.weight = self.l.weight\nself.n = self.l", "return self.n(self.m(self.l(x)))"),
    "class of parameters": ("self.w = Weight(torch.ones(4, 4))", "return self.l(x) @ self.w"),
    "generator": ("self.g = torch.Generator().manual_seed(3)", "return self.l(x) + torch.rand(4, generator=self.g)"),
    "lock and file": (
        "self.lock, self.log = threading.Lock(), open('/dev/null')\nself.register_buffer('n', torch.zeros(()))",
        "return self.l(x) * self.n.add_(1)",
    ),
    "computed attribute": ("self.w = self.l.weight.t() * 2", "return self.l(x) @ self.w"),
    "own copy": ("self.extra = torch.ones(4)", "return self.l(x) + self.extra\ndef __deepcopy__(self, memo):\n    return Plain()"),
    "own state": (
        "self.extra = torch.ones(4)",
        "return self.l(x) + self.extra",
        "def __getstate__(self):\n    return {**vars(self), 'extra': torch.zeros(4)}",
    ),
    "weak reference": ("self.owner = weakref.ref(self)", "return self.owner().l(x)"),
    "weak proxy whose object is gone": ("self.owners = [weakref.proxy(nn.Linear(1, 1))]", "return self.l(x)"),
    "dict of ids": ("self.scales = {id(self.l): 3.0}", "return self.l(x) * self.scales[id(self.l)]"),
    "dict of parameters": ("self.scales = {self.l.weight: 3.0}", "return self.l(x) * self.scales[self.l.weight]"),
    "function that closes over the model": ("self.f = lambda y: y * self.l.bias", "return self.f(self.l(x))"),
    "layer of the file": ("self.l = SHARED", "return self.l(x) + SHARED(x)"),
}  # fmt: skip

FILE = """
import threading
import weakref

import torch
from torch import nn

torch.manual_seed(0)
SHARED = nn.Linear(4, 4)
GONE = weakref.proxy(nn.Linear(1, 1))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(4, 4).triu())

    def forward(self, weight):
        return weight * self.kept


class Weight(nn.Parameter):
    pass


def doubled(x):
    return x * 2


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        return self.l(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        {init}

    def forward(self, x):
        {forward}

{methods}


model = Model().eval()
example_args = (torch.ones(2, 4),)
"""

# Each model in each mode in a process of its own, loaded twice: once for eager and once for torch.export.
PLAIN = """
import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path

import torch
import torch._dynamo
import torch.export._trace

warnings.simplefilter("ignore")
torch.export.export(torch.nn.Identity(), (torch.ones(1),))  # imports the rest, once


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(path, strict):
    ours, theirs = loaded(path, "ours"), loaded(path, "theirs")
    try:
        program = torch.export.export(theirs.model, theirs.example_args, strict=strict).module()
    except Exception:
        return "refused"
    same = all(torch.equal(ours.model(*ours.example_args), program(*theirs.example_args)) for _ in range(2))
    return "agrees" if same else "differs"


for path in sorted(Path(sys.argv[1]).glob("*.py")):
    for mode in ("non-strict", "strict"):
        if os.fork() == 0:
            print(json.dumps([path.name, mode, outcome(path, mode == "strict")]), flush=True)
            os._exit(0)
        os.wait()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    for name, (init, forward, *methods) in MODELS.items():
        text = FILE.format(
            init=indent(init, " " * 8).strip(), forward=forward, methods=indent("\n\n".join(methods), " " * 4)
        )
        (folder / f"{name.replace(' ', '_')}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[tuple[str, str], str]:
    """(file, mode) -> what torch says without exportlint."""
    done = subprocess.run([sys.executable, "-c", PLAIN, str(folder)], capture_output=True, text=True, check=True)
    return {(name, mode): outcome for name, mode, outcome in map(json.loads, done.stdout.splitlines())}


def trial_of(*paths: Path, options: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
    """File, mode, and what a trial says."""
    command = [sys.executable, "-m", "exportlint", "trial", *map(str, paths), "--mode", "both", *options]
    done = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True, check=False)
    for target in json.loads(done.stdout)["targets"]:
        status = {one["name"]: one["status"] for one in target["stages"]}
        assert status["eager"] == "passed", target["name"]
        for mode in ("non-strict", "strict"):
            outcome = status[f"export-{mode}"]
            if outcome == "passed":
                outcome = "differs" if status.get("soundness") == "differs" else "agrees"
            yield Path(target["name"]).name, mode, outcome


@pytest.mark.slow
def test_a_trial_says_what_torch_says_without_it(folder: Path, plain: dict[tuple[str, str], str]) -> None:
    assert len(plain) == 2 * len(MODELS)
    assert {(name, mode): outcome for name, mode, outcome in trial_of(folder, options=["--quick"])} == plain


@pytest.mark.slow
def test_a_program_is_compared_with_eager_of_the_model_itself(folder: Path, plain: dict[tuple[str, str], str]) -> None:
    names = (
        "scripted_part.py",
        "hook_that_keeps_what_it_saw.py",
        "lock_and_file.py",
        "own_state.py",
        "weak_proxy_whose_object_is_gone.py",
    )
    found = list(trial_of(*(folder / name for name in names)))
    assert found
    assert all(plain[name, mode] == outcome for name, mode, outcome in found)


class Counts(nn.Module):
    """Changes everything that it has, and cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.norm = nn.BatchNorm1d(2)
        self.calls, self.rows = 0, deque([1], maxlen=2)
        self.seen = {"first": [0]}
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.rows.append(self.calls)
        self.seen["first"].append(self.calls)
        self.seen[f"call {self.calls}"] = []
        drawn = torch.rand(2, generator=self.generator)
        return self.norm(x) * self.calls + drawn + len(self.seen) + len(self.seen["first"]) + self.rows[0]


def test_what_cannot_be_copied_is_put_back() -> None:
    make, x = AsFirst(Counts()), torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    first = [make()(x) for _ in range(3)]
    for other in first[1:]:
        torch.testing.assert_close(other, first[0])
    model = make()
    assert model is make()
    assert (model.calls, list(model.rows), model.seen, model.norm.running_mean.tolist()) == (
        0,
        [1],
        {"first": [0]},
        [0, 0],
    )


def test_the_first_use_is_the_model_and_later_ones_are_copies_of_what_it_was() -> None:
    model = nn.BatchNorm1d(2)
    make = AsFirst(model)
    assert make() is model
    model(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    later = make()
    assert later is not model
    assert later.running_mean.tolist() == [0, 0]

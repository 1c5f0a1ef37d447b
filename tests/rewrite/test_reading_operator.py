"""What forward reads from the world in each call, its program reads in each call, too."""

from __future__ import annotations

import io
import itertools
import linecache
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.proposed import proposed

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")

HEAD = """\
import functools
import json
import os
import time
from datetime import datetime

import torch
from torch import Tensor, nn

NAME = "EXPORTLINT_TEST_GAIN"


def gain():
    return float(os.environ.get(NAME, "1"))


def from_file() -> float:
    with open(os.environ["EXPORTLINT_TEST_FILE"]) as file:
        return json.load(file)["gain"]


@functools.cache
def kept():
    return float(os.environ["EXPORTLINT_TEST_GAIN"])


class Net(nn.Module):
    def __init__(self, base=0.5, prefix="EXPORTLINT_TEST_"):
        super().__init__()
        self.base = base
        self.prefix = prefix

    def strength(self):
        raw = os.environ.get(self.prefix + "GAIN")
        if raw is None:
            return 1.0
        return float(raw)

    def forward(self, x: Tensor, scale: float = 2.0):
"""


_COUNT = itertools.count()
READ = {
    "return x * (float(os.environ[NAME]) + self.base)": (
        "os.environ[NAME]",
        "return x * (read_net(self.base).item())",
    ),
    'return x + len(os.environ.get(NAME, "")) * scale': ('os.environ.get(NAME, "")', "read_net(scale).item()"),
    "raw = os.environ[NAME]\nvalue = float(raw)\nreturn x - value": ("os.environ[NAME]\n", "value = read_net().item()"),
    "return x * gain()": ('os.environ.get(NAME, "1")', "return read_gain().item()"),
    "return x * from_file()": ('open(os.environ["EXPORTLINT_TEST_FILE"])', "return read_from_file().item()"),
    "return x * self.strength()": ('os.environ.get(self.prefix + "GAIN")', "return read_strength(self.prefix).item()"),
    'return torch.where(x > 0, x, x * (os.environ[NAME] == "2.5"))': ("os.environ[NAME] ==", "dtype=torch.bool"),
}


@pytest.mark.parametrize(("lines", "place", "after"), [(lines, *rest) for lines, rest in READ.items()])
def test_the_program_reads_in_each_call(
    lines: str, place: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _with(lines)
    (new,) = proposed(text, place, "reading-operator")
    assert after in new
    file = tmp_path / "gain.json"
    monkeypatch.setenv("EXPORTLINT_TEST_FILE", str(file))

    def world(value: str) -> None:
        monkeypatch.setenv("EXPORTLINT_TEST_GAIN", value)
        file.write_text(f'{{"gain": {value}}}')

    x = torch.randn(3, 4)
    world("1.5")
    old, edited = _built(text)["Net"](), _built(new)["Net"]()
    programs = []
    for strict in (False, True):
        exported, saved = torch.export.export(edited, (x,), strict=strict), io.BytesIO()
        torch.export.save(exported, saved)
        saved.seek(0)
        programs += [exported.module(), exported.run_decompositions().module(), torch.export.load(saved).module()]
    seen = []
    for value in ("1.5", "2.5", "12.75"):
        world(value)
        seen.append(old(x))
        for one in (edited, *programs):
            assert torch.equal(one(x), seen[-1])
            assert one(x).dtype is seen[-1].dtype
    assert not torch.equal(seen[0], seen[-1]) or not torch.equal(seen[0], seen[1])


def test_a_clock_goes_on_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    (new,) = proposed(_with("return x * (time.time() - 5)"), "time.time()", "reading-operator")
    names = _built(new)
    program = torch.export.export(names["Net"](), (torch.ones(2),)).module()
    for now in (7.0, 9.5):
        monkeypatch.setattr("time.time", lambda now=now: now)
        assert torch.equal(program(torch.ones(2)), torch.full((2,), now - 5))


DRAWN = {
    "g = torch.Generator()\n        g.manual_seed(self.seed)\n        mask = torch.rand(x.shape, generator=g) > 0.5": "mask",
    "g = torch.Generator().manual_seed(7)\n        mask = torch.randint(0, 5, x.shape[1:], generator=g)": "a batch less",
    "mask = torch.randn(x.size(0), 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)": "in a line",
    "with torch.random.fork_rng():\n            torch.manual_seed(self.seed)\n            mask = 2 * torch.randn(x.shape)": (
        "a fork"
    ),
    "torch.manual_seed(self.seed)\n        mask = torch.rand(x.shape[1])": "torch's own generator",
    "mask = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(self.seed))": "an order",
}


@pytest.mark.parametrize("lines", DRAWN, ids=DRAWN.values())
def test_what_is_drawn_from_a_seed_is_the_same_in_the_program(lines: str) -> None:
    text = f"""
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed = 5

    def forward(self, x: Tensor):
        {lines}
        return x * mask
"""
    (new,) = proposed(
        text, "torch.manual_seed(" if "torch.manual" in lines else "torch.Generator()", "drawing-operator"
    )
    old, edited = _built(text)["Net"](), _built(new)["Net"]()
    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(edited, (torch.randn(3, 4),), dynamic_shapes=[{0: rows}])
    x = torch.randn(5, 4, requires_grad=True)
    for one in (edited, program.module(), program.run_decompositions().module()):
        for _ in range(2):
            torch.manual_seed(1)
            expected = old(x)
            after = torch.rand(1)
            torch.manual_seed(1)
            got = one(x)
            assert torch.equal(got, expected)
            assert torch.equal(torch.rand(1), after)  # torch's own generator goes on as it did
            assert torch.equal(*(torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)))


@pytest.mark.parametrize("lines", [
    "g = torch.Generator().manual_seed(3)\n        mask = torch.rand(x.shape, generator=g) + torch.rand(4, generator=g)",
    "mask = torch.rand(x.shape, generator=self.generator.manual_seed(3))",
    "mask = torch.rand(x.shape, generator=torch.Generator())",
    "torch.manual_seed(3)\n        y = x + 1\n        mask = torch.rand(x.shape)",
    "torch.manual_seed(3)\n        mask = torch.rand_like(x) + torch.rand(x.shape)",
])  # fmt: skip
def test_what_goes_on_from_draw_to_draw_is_left(lines: str) -> None:
    text = f"""
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def forward(self, x: Tensor):
        {lines}
        return x * mask
"""
    assert proposed(text, "torch.rand(x.shape", "drawing-operator") == []


OF_TENSORS = {
    'return x * float(repr(x.sum())[7:].rstrip(")").split(",")[0])': "repr(x.sum())",
    "return x * self.first(x)": "repr(t)",
    'return torch.where(torch.tensor(self.text(x).startswith("-")), x, -x)': 'f"{t.mean()',
    "n = int(statistics.median(x.flatten().tolist()) * 10)\n        return x - n": "statistics.median(x.f",
}


@pytest.mark.parametrize(("lines", "place"), OF_TENSORS.items())
def test_a_number_that_python_makes_of_tensors_is_made_by_an_operator(lines: str, place: str) -> None:
    text = f"""
import re
import statistics
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def first(self, t):
        found = re.search(r"-?[0-9]+[.][0-9]+", repr(t))
        return float(found.group()) if found else 0.0

    def text(self, t):
        return f"{{t.mean():.1f}}"

    def forward(self, x: Tensor):
        {lines}
"""
    (new,) = proposed(text, place, "number-operator")
    old, edited = _built(text)["Net"](), _built(new)["Net"]()
    program = torch.export.export(edited, (torch.randn(3, 4),))
    for _ in range(3):
        x = torch.randn(3, 4, requires_grad=True)
        for one in (edited, program.module(), program.run_decompositions().module()):
            assert torch.equal(one(x), old(x))
            assert torch.equal(*(torch.autograd.grad(y(x).sum(), x)[0] for y in (one, old)))


@pytest.mark.parametrize(("lines", "place"), [
    ("return x * float(repr(self.lin(x))[8:12])", "repr(self.lin(x))"),  # the model changes
    ("return x * float(repr(x.add_(1))[8:12])", "repr(x.add_(1))"),
    ("return x * float(repr(torch.rand(2))[8:12])", "repr(torch.rand(2))"),
    ("return {repr(x): x}", "repr(x)"),
])  # fmt: skip
def test_what_does_more_than_to_make_a_number_is_left(lines: str, place: str) -> None:
    text = f"""
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor):
        {lines}
"""
    assert proposed(text, place, "number-operator") == []


@pytest.mark.parametrize(("lines", "place"), [
    ('return x if os.environ.get(NAME, "a") in ("a", x) else -x', 'os.environ.get(NAME, "a")'),  # a tensor is in it
    ("return {os.environ[NAME]: x}", "os.environ[NAME]"),  # a text
    ('return x * (json.loads(os.environ[NAME]).get("gain") or 2)', "os.environ[NAME]"),  # of any type
    ("return x * kept()", 'os.environ["EXPORTLINT_TEST_GAIN"]'),  # would keep the number of the trace
    ("return x * float(os.environ[self.prefix + self.unknown])", "os.environ[self"),
])  # fmt: skip
def test_what_an_operator_cannot_read_is_left(lines: str, place: str) -> None:
    assert proposed(_with(lines), place, "reading-operator") == []


def test_the_operators_of_two_files_of_one_name_are_two() -> None:
    plain = _with("return x * gain()")
    texts = [
        _with("return x * (float(os.environ[NAME]) + 1)"),
        _with("return x * (float(os.environ[NAME]) + 2)"),
        plain,
        plain.replace('NAME = "EXPORTLINT_TEST_GAIN"', 'NAME = "EXPORTLINT_TEST_LOSS"'),  # what the body reads
    ]
    places = ["os.environ[NAME]"] * 2 + ['os.environ.get(NAME, "1")'] * 2
    made = [re.findall(r'"model::(\w+)"', text) for one, place in zip(texts, places, strict=True)
            for text in proposed(one, place, "reading-operator")]  # fmt: skip
    assert len({name for (name,) in made}) == len(texts)
    (again,) = proposed("# a comment\n" + plain, places[-1], "reading-operator")
    assert made[2][0] in again


def _with(lines: str) -> str:
    return HEAD + "".join(f"        {one}\n" for one in lines.splitlines())


def _built(text: str) -> dict[str, Any]:
    """As a module of its own name: strict mode imports by name the module of what it traces."""
    name = f"reading_{next(_COUNT)}"
    linecache.cache[f"{name}.py"] = len(text), None, text.splitlines(keepends=True), f"{name}.py"
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), vars(module))  # noqa: S102 - it is ours
    return vars(module)

"""What moves to `__init__`, what does not, and draws of torch's in the place of Python's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """
import json
import os
import random
import time
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.path = "settings.json"

    def forward(self, x):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "at", "in_init", "in_forward"),
    [
        ('return x * float(os.environ.get("SCALE", "1"))', "os.environ.get",
         'self.scale = float(os.environ.get("SCALE", "1"))', "return x * self.scale"),
        ("return x if torch.cuda.is_available() else -x", "torch.cuda.is_available()",
         "self.cuda_is_available = torch.cuda.is_available()", "return x if self.cuda_is_available else -x"),
        ("return x * len(os.path.abspath(self.path))", "os.path.abspath",
         "self.path_abspath = len(os.path.abspath(self.path))", "return x * self.path_abspath"),
    ],
)  # fmt: skip
def test_what_reads_nothing_of_the_call_is_asked_once(line: str, at: str, in_init: str, in_forward: str) -> None:
    (text, *_) = proposed(_NET.format(line=line), at, "made-once")
    init, forward = text.split("def forward")
    assert in_init in init
    assert in_forward in forward


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("return x * time.time()", "time.time()"),
        ("return x * os.getpid()", "os.getpid()"),
        ("return x * len(os.path.abspath(str(x)))", "os.path.abspath"),
        ("return x + id(self)", "id(self)"),
    ],
)
def test_what_is_of_the_moment_or_of_the_call_stays(line: str, at: str) -> None:
    assert proposed(_NET.format(line=line), at, "made-once") == []


def test_a_layer_of_the_first_call_is_built_with_the_module() -> None:
    text = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = None
            def forward(self, x):
                if self.act is None:
                    self.act = nn.PReLU()
                return self.act(x)
    """
    (new, *_) = proposed(text, "self.act = nn.PReLU()", "made-once")
    init, forward = new.split("def forward")
    assert "self.act = nn.PReLU()" in init
    assert "is None" not in forward


def test_a_seeded_generator_is_left_alone() -> None:
    line = "random.seed(0)\n        return x * random.random()"
    assert proposed(_NET.format(line=line), "random.random()", "made-once") == []


@settings(max_examples=20, deadline=None)
@given(st.integers(-5, 5), st.integers(1, 9))
def test_draws_of_torch_have_the_range_of_those_of_python(low: int, width: int) -> None:
    for draw in (f"random.uniform({low}, {low + width})", f"random.randint({low}, {low + width})"):
        (text, *_) = proposed(_NET.format(line=f"return x * {draw}"), draw, "made-once")
        names: dict[str, object] = {}
        exec(text, names)  # noqa: S102 - made above
        torch.manual_seed(width)
        drawn = [names["Net"]()(torch.tensor(1.0)).item() for _ in range(20)]  # type: ignore[operator]
        random.seed(width)
        assert all(low <= one <= low + width for one in drawn)
        assert len(set(drawn)) > 1


def test_orders_are_drawn_as_permutations() -> None:
    for line, at, new in (
        ("return x[torch.from_numpy(np.random.permutation(len(x)))]", "np.random.perm", "x[torch.randperm(len(x))]"),
        ("return x[random.sample(range(4), 2)]", "random.sample(", "[torch.randperm(len(range(4)))[:2]]"),
    ):
        assert any(new in one for one in proposed(_NET.format(line=line), at, "made-once"))


def test_what_cuts_a_tensor_is_drawn_as_a_symbol() -> None:
    lines = "f = random.randint(1, 3)\n        start = random.randint(0, x.shape[0] - f)\n        x = x.clone()\n"
    text = _NET.format(line=f"{lines}        x[start:start + f] = 0\n        return x")
    new = proposed(text, "random.randint(1, 3)", "made-once")[0]
    assert "f = torch.randint(1, 3 + 1, ()).item()" in new
    assert "start = torch.randint(0, x.shape[0] - f + 1, ()).item()" in new
    names: dict[str, Any] = {}
    exec(new, names)  # noqa: S102 - made above
    x = torch.ones(9)
    program = torch.export.export(names["Net"](), (x,), strict=False).module()
    for net in (names["Net"](), program):
        cut = [(net(x) == 0).nonzero().flatten() for _ in range(200)]
        assert {len(one) for one in cut} == {1, 2, 3}
        assert {int(one.min()) for one in cut} == {*range(9)}
        assert all(len(one) == one.max() - one.min() + 1 for one in cut)


def test_what_a_seeded_generator_gives_is_drawn_once() -> None:
    text = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seed = 3

        def forward(self, x):
            g = torch.Generator()
            g.manual_seed(self.seed)
            return x * torch.rand(3, generator=g)
    """
    (new, *_) = proposed(text, "torch.Generator()", "made-once")
    init, forward = new.split("def forward")
    assert "torch.rand(3, generator=g)" in init
    assert "return x * self.rand" in forward
    assert "manual_seed" not in forward


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        (
            ["with torch.random.fork_rng(devices=[]):", "    torch.manual_seed(7)", "    noise = torch.randn(2, 3)",
             "    x = x + noise[0]", "return x * torch.rand(3)"],
            ["noise = self.noise", "x = x + noise[0]", "return x * torch.rand(3)"],
        ),
        (
            ["torch.manual_seed(7)", "return x * torch.rand(1, 3, device=x.device) + torch.randn(3)"],
            ["return x * self.rand + self.randn"],
        ),
        (
            ["g = torch.Generator().manual_seed(7)", "a = torch.rand(3, generator=g)",
             "return x + a * torch.randn(3, generator=g) + torch.rand(3)"],
            ["a = self.a", "return x + a * self.randn + torch.rand(3)"],
        ),
    ],
    ids=["beside the generator", "of torch", "of a generator, twice"],
)  # fmt: skip
def test_what_follows_a_seed_is_drawn_once_and_the_next_draw_is_as_before(lines: list[str], after: list[str]) -> None:
    body = "\n        ".join(lines)
    text = f"""import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        {body}
"""
    at = next(one.strip() for one in lines if "manual_seed" in one)
    (new, *_) = proposed(text, at, "made-once")
    assert [line.strip() for line in new.rpartition("def forward(self, x: torch.Tensor):\n")[2].splitlines()] == after
    given = []
    for source in (text, new):
        names: dict[str, Any] = {}
        exec(compile(source, "net", "exec"), names)  # noqa: S102 - the text is ours
        torch.manual_seed(0)
        net, x = names["Net"](), torch.ones(2, 3)
        torch.manual_seed(1)
        given.append([net(x), net(x)])
    assert all(torch.equal(old, again) for old, again in zip(*given, strict=True))


@pytest.mark.parametrize(
    "line",
    [
        "return torch.randn_like(x)",
        "return sum(torch.rand(3) for _ in range(2))",
        "return x + torch.rand(3) * torch.rand(x.sum().long().item())",
    ],
)
def test_a_draw_that_the_call_shapes_stays(line: str) -> None:
    text = f"""import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        torch.manual_seed(7)
        {line}
"""
    assert not any('register_buffer("rand' in new for new in proposed(text, "torch.manual_seed(7)", "made-once"))


@pytest.mark.parametrize(
    ("lines", "at", "after"),
    [
        (["with torch.random.fork_rng(devices=[]):", "    torch.manual_seed(7)",
          "    noise = torch.randn(x.shape, dtype=x.dtype)", "return x + noise"], "torch.manual_seed(7)",
         ["noise = self.noise.reshape(x.shape).to(x.dtype)", "return x + noise"]),
        (["self.g.manual_seed(7)", "return x + torch.rand(x.shape[0], 1, generator=self.g)"], "self.g.manual_seed(7)",
         ["return x + self.rand.reshape((x.shape[0], 1))"]),
        (["torch.manual_seed(7)", "return x + torch.randn_like(x)"], "torch.manual_seed(7)",
         ["return x + self.randn_like.reshape(x.shape).to(x)"]),
        (["return x + self.source.draw(x.size(), 3)"], "g = torch.Generator()", ["return x + self.source.draw(x.size(), 3)"]),
    ],
    ids=["of the input's dtype", "a generator of the module's", "like the input", "of a class that is no module"],
)  # fmt: skip
def test_a_draw_for_the_sample_takes_as_many_numbers_only(lines: list[str], at: str, after: list[str]) -> None:
    body = "\n        ".join(lines)
    text = f"""import torch
from torch import nn

class Source:
    def __init__(self, seed):
        self.seed = seed

    def draw(self, shape, count):
        g = torch.Generator()
        g.manual_seed(self.seed)
        return torch.randn(shape, generator=g)[:, :count]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = torch.Generator()
        self.source = Source(2)

    def forward(self, x):
        {body}

def get_model():
    return Net()

def get_inputs():
    return (torch.ones(2, 3),)
"""
    (new, *_) = proposed(text, at, "made-once")
    forward = new.partition("def forward(self, x):\n")[2].partition("\n\ndef")[0]
    assert [line.strip() for line in forward.splitlines()] == after
    nets = []
    for source in (text, new):
        names: dict[str, Any] = {}
        exec(compile(source, "net", "exec"), names)  # noqa: S102 - the text is ours
        nets.append(names["get_model"]())
    old, now = nets
    for x in (torch.ones(2, 3), torch.zeros(2, 3), torch.ones(3, 3), torch.ones(1, 3)):
        expected = old(x)
        assert torch.equal(now(x), expected) if len(x) == 2 else _raises(now, x)


def _raises(net: Any, x: Any) -> bool:
    try:
        net(x)
    except RuntimeError:
        return True
    return False

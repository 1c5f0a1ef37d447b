"""What outlives a call is in buffers afterwards, and every call gives what it gave."""

from __future__ import annotations

import copy
import textwrap
import types

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rewrite.proposed import proposed

_HEAD = """
import itertools
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

import torch
from torch import nn
"""


def _net(init: str, forward: str) -> str:
    init, forward = (textwrap.indent(textwrap.dedent(part).strip(), " " * 8) for part in (init, forward))
    head = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return f"{_HEAD}\n\n{head}{init}\n\n    def forward(self, x: torch.Tensor):\n{forward}\n"


def _model(text: str) -> torch.nn.Module:
    module = types.ModuleType("model")
    exec(compile(text, "model", "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the text is of this test
    net: torch.nn.Module = module.Net().eval()
    return net


def _calls(model: object, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [model(x).detach().clone() for x in inputs]  # type: ignore[operator] # a model is called


_ROWS = [torch.arange(3.0) + n * (-1) ** n for n in range(5)]

_MODELS = {
    "a number": ("self.calls = 0", "self.calls += 1\nreturn x * self.calls"),
    "a flag": ("self.warm = False", "if not self.warm:\n    self.warm = True\n    return x * 0\nreturn x + 1"),
    "a tensor, read before it is written": (
        "self.previous = torch.zeros(3)",
        "previous = self.previous\nself.previous = x\nreturn x - previous",
    ),
    "a number that steers": (
        "self.step = 0",
        "scale = min(1.0, self.step / 3)\nself.step += 1\nif self.step % 2 == 0:\n    return x * scale\nreturn -x",
    ),
    "a pair": (
        "self.bounds = (1.0, -1.0)",
        "low, high = self.bounds\nself.bounds = (high, x.sum())\nreturn x * low + high",
    ),
    "a dict": ("self.kept = {'last': torch.zeros(3)}", "out = x + self.kept['last']\nself.kept['last'] = out\nreturn out"),
    "a window": ("self.past = deque([torch.zeros(3)] * 2, maxlen=2)", "self.past.append(x)\nreturn sum(self.past)"),
    "an iterator": ("self.turn = itertools.cycle(range(3))", "return x * next(self.turn)"),
    "an iterator of as many as a variable says": (
        "size = 2\nself.turn = itertools.cycle(range(size))", "return x * next(self.turn)",
    ),
    "a counter": ("self.seen = Counter()", "self.seen['calls'] += 1\nreturn x / self.seen['calls']"),
    "a dict that has all": (
        "self.seen = defaultdict(lambda: torch.zeros(3))", "self.seen['sum'] += x\nreturn self.seen['sum']",
    ),
    "an order that moves": ("self.mix = [1.0, 2.0, 4.0]", "self.mix.append(self.mix.pop(0))\nreturn x * self.mix[0]"),
    "an answer that is asked of a copy": (
        "self.last = torch.ones(3)", "last = self.last\nself.last = x\nreturn x - last",
    ),
    "what is deleted": ("self.once = 2.0", "if hasattr(self, 'once'):\n    x = x + self.once\n    del self.once\nreturn x"),
    "the last ones of all": (
        "self.past = []", "self.past.append(x.sum())\nlast = self.past[-2:]\nreturn x * sum(last) / len(last)",
    ),
    "a line of delays": (
        "self.line = [torch.zeros(3) for _ in range(2)]", "self.line = [x] + self.line[:-1]\nreturn sum(self.line)",
    ),
    "numbers that are read": (
        "self.past = deque(maxlen=3)", "self.past.append(float(x.abs().max()))\nreturn x / (sum(self.past) / len(self.past))",
    ),
    "what a dict has once": (
        "self.kept = {}",
        """
        if 'last' not in self.kept:
            self.kept['last'] = torch.zeros(3)
        out = x + self.kept['last']
        self.kept['last'] = x
        return out
        """,
    ),
    "the largest of the last ones": (
        "self.past = []",
        """
        self.past.append(x.sum().item())
        if len(self.past) > 3:
            self.past.pop(0)
        return x - max(self.past)
        """,
    ),
    "the last ones stacked under a name": (
        "self.past = deque(maxlen=3)",
        """
        self.past.append(x.mean())
        last = torch.stack(list(self.past))
        return x - last.mean() + last.min()
        """,
    ),
    "a cache that is cut off": (
        "self.pad = 2\nself.cache = None",
        """
        x = torch.ones(1, 3) * x.sum()
        if self.cache is None:
            x = nn.functional.pad(x, (self.pad, 0))
        else:
            x = torch.cat([self.cache, x], dim=-1)
        self.cache = x[..., -self.pad:]
        return x * 2
        """,
    ),
    "a buffer that takes the size of what comes": (
        "self.register_buffer('level', torch.zeros(1))",
        """
        x = torch.ones(1, 3) * x.sum()
        if self.level.shape != x.shape:
            self.level = torch.zeros_like(x)
        self.level = self.level * 0.5 + x
        return self.level * 1
        """,
    ),
    "a number that is read under a name": (
        "self.past = deque([0.0, 0.0], maxlen=2)",
        "level = x.mean().item()\nbefore = self.past[0]\nself.past.append(level)\nreturn x - before",
    ),
    "pairs of all layers": (
        "self.pairs = [(torch.zeros(3), torch.ones(3)) for _ in range(2)]",
        """
        new = []
        for scale, (h, c) in zip([0.5, 2.0], self.pairs):
            h, c = h * scale + x, c - x
            new.append((h, c))
            x = h
        self.pairs = new
        return x
        """,
    ),
    "a list of what it was": (
        "self.level = torch.zeros(3)",
        """
        seen = []
        for i in range(3):
            self.level = self.level * 0.5 + x[i]
            seen.append(self.level)
        return torch.stack(seen)
        """,
    ),
    "a window that the constructor fills": (
        "self.past = deque(maxlen=2)\nfor _ in range(2):\n    self.past.append(torch.zeros(3))",
        "self.past.append(x)\nreturn torch.cat(list(self.past))",
    ),
    "a window that the first call fills": (
        "self.past = deque(maxlen=2)",
        """
        if not self.past:
            for _ in range(2):
                self.past.append(x.sum())
        else:
            self.past.append(x.sum())
        return torch.stack(list(self.past)) * x[1]
        """,
    ),
    "a window that is missing at first": (
        "self.past = None",
        """
        if self.past is None:
            self.past = [x.sum()] * 2
        self.past = self.past[1:] + [x.max()]
        return torch.stack(self.past) * x[1]
        """,
    ),
    "a line of delays for each layer": (
        "self.past = [torch.zeros(n) for n in (1, 2)]",
        """
        for i in range(2):
            longer = torch.cat([self.past[i], x])
            self.past[i] = longer[3:]
            x = longer[:3]
        return x
        """,
    ),
    "a dict by the names of layers": (
        "self.kept = {name: torch.zeros(3) for name in 'ab'}",
        """
        for name in 'ab':
            before = self.kept[name]
            self.kept[name] = before * 0.5 + x
            x = x - before
        return x
        """,
    ),
    "a pair for each layer": (
        "self.pairs = [(torch.zeros(3), torch.ones(3)) for _ in range(2)]",
        """
        for i in range(2):
            h, c = self.pairs[i]
            self.pairs[i] = (h * 0.5 + x, c * x)
            x = x + h - c
        return x
        """,
    ),
    "a dict for each layer": (
        "self.stats = {name: {'mean': torch.zeros(3), 'count': torch.zeros(())} for name in 'ab'}",
        """
        for name in 'ab':
            self.stats[name]['count'] += 1
            self.stats[name]['mean'] = self.stats[name]['mean'].lerp(x, 1 / self.stats[name]['count'])
            x = x - self.stats[name]['mean']
        return x
        """,
    ),
    "a list that is written as a whole": (
        "self.layers = [torch.zeros(3) for _ in range(2)]",
        """
        new = []
        for h in self.layers:
            x = x + h * 0.5
            new.append(x)
        self.layers = new
        return x
        """,
    ),
    "another name for a place": (
        "self.stats = {name: {'mean': torch.zeros(3)} for name in 'ab'}",
        """
        for name in 'ab':
            stats = self.stats[name]
            x = x - stats['mean']
            stats['mean'] = stats['mean'] * 0.5 + x
        return x
        """,
    ),
    "what is missing at first": (
        "self.size = 3",
        """
        last = getattr(self, 'last', None)
        self.last = x.sum()
        return x if last is None else x - last
        """,
    ),
    "a layer in the place of another": (
        "self.cold = nn.Tanh()\nself.warm = nn.Softplus()\nself.head = self.cold",
        "y = self.head(x)\nself.head = self.warm\nreturn y",
    ),
    "a layer that data chooses for the next call": (
        "self.cold = nn.Tanh()\nself.warm = nn.Softplus()\nself.head = self.warm",
        "y = self.head(x)\nself.head = self.warm if x.sum() > 0 else self.cold\nreturn y",
    ),
    "computed names": (
        "for i in range(2):\n    setattr(self, f'echo_{i}', torch.zeros(3))",
        "for i in range(2):\n    y = x + getattr(self, f'echo_{i}')\n    setattr(self, f'echo_{i}', y)\nreturn y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _MODELS)
def test_every_call_gives_what_it_gave_in_eager_and_in_the_program(name: str) -> None:
    text = _net(*_MODELS[name])
    (new,) = proposed(text, "return", "state-in-buffers")
    before = _calls(_model(text), _ROWS)
    torch.testing.assert_close(_calls(_model(new), _ROWS), before, check_dtype=False)
    program = torch.export.export(_model(new), (_ROWS[0],), strict=False).module()
    torch.testing.assert_close(_calls(program, _ROWS), before, check_dtype=False)


_FILES = {
    "a closure": (
        """
        def make_decay(value, rate):
            def step():
                nonlocal value
                now = value
                value = value * rate
                return now

            return step


        class Net(nn.Module):
            def __init__(self, rate=0.5):
                super().__init__()
                self.decay = make_decay(1.0, rate)

            def forward(self, x: torch.Tensor):
                return x * self.decay()
        """,
        "value = value",
    ),
    "a hook that is an object": (
        """
        class FadeIn:
            def __init__(self, steps):
                self.steps, self.seen = steps, 0

            def __call__(self, module, args, out):
                self.seen += 1
                return out * min(self.seen / self.steps, 1.0)


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Identity()
                self.part.register_forward_hook(FadeIn(steps=3))

            def forward(self, x: torch.Tensor):
                return self.part(x)
        """,
        "self.seen += 1",
    ),
    "a hook of one line": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Identity()
                self.seen = []
                self.part.register_forward_hook(lambda mod, given, out: self.seen.append(out.mean()))

            def forward(self, x: torch.Tensor):
                return self.part(x) - sum(self.seen) / len(self.seen)
        """,
        "self.part.register",
    ),
    "what a hook saw last": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Identity()
                self.seen = {"part": torch.zeros(3)}
                self.part.register_forward_hook(self.note)

            def note(self, module, given, out):
                self.seen["part"] = out.detach()

            def forward(self, x: torch.Tensor):
                before = self.seen["part"]
                return self.part(x) - before
        """,
        'self.seen["part"] = out',
    ),
    "a buffer that a helper method registers": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.begin()

            def begin(self):
                level = torch.zeros(3)
                self.register_buffer("level", level)

            def forward(self, x: torch.Tensor):
                self.level = self.level * 0.5 + x
                return self.level * 1.0
        """,
        "self.level = self.level",
    ),
    "layers in turn": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Identity(), nn.ReLU(), nn.Tanh()])
                self.turn = itertools.cycle(self.parts)
                self.other = 0

            def forward(self, x: torch.Tensor):
                part = next(self.turn)
                second = self.parts[self.other]
                self.other = (self.other + 2) % len(self.parts)
                return part(x) - second(x)
        """,
        "next(self.turn)",
    ),
    "a generator of rounds": (
        """
        def steps(most, n=3):
            while True:
                for i in range(n):
                    part = i / n
                    yield most * part


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps = steps(2.0)

            def forward(self, x: torch.Tensor):
                return x * next(self.steps)
        """,
        "next(self.steps)",
    ),
    "a record": (
        """
        @dataclass
        class State:
            level: torch.Tensor
            count: int = 0


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.state = State(torch.zeros(3))

            def forward(self, x: torch.Tensor):
                self.state.count += 1
                self.state.level = self.state.level + (x - self.state.level) / self.state.count
                return self.state.level
        """,
        "self.state.count += 1",
    ),
    "a module that others write": (
        """
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.sum = torch.zeros(3)

            def write(self, value):
                self.sum = self.sum + value


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.memory = Memory()

            def forward(self, x: torch.Tensor):
                self.memory.write(x)
                return self.memory.sum * 2
        """,
        "self.sum = self.sum",
    ),
    "a method that data decides to call": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("sum", torch.zeros(3))
                self.count = 0

            def restart(self):
                self.sum.zero_()
                self.count = 0

            def forward(self, x: torch.Tensor):
                if x.sum() > 4:
                    self.restart()
                self.sum.add_(x)
                self.count += 1
                return self.sum / self.count
        """,
        "self.count += 1",
    ),
    "a first value that methods give": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.size = 3
                self.reset()
                self.level = self.begun(2.0)

            def begun(self, value):
                return torch.full((self.size,), value)

            def reset(self):
                zeros = torch.zeros(self.size)
                self.pair = (zeros, zeros.clone())

            def forward(self, x: torch.Tensor):
                first, second = self.pair
                self.pair = (first + x, second - self.level)
                self.level = self.level + x
                return first * second
        """,
        "self.pair = (first",
    ),
    "a meter": (
        """
        class Meter:
            def __init__(self):
                self.reset()

            def reset(self):
                self.sum = 0.0
                self.count = 0

            def update(self, value):
                self.sum += value
                self.count += 1


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.meter = Meter()

            def forward(self, x: torch.Tensor):
                self.meter.update(x.mean().item())
                return x - self.meter.sum / self.meter.count
        """,
        "self.count += 1",
    ),
    "what the first call fills": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("shift", torch.zeros(3))
                self.ready = False

            def prepare(self, first):
                with torch.no_grad():
                    self.shift.copy_(-first)

            def forward(self, x: torch.Tensor):
                if not self.ready:
                    self.prepare(x * 2)
                    self.ready = True
                return x + self.shift
        """,
        "self.ready = True",
    ),
    "an object of the file that layers write to": (
        """
        class Meter:
            def __init__(self):
                self.steps, self.last = 0, torch.zeros(3)
                self.kept = {"in": [], "out": []}

            def __call__(self, value, place):
                self.kept[place].append(value)
                self.last = value
                return value + 1

            def ends(self):
                self.steps += 1
                self.kept = {"in": [], "out": []}

        METER = Meter()

        class Layer(nn.Module):
            def __init__(self, place):
                super().__init__()
                self.scale = nn.Parameter(torch.full((3,), 0.5))
                self.place = place

            def forward(self, x: torch.Tensor):
                return METER(x * self.scale, self.place)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(Layer("in"), Layer("out"))

            def forward(self, x: torch.Tensor):
                before = METER.last * 1
                y = self.layers(x)
                METER.ends()
                return y * METER.steps + before

        def begin_again():
            METER.steps = 0
        """,
        "self.steps += 1",
    ),
    "a generator that the constructor gives what it knows": (
        """
        def turning(period, start=1):
            i = start
            while True:
                yield (i % period) / period
                i += 1

        class Net(nn.Module):
            def __init__(self, every=2):
                super().__init__()
                self.turns = turning(every + 1)

            def forward(self, x: torch.Tensor):
                return x * next(self.turns)
        """,
        "next(self.turns)",
    ),
    "a pair of the first call, which is read by a name": (
        """
        def ordered(x):
            order = torch.tensor([2, 0, 1])
            return order, x * 2

        class Net(nn.Module):
            def __init__(self, cached=True):
                super().__init__()
                self.cached = cached
                self.kept = None

            def forward(self, x: torch.Tensor):
                kept = self.kept
                if kept is None:
                    order, scale = ordered(x)
                    if self.cached:
                        self.kept = (order, scale)
                else:
                    order, scale = kept[0], kept[1]
                return x[order] * scale

        def export():
            return torch.export.export(Net(), (torch.zeros(3),))
        """,
        "self.kept = (order, scale)",
    ),
}


@pytest.mark.parametrize("name", _FILES)
def test_state_that_is_no_attribute_of_the_module_alone(name: str) -> None:
    body, at = _FILES[name]
    text = _HEAD + textwrap.dedent(body)
    new = proposed(text, at, "state-in-buffers")[0]
    before = _calls(_model(text), _ROWS)
    torch.testing.assert_close(_calls(_model(new), _ROWS), before, check_dtype=False)
    program = torch.export.export(_model(new), (_ROWS[0],), strict=False).module()
    torch.testing.assert_close(_calls(program, _ROWS), before, check_dtype=False)


def test_a_copy_of_a_model_goes_on_by_itself_with_what_an_object_of_the_file_kept() -> None:
    body, at = _FILES["an object of the file that layers write to"]
    text = _HEAD + textwrap.dedent(body)
    model = _model(proposed(text, at, "state-in-buffers")[0])
    model(_ROWS[1])
    copied = copy.deepcopy(model)
    torch.testing.assert_close(_calls(copied, _ROWS), _calls(model, _ROWS))
    assert [name for name, _ in model.named_buffers()] == ["meter.last", "meter.steps"]
    assert not any(buffer.requires_grad for buffer in model.buffers())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def begin_again():\n    METER.steps = 0", "METER.steps = 0"),
        (
            "class Net(",
            "class Other(nn.Module):\n    def forward(self, x):\n        return METER(x, 'in')\n\nclass Net(",
        ),
    ],
)
def test_an_object_that_others_use_as_well_stays_in_the_file(old: str, new: str) -> None:
    body, at = _FILES["an object of the file that layers write to"]
    text = (_HEAD + textwrap.dedent(body)).replace(old, new)
    assert new in text
    assert not proposed(text, at, "state-in-buffers")


def test_no_generator_of_what_the_constructor_sets_again() -> None:
    body, at = _FILES["a generator that the constructor gives what it knows"]
    text = _HEAD + textwrap.dedent(body)
    again = text.replace("turning(every + 1)", "turning(every + 1)\n        every = 5")
    assert proposed(text, at, "state-in-buffers")
    assert not proposed(again, at, "state-in-buffers")


def test_a_name_of_what_a_place_held_before_stays() -> None:
    init = "self.pair = (1.0, 2.0)"
    text = _net(init, "old = self.pair\nself.pair = (old[1], x.sum())\nreturn x * old[0] + self.pair[0]")
    (new,) = proposed(text, "return", "state-in-buffers")
    torch.testing.assert_close(_calls(_model(new), _ROWS), _calls(_model(text), _ROWS), check_dtype=False)


@pytest.mark.parametrize(
    "turned",
    [
        "self.layers = nn.ModuleList(list(self.layers)[1:] + list(self.layers)[:1])",
        "all = list(self.layers)\nself.layers = nn.ModuleList([all[-1], *all[:-1]])",
        "first, *rest = self.layers\nself.layers = nn.ModuleList([*rest, first])",
        "*rest, last = list(self.layers)\nself.layers = nn.ModuleList([last] + rest)",
        "first, second, *rest = list(self.layers)\nself.layers = nn.ModuleList([second, first, *rest])",
        "self.layers = nn.ModuleList(reversed(self.layers))",
        "self.layers = nn.ModuleList(list(self.layers)[::-1])",
        "self.layers.append(self.layers.pop(0))",
        "self.layers.insert(0, self.layers.pop(-1))",
        "order = list(self.layers)\norder.append(order.pop(0))\nself.layers = nn.ModuleList(order)",
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        "y = self.layers[0](x) - self.layers[-1](x)",
        "y = x\nfor layer in self.layers:\n    y = torch.tanh(layer(y))",
        "y = sum(n * layer(x) for n, layer in enumerate(self.layers))",
    ],
)
def test_layers_that_a_call_puts_into_another_order(turned: str, read: str) -> None:
    text = _net("self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))", f"{read}\n{turned}\nreturn y")
    (new, *_) = proposed(text, turned.splitlines()[-1], "state-in-buffers")
    results = []
    for make in (lambda: _model(text), lambda: _model(new), lambda: _exported(new)):
        torch.manual_seed(0)
        results.append(_calls(make(), _ROWS))
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])


def _exported(text: str) -> torch.nn.Module:
    return torch.export.export(_model(text), (_ROWS[0],), strict=False).module()  # type: ignore[no-any-return]


def test_layers_that_are_used_otherwise_keep_their_order() -> None:
    for read in ("y = self.layers[0].weight @ x", "for layer in self.layers:\n    y = layer.weight @ x"):
        turned = "self.layers.append(self.layers.pop(0))"
        text = _net("self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))", f"{read}\n{turned}\nreturn y")
        assert not any("layers_order" in one for one in proposed(text, turned, "state-in-buffers"))


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.turn = 0", "y = self.layers[self.turn](x)\nself.turn = (self.turn + 1) % 3\nreturn y"),
        ("self.order = [2, 0, 1]",
         "for i in self.order:\n    x = self.layers[i](x)\nself.order.append(self.order.pop(0))\nreturn x"),
    ],
)  # fmt: skip
def test_layers_that_a_buffer_chooses_can_be_trained(init: str, forward: str) -> None:
    text = _net(f"self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))\n{init}", forward)
    gradients = []
    for one in (text, proposed(text, forward.splitlines()[1].strip(), "state-in-buffers")[0]):
        torch.manual_seed(0)
        net, total = _model(one), torch.zeros(())
        for row in _ROWS:
            total = total + net(row).square().sum()
        total.backward()  # type: ignore[no-untyped-call]
        gradients.append([weight.grad for weight in net.parameters()])
    for before, after in zip(*gradients, strict=True):
        assert torch.allclose(before, after, atol=1e-5)


def test_a_new_buffer_is_in_no_checkpoint() -> None:
    (new,) = proposed(_net(*_MODELS["a number"]), "return", "state-in-buffers")
    assert list(dict(_model(new).named_buffers())) == ["calls"]
    assert not _model(new).state_dict()


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.seen = set()", "known = len(x) in self.seen\nself.seen.add(len(x))\nreturn x * 2 if known else x"),
        ("self.past = []", "self.past.append(x)\nreturn torch.stack(self.past)"),
        ("self.size = 0", "self.size = len(x)\nreturn x * self.size"),
    ],
)
def test_no_proposal_without_a_tensor_that_holds_it(init: str, forward: str) -> None:
    assert proposed(_net(init, forward), "return", "state-in-buffers") == []


_STATES = ("self.a", "self.b")
_VALUES = st.sampled_from(["x.sum()", "self.a + x.mean()", "self.b * 0.5", "self.a - self.b", "2.0"])
_WRITES = st.lists(st.tuples(st.sampled_from(_STATES), _VALUES, st.booleans()), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(writes=_WRITES)
def test_any_order_of_reads_and_writes(writes: list[tuple[str, str, bool]]) -> None:
    lines = ["before = self.a + self.b"]  # so that both outlive the call
    for place, value, guarded in writes:
        lines += ["if self.b > 1:", f"    {place} = {value}"] if guarded else [f"{place} = {value}"]
    lines.append("return x * before + self.a - self.b")
    text = _net("self.a = 1.0\nself.b = 0.5", "\n".join(lines))
    found = proposed(text, "return", "state-in-buffers")
    for new in found:
        torch.testing.assert_close(_calls(_model(new), _ROWS), _calls(_model(text), _ROWS), check_dtype=False)


@pytest.mark.xfail(raises=TypeError, strict=True, reason="what a place holds is told for the whole function at once")
def test_a_scratch_pad_that_is_a_number_first_and_a_tensor_later() -> None:
    forward = """
        before = self.a
        self.b = 2.0
        if self.b > 1:
            self.a = x.sum()
        self.b = self.a + x.mean()
        return x * before + self.a - self.b
    """
    text = _net("self.a = 1.0\nself.b = 0.5", forward)
    (new,) = proposed(text, "return", "state-in-buffers")
    torch.testing.assert_close(_calls(_model(new), _ROWS), _calls(_model(text), _ROWS), check_dtype=False)


def test_keys_of_a_dict_of_the_file_that_nobody_writes_stay_there():
    text = _HEAD + textwrap.dedent("""
        _RUN = {"step": 0, "period": 4}

        def advance():
            _RUN["step"] += 1
            return _RUN["step"]

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, _RUN["period"])

            def forward(self, x: torch.Tensor):
                return self.lin(x) + advance() % _RUN["period"]
    """)
    after, *_ = proposed(text, '_RUN["step"] += 1', "state-in-buffers")
    assert '_RUN = {"period": 4}' in after
    assert 'nn.Linear(3, _RUN["period"])' in after
    assert "self.run_step += 1" in after
    assert "% _RUN[" in after


_MEMORY = """
import torch
from collections import deque
from torch import nn

class Net(nn.Module):
    def __init__(self, memory=5):
        super().__init__()
        self.recent = deque(maxlen=memory)

    def forward(self, x: torch.Tensor):
        z = torch.zeros(2, 3)
        z = z + x
        self.recent.{put}(z)
        rows = {read}
        return (z.unsqueeze(1) @ rows.transpose(1, 2)).softmax(-1) @ rows
"""


@pytest.mark.parametrize("put", ["append", "appendleft"])
@pytest.mark.parametrize(
    "read", ["torch.stack(list(self.recent), dim=1)", "torch.cat(tuple(self.recent), 0).unsqueeze(0)",
             "torch.cat([*self.recent], dim=-1).unsqueeze(-1) * torch.ones(3)"],
)  # fmt: skip
def test_a_window_that_is_not_full_gives_the_rows_that_are_there(put: str, read: str) -> None:
    before = _MEMORY.format(put=put, read=read)
    (text, *_) = proposed(before, f"self.recent.{put}(z)", "state-in-buffers")
    assert ".item()" in text
    models = [_model(one) for one in (before, text)]
    for number in range(9):
        x = torch.full((2, 3), float(number)) / 7
        torch.testing.assert_close(*_calls(models[1], [x]), *_calls(models[0], [x]))


def test_layers_by_computed_names_are_no_state() -> None:
    """Only the constructor sets them."""
    text = _net(
        "for i in range(2):\n    setattr(self, f'layer_{i}', nn.Linear(3, 3))", "return getattr(self, 'layer_0')(x)"
    )
    assert proposed(text, "return", "state-in-buffers") == []

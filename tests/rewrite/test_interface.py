"""What crosses forward's border; and that code is left out only where nothing that the model does depends on it."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """
import logging
import time
import torch
from torch import nn

SEEN = []

class Net(nn.Module):
    def forward(self, x, batch):
        {body}

    def scaled(self, x):
        return x * self.kept
"""


def _net(body: str) -> str:
    return _NET.format(body=textwrap.indent(textwrap.dedent(body).strip(), " " * 8).strip())


@pytest.mark.parametrize(
    ("body", "at", "kept_for_eager"),
    [
        ("print(x.shape)\nreturn x", "print", ["print(x.shape)"]),
        ("logging.info('mean %s', x.mean())\nreturn x", "logging.info", ["logging.info('mean %s', x.mean())"]),
        ("SEEN.append(x.shape[0])\nreturn x", "SEEN.append", ["SEEN.append(x.shape[0])"]),
        ("start = time.time()\ny = x * 2\ntook = time.time() - start\nprint(took)\nreturn y", "time.time()",
         ["start = time.time()", "took = time.time() - start", "print(took)"]),
    ],
)  # fmt: skip
def test_an_effect_is_left_to_eager(body: str, at: str, kept_for_eager: list[str]) -> None:
    (text, *_) = proposed(_net(body), at, "interface")
    below = text[text.index("if not torch.compiler.is_exporting():") :]
    assert all(f"    {line}" in below for line in kept_for_eager)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("x.requires_grad_(True)\nreturn x.pow(2)", "x.requires_grad_"),  # a caller may differentiate
        ("x.add_(1)\nreturn x", "x.add_"),
        ("SEEN.append(1)\nreturn x * len(SEEN)", "SEEN.append"),
        ("start = time.time()\nreturn x * start", "time.time"),
        ("self.kept = time.time()\nreturn self.scaled(x)", "time.time"),
        ("rows = []\nrows.append(x)\nreturn torch.stack(rows)", "rows.append"),
        ("torch.manual_seed(0)\nreturn x + torch.randn_like(x)", "torch.manual_seed"),
    ],
)
def test_what_the_model_sees_is_not_left_out(body: str, at: str) -> None:
    assert proposed(_net(body), at, "interface") == []


@pytest.mark.parametrize("call", ["self.push(seen, x + 1)", "self.push(item=x + 1, history=seen)"])
def test_a_container_that_a_method_changes_is_copied_in_forward(call: str) -> None:
    text = f"""
import torch
from torch import nn

class Net(nn.Module):
    def push(self, history, item):
        history.append(item)

    def forward(self, x, seen):
        {call}
        return torch.stack(seen).sum(0)

model = Net()
model(torch.ones(2), [torch.ones(2)])
"""
    (after,) = proposed(text, "history.append(", "interface")
    assert (
        "    def forward(self, x, seen):\n        if torch.compiler.is_exporting():\n            seen = list(seen)\n"
        in after
    )
    made_here = text.replace("def forward(self, x, seen):", "def forward(self, x):\n        seen = [x]")
    assert proposed(made_here, "history.append(", "interface") == []


def test_a_container_of_the_caller_is_copied_for_the_export() -> None:
    (text,) = proposed(_net('batch["y"] = x\nreturn x'), 'batch["y"] = x', "interface")
    assert "        if torch.compiler.is_exporting():\n            batch = dict(batch)\n" in text


def test_the_caller_sees_the_other_shape_in_eager_only() -> None:
    (text,) = proposed(_net("x.unsqueeze_(0)\nreturn x * 2"), "x.unsqueeze_", "interface")
    for exporting in (False, True):
        names: dict[str, object] = {}
        exec(text.replace("torch.compiler.is_exporting()", str(exporting)), names)  # noqa: S102 - made above
        given = torch.ones(3)
        assert names["Net"]()(given, {}).shape == (1, 3)
        assert given.dim() == (1 if exporting else 2)


def test_what_is_no_module_is_wrapped_with_the_modules_that_it_holds() -> None:
    (text, *_) = proposed(
        """
        import torch
        class Predictor:
            def __init__(self, model):
                self.model = model
            def predict(self, x):
                return self.model(x)
        def main(model, x):
            predictor = Predictor(model)
            return torch.export.export(predictor.predict, (x,))
        """,
        "torch.export.export(predictor.predict, (x,))",
        "interface",
    )
    assert "self.model = predictor.model" in text
    assert "torch.export.export(PredictorPredict(predictor), (x,))" in text


def test_a_module_of_which_a_method_is_called_is_one_that_it_holds() -> None:
    (text, *_) = proposed(
        """
        import torch
        class Predictor:
            def __init__(self, model, settings):
                self.model = model
                self.settings = settings
                self.seen = []
            def predict(self, x):
                self.seen.append(x.shape)
                return self.model.encoder(x) * self.settings.get("scale", 1)
        def main(model, x):
            predictor = Predictor(model, {})
            return torch.export.export(predictor.predict, (x,))
        """,
        "torch.export.export(predictor.predict, (x,))",
        "interface",
    )
    assert "self.model = predictor.model" in text
    assert "predictor.seen" not in text
    assert "predictor.settings" not in text


_MAKER = """
import functools
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def embed(self, x, scale=1.0, shift=0.0):
        return self.layer(x) * scale + shift
def scored(model, x):
    return model.embed(x)
def get_model():
    model = Net().eval()
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "return Net().eval().embed",
        "return model.embed",
        "return functools.partial(model.embed, scale=2.0)",
        "return functools.partial(model.embed, shift=1.0)",
        "return functools.partial(scored, model)",
        "return functools.partial(scored, model=model)",
        "return lambda x: model.embed(x, -1.0)",
        "run = lambda x: model.embed(x)\n    return run",
        "def run(x):\n        return model.embed(x)\n    return run",
    ],
)
def test_what_a_maker_gives_is_a_module_with_its_weights(line: str) -> None:
    text = _MAKER.format(line=line)
    (new, *_) = proposed(text, text[text.index("def get_model") :].strip(), "interface")
    x, before, after = torch.ones(2, 3), dict[str, Any](), dict[str, Any]()
    exec(text, before)  # noqa: S102 - made above
    exec(new, after)  # noqa: S102
    torch.manual_seed(0)
    old = before["get_model"]()
    torch.manual_seed(0)
    made = after["get_model"]()
    assert torch.equal(old(x) if "model=model" not in line else old(x=x), made(x))
    assert any(name.endswith("layer.weight") for name, _ in made.named_parameters())
    assert not made.training
    assert torch.equal(torch.export.export(made, (x,)).module()(x), made(x))


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("return Net().eval()",
         "model = Net().eval()\n    with torch.no_grad():\n        model(*get_inputs(), **get_kwargs())\n    return model"),
        ("net = Net()\n    net.eval()\n    return net",
         "net = Net()\n    net.eval()\n    with torch.no_grad():\n        net(*get_inputs(), **get_kwargs())\n    return net"),
    ],
)  # fmt: skip
def test_lazy_layers_get_their_weights_where_the_model_is_made(made: str, after: str) -> None:
    text = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(2)
    def forward(self, x, scale=None):
        return self.layer(x) * scale
def get_model():
    {made}
def get_inputs():
    return (torch.ones(2, 3),)
def get_kwargs():
    return {{"scale": torch.tensor(2.0)}}
"""
    (new,) = proposed(text, "nn.LazyLinear(2)", "interface")
    assert new == text.lstrip("\n").replace(made, after)
    names: dict[str, Any] = {}
    exec(new, names)  # noqa: S102 - made above
    assert names["get_model"]().layer.weight.shape == (2, 3)


def test_an_operator_of_ones_own_says_what_comes_out_of_it() -> None:
    text = """
        import torch
        @torch.library.custom_op("my::scale", mutates_args=())
        def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
            return x * factor
    """
    first, second = proposed(text, 'torch.library.custom_op("my::scale", mutates_args=())', "interface")
    assert "@scale.register_fake\ndef _(x, factor):\n    return x * factor" in first
    assert "return torch.empty_like(x)" in second


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("torch.set_default_dtype(torch.float64)\ny = torch.zeros(3)\ntorch.set_default_dtype(torch.float32)\nreturn x + y",
         "y = torch.zeros(3, dtype=torch.float64)\n        return x + y"),
        ("with switched(torch.float64):\n    y = torch.linspace(0, 1, 3)\n    y = y + x\nreturn y",
         "y = torch.linspace(0, 1, 3, dtype=torch.float64)\n        y = y + x\n        return y"),
    ],
)  # fmt: skip
def test_what_is_made_under_another_default_dtype_is_given_it(body: str, after: str) -> None:
    helper = """
    @contextlib.contextmanager
    def switched(dtype):
        old = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(old)
    """
    text = (
        _net(body)
        .replace("class Net", f"{textwrap.dedent(helper)}\nclass Net")
        .replace("import time", "import contextlib")
    )
    (new, *_) = proposed(
        text,
        "torch.set_default_dtype(torch" if "(torch.float32)" in body else "torch.set_default_dtype(dtype)",
        "interface",
    )
    assert after in new
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 - made above
    x = torch.ones(3)
    before = names["Net"]()(x, {})
    exec(new, names)  # noqa: S102
    torch.testing.assert_close(names["Net"]()(x, {}), before)


def test_a_generator_is_returned_as_a_list() -> None:
    (text,) = proposed(_net("return (row * 2 for row in x)"), "return (row", "interface")
    assert "return [row * 2 for row in x]" in text


def test_what_a_class_yields_is_returned_as_a_list() -> None:
    text = _net("yield x\nyield from (row * 2 for row in x)")
    (new,) = proposed(text, text[text.index("class Net") :].rstrip(), "interface")
    names: dict[str, Any] = {}
    exec(new, names)  # noqa: S102 - made above
    got = names["Net"]()(torch.arange(2.0), {})
    assert [one.tolist() for one in got] == [[0.0, 1.0], 0.0, 2.0]
    assert not proposed(_net("return x * 2"), "class Net", "interface")


_LINES = (
    "y = x * 2",
    "print(y)",
    "y = y + z",
    "z = y.mean()",
    "SEEN.append(z)",
    "z.add_(1)",
    "time.time()",
    "print(z)",
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(_LINES), min_size=1, max_size=6), st.data())
def test_eager_does_what_it_did_and_the_program_gives_the_same(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(lines))
    text = _net("\n".join(["y = x + 1", "z = x.mean()", *lines, "return y + z"]))
    before = _run(text, exporting=False)
    for new in proposed(text, at, "interface"):
        assert _run(new, exporting=False) == before
        assert _run(new, exporting=True)[0] == before[0]


def _run(text: str, *, exporting: bool) -> tuple[list[float], int]:
    names: dict[str, object] = {"print": lambda *_: None}
    exec(text.replace("torch.compiler.is_exporting()", str(exporting)), names)  # noqa: S102 - made above
    result = names["Net"]()(torch.arange(3.0), {})  # type: ignore[operator]
    return result.tolist(), len(names["SEEN"])  # type: ignore[arg-type]


_GIVEN = """
import torch
from dataclasses import dataclass

@dataclass
class Part:
    x: torch.Tensor

@dataclass
class Whole:
    part: Part
    count: int

class Pair:
    def __init__(self, left, right):
        self.left = left
        self.right = right

class Doubled:
    def __init__(self, values):
        self.values = [2 * one for one in values]

class Net(torch.nn.Module):
    def forward(self, x, given):
        return x

REGISTERED
x = torch.ones(2)
torch.export.export(Net(), (x, GIVEN))
"""


def _registrations(given: str, registered: str = "", at: str = "") -> list[str]:
    """The first words of what is registered for what is given, at that or elsewhere."""
    text = _GIVEN.replace("GIVEN", given).replace("REGISTERED", registered)
    (after, *_) = proposed(text, at or given, "interface") or [""]
    compile(after, "model.py", "exec")
    return [line for line in after.split("\n") if "register_" in line]


def test_the_class_of_an_object_that_is_given_is_registered_with_those_that_it_holds() -> None:
    whole = _registrations("Whole(Part(x), 3)")
    assert whole == [
        f'torch.export.register_dataclass({name}, serialized_type_name="model.{name}")' for name in ("Part", "Whole")
    ]
    assert _registrations("Whole(Part(x), 3)", at="class Whole") == whole
    assert _registrations("Pair(x, x)") == ["torch.utils._pytree.register_pytree_node("]


def test_a_class_that_is_not_plain_is_not_registered() -> None:
    assert _registrations("Doubled([x])") == []


def test_a_constant_of_pytree_gets_a_name_for_saving() -> None:
    registered = "torch.utils._pytree.register_constant(Part)"
    assert _registrations("Part(x)", registered) == [
        'torch.export.register_dataclass(Part, serialized_type_name="model.Part")'
    ]

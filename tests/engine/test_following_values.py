"""What the engine believes where values take several ways: branches, calls, constructors, samples, containers."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.symbols import Project
from exportlint.engine.values import abstract_value as values
from exportlint.engine.values.abstract_value import (
    NONE,
    UNKNOWN,
    Belief,
    Kind,
    Source,
    Tensor,
    Value,
    exactly,
    join,
    span_of,
)

NET = """
class Net(nn.Module):
    def __init__(self, name, loudly):
        super().__init__()
        {init}
    def forward(self, x: torch.Tensor, mask: torch.Tensor, flag=False):
{body}
"""


def judged(source: str) -> tuple[Belief, ast.Module]:
    tree = ast.parse("import torch\nfrom torch import nn\n" + source)
    engine, path = Engine(Project()), Path("/nowhere/net.py")
    engine.run(engine.project.add(path, tree))
    return engine.beliefs[path], tree


def beliefs_of(source: str, expression: str) -> Value:
    """The last belief about the expression in the text of a whole file."""
    belief, tree = judged(source)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and ast.unparse(n) == expression]
    return belief.values.get(max(filter(None, map(span_of, nodes))), UNKNOWN)


def unreachable(source: str) -> list[str]:
    """The returns that no run of their function reached."""
    belief, tree = judged(source)
    wholes = [(whole[0], whole[2], runs) for whole, runs in belief.runs.items()]
    dead = {s for s, times in belief.dead.items() if any(a <= s[0] <= b and times == runs for a, b, runs in wholes)}
    return [ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Return) and span_of(n) in dead]


def reached(source: str) -> set[str]:
    return {function.name for function in judged(source)[0].reached}


def net(body: str, init: str = "pass") -> str:
    return NET.replace("{init}", init).replace("{body}", indent(body, " " * 8))


def kinds(value: Value) -> set[Kind]:
    return {option.kind for option in value.options}


@pytest.mark.parametrize(
    ("body", "is_data"),
    [
        ("y = flag and mask.all()", False),
        ("y = mask.all() if flag else 1", False),
        ("y = 1\nif flag:\n    y = mask.all()", False),
        ("y = mask.all() if flag else x.sum().item()", True),
        ("if flag:\n    y = mask.all()\nelse:\n    y = x.sum()", True),
        ("y = None\nif flag:\n    y = mask.all()", True),
    ],
)
def test_data_on_one_path_may_be_data_and_on_every_path_is_data(body: str, is_data: bool) -> None:
    value = beliefs_of(net(f"{body}\nreturn y"), "y")
    assert (value.may_be_data, value.is_data) == (True, is_data)


CHOICES = """
def loud(t): return t.exp()
def quiet(t): return 1
class Loud(nn.Module):
    def forward(self, t): return t.exp()
class Quiet(nn.Module):
    def forward(self, t): return 1
def kind_of(name):
    if name == "loud": return Loud
    return Quiet
"""


def test_a_name_that_is_one_of_two_functions_calls_both() -> None:
    source = CHOICES + net("f = loud if flag else quiet\nreturn f(x)")
    assert reached(source) == {"forward", "loud", "quiet"}
    assert kinds(beliefs_of(source, "f(x)")) == {Kind.TENSOR, Kind.SCALAR}


@pytest.mark.parametrize(
    "made",
    ["loud if loudly else quiet", "Loud() if loudly else Quiet()", "kind_of(name)()", "{1: Loud, 2: Quiet}[name]()"],
)
def test_an_attribute_that_is_one_of_two_gives_what_either_gives(made: str) -> None:
    source = CHOICES + net("return self.act(x)", f"self.act = {made}")
    assert kinds(beliefs_of(source, "self.act(x)")) == {Kind.TENSOR, Kind.SCALAR}


@pytest.mark.parametrize(
    ("argument", "dead"), [("tails='linear'", ["return 1"]), ("None", ["return t.exp()"]), ("", ["return t.exp()"])]
)
def test_a_constant_argument_decides_the_branches_of_what_is_called(argument: str, dead: list[str]) -> None:
    spline = "def spline(t, tails=None):\n    if tails:\n        return t.exp()\n    return 1\n"
    assert unreachable(spline + net(f"return spline(x, {argument})")) == dead


SAMPLED = """
class Net(nn.Module):
    def __init__(self, flag):
        super().__init__()
        self.flag = flag
    def forward(self, x, scale):
        if not self.flag: return None
        return x * scale
def assemble(flag=True): return Net(flag)
def gather(): return torch.randn(3), 2.0
"""


@pytest.mark.parametrize(
    "sample",
    [
        "model = assemble()\nexample_args = gather()",
        "model = Net(True)\nexample_args = (torch.randn(3),)\nexample_kwargs = {'scale': 2.0}",
        "torch.export.export(assemble().eval(), gather())",
        "torch.export.export(assemble(), (torch.randn(3),), kwargs={'scale': 2.0})",
        "if __name__ == '__main__':\n    torch.jit.trace(assemble(), gather())",
        "def main():\n    made = assemble(flag=True)\n    torch.export.export(made, gather())",
    ],
)
def test_a_sample_tells_the_inputs_and_the_branches_that_its_model_takes(sample: str) -> None:
    source = SAMPLED + sample
    x, scale = beliefs_of(source, "x"), beliefs_of(source, "scale")
    assert (x.is_tensor, x.source) == (True, Source.INPUT)
    assert (scale.kind, scale.container) == (Kind.SCALAR, "float")
    assert unreachable(source) == ["return None"]


def test_a_constant_of_the_constructor_settles_a_branch_unless_another_method_writes_it() -> None:
    off = "model = assemble(False)\nexample_args = gather()"
    turn_off = "    def turn_off(self): self.flag = False\n    def forward"
    assert unreachable(SAMPLED) == []
    assert unreachable(SAMPLED + off) == ["return x * scale"]
    assert unreachable(SAMPLED.replace("    def forward", turn_off) + off) == []


HELPED = """
class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.make(width)
    def make(self, n): self.mean = torch.zeros(n)
class Net(Base):
    def make(self, n):
        super().make(n)
        self.register_buffer("seen", torch.zeros(n))
        self.deeper(n)
    def deeper(self, n):
        self.lin = nn.Linear(n, n)
        self.make(n - 1)
    def forward(self, x): return self.lin(x) + self.mean + self.seen
"""


def test_attributes_are_found_in_helpers_of_init_even_where_these_call_each_other() -> None:
    assert beliefs_of(HELPED, "self.mean").source is Source.ATTRIBUTE
    assert beliefs_of(HELPED, "self.seen").source is Source.BUFFER
    assert beliefs_of(HELPED, "self.lin").name == "torch.nn.Linear"


def test_a_module_that_is_passed_to_a_constructor_is_followed() -> None:
    outer = net("return self.core(x)", "self.core = name").replace("Net", "Outer")
    source = CHOICES + outer + net("return self.outer(x)", "self.outer = Outer(Quiet(), True)")
    assert kinds(beliefs_of(source, "self.outer(x)")) == {Kind.SCALAR}


@pytest.mark.parametrize("made", ["(steps.sum().item(), 1)", "[s.item() for s in steps]"])
def test_a_number_that_a_constructor_reads_is_a_plain_number(made: str) -> None:
    source = net("rate, *_ = self.rates\nreturn x + rate", f"steps = torch.ones(5); self.rates = {made}")
    assert kinds(beliefs_of(source, "rate")) == {Kind.SCALAR}


FILL = """
def fill(batch, t): batch["mask"] = t > 0
class Fill(nn.Module):
    def forward(self, batch, t): fill(batch, t)
"""


@pytest.mark.parametrize(
    "code",
    [
        "batch = {'mask': x > 0, 'n': 1}",
        "batch = dict(mask=x > 0, n=1).copy()",
        "batch = {'n': 1}\nbatch.update({'mask': x > 0})",
        "batch = {'mask': None, 'n': 1}\nfill(batch, x)",
        "batch = {'n': 1}\nfill(t=x, batch=batch)",
        "batch = {'n': 1}\nself.part(batch, x)",
    ],
)
def test_a_dict_has_under_its_key_what_was_put_there(code: str) -> None:
    source = FILL + net(f"{code}\nreturn batch['mask'], batch.get('n')", "self.part = Fill()")
    assert kinds(beliefs_of(source, "batch['mask']")) == {Kind.TENSOR}
    assert kinds(beliefs_of(source, "batch.get('n')")) == {Kind.SCALAR}


@pytest.mark.parametrize("columns", ["columns = list(zip(*rows))\na, b = columns", "a, b = zip(*rows)"])
def test_rows_turned_into_columns_keep_tensors_and_numbers_apart(columns: str) -> None:
    source = net(f"rows = [(x, i) for i in range(3)]\n{columns}\nreturn a[0], b[0]")
    assert beliefs_of(source, "a[0]").is_tensor
    assert kinds(beliefs_of(source, "b[0]")) == {Kind.SCALAR}


@pytest.mark.parametrize("wrapper", ["weight_norm", "spectral_norm", "parametrizations.weight_norm"])
def test_a_normed_layer_is_still_the_layer(wrapper: str) -> None:
    source = net("return self.lin(x)", f"self.lin = nn.utils.{wrapper}(nn.Linear(3, 3))")
    assert beliefs_of(source, "self.lin").name == "torch.nn.Linear"


def test_the_body_of_a_custom_operator_is_not_looked_into() -> None:
    operator = "@torch.library.custom_op('a::b', mutates_args=())\ndef made(t):\n    return t.item()\n"
    assert beliefs_of(operator + net("return made(x)"), "made(x)").is_tensor
    assert "made" not in reached(operator + net("return made(x)"))


@pytest.mark.parametrize(
    ("parts", "doubt"), [("[y for y in (x, 1)]", True), ("[y for y in (x, mask)]", False), ("[x, 1]", False)]
)
def test_a_part_of_a_list_of_mixed_kinds_is_in_doubt(parts: str, doubt: bool) -> None:
    part = beliefs_of(net(f"parts = {parts}\nreturn parts[0]"), "parts[0]")
    assert part.may_be_data
    assert (Kind.UNKNOWN in kinds(part)) is doubt


_BOOLS, _TEXTS = st.booleans(), st.none() | st.sampled_from(["a", "b"])
_PLACES = st.none() | st.integers(0, 2)
_OPTIONS = st.one_of(
    st.builds(Tensor, source=st.sampled_from(Source), boolean=_BOOLS, data_dim=_PLACES, on_self=_BOOLS),
    st.builds(values.Container, container=_TEXTS, unbacked=_BOOLS),
    st.builds(values.Scalar, container=_TEXTS, truth=st.none() | _BOOLS),
    st.builds(values.Function, name=st.sampled_from("abcdef")),
    st.builds(values.Unknown, name=_TEXTS),
    st.builds(values.Shape, data_dim=_PLACES),
    st.sampled_from([values.NoneObject(), values.Size(), values.NumberFromData()]),
)
_VALUES = st.lists(_OPTIONS, min_size=1, max_size=6).map(lambda found: functools.reduce(join, map(exactly, found)))


@pytest.mark.parametrize(("names", "followed"), [("abcd", 4), ("abcde", 1)])
def test_more_than_four_functions_are_not_followed_one_by_one(names: str, followed: int) -> None:
    either = functools.reduce(join, (exactly(values.Function(name=name)) for name in names))
    assert (len(either.options), either.kind, either.name) == (followed, Kind.FUNCTION, None)


@given(_VALUES, _VALUES)
def test_join_takes_both_in_any_order(a: Value, b: Value) -> None:
    assert set(join(a, b).options) == set(join(b, a).options)
    assert kinds(join(a, b)) == kinds(a) | kinds(b)
    assert join(a, a) == a


@given(_VALUES, _VALUES)
def test_join_may_be_data_where_either_may_be_and_is_where_both_are(a: Value, b: Value) -> None:
    whole = join(a, b)
    assert whole.may_be_data == (a.may_be_data or b.may_be_data)
    assert whole.is_data == (whole.may_be_data and all(value.is_data or value == NONE for value in (a, b)))


@given(_VALUES, st.sampled_from(Kind))
def test_only_and_without_divide_a_value(value: Value, kind: Kind) -> None:
    inside, outside = value.only(kind), value.without(kind)
    parts = [part for part in (inside, outside) if part is not None]
    assert inside is None or kinds(inside) == {kind}
    assert {option for part in parts for option in part.options} == set(value.options)
    assert sum(len(part.options) for part in parts) == len(value.options)


@given(_VALUES)
def test_doubt_or_none_beside_a_value_leaves_it_what_it_may_be(value: Value) -> None:
    assert (value.doubted().may_be_data, value.doubted().is_data) == (value.may_be_data, False)
    assert value.doubted().doubted() == value.doubted()
    assert value.or_none().without(Kind.NONE) == value.without(Kind.NONE)
    assert value.or_none().is_data == value.is_data
    assert value.or_none().or_none() == value.or_none()


@given(_VALUES)
def test_but_changes_the_possibilities_that_have_the_attribute(value: Value) -> None:
    held = value.but(source=Source.BUFFER, on_self=True).because("`a`", 1)
    assert all(option.source is Source.BUFFER for option in held.options if isinstance(option, Tensor))
    assert [option.kind for option in held.options] == [option.kind for option in value.options]
    assert held.on_self == any("on_self" in type(option).__slots__ for option in value.options)
    assert value.but(no_such_attribute=1) == value


BAGS = """
class Bag(list):
    def all_of(self): return [item for item in self]
class Shelf:
    def __init__(self, first): self.first = first
    def __getitem__(self, key): return self.first
    def __iter__(self):
        yield self.first
"""


@pytest.mark.parametrize(
    ("body", "expression"),
    [
        ("return Shelf(x)[0]", "Shelf(x)[0]"),
        ("for item in Shelf(x):\n    return item", "item"),
        ("for item in Bag([x]).all_of():\n    return item", "item"),
    ],
)
def test_an_object_is_indexed_and_gone_through_by_its_own_methods(body: str, expression: str) -> None:
    assert beliefs_of(BAGS + net(body), expression).is_tensor


def test_what_is_asked_of_torch_in_a_try_body_is_settled() -> None:
    asks = """
def exporting():
    try:
        import torch
        return torch.compiler.is_exporting()
    except Exception:
        return False
"""
    found = unreachable(asks + net("if exporting():\n    return x\nreturn x + 1"))
    assert sorted(found) == ["return False", "return x + 1"]

"""What the engine believes about expressions of small models. Unknown never becomes a tensor."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent, indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import UNKNOWN, Kind, Source, Value, span_of

MODEL = """
import torch
from torch import nn
import torch.nn.functional as F

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
    def forward(self, t):
        return self.lin(t)

class Net(nn.Module):
    def __init__(self, width, scale=2.0):
        super().__init__()
        self.inner = Inner()
        self.blocks = nn.ModuleList(Inner() for _ in range(2))
        self.register_buffer("seen", torch.tensor(False))
        self.mean = torch.zeros(4)
        self.weight = nn.Parameter(torch.ones(4))
        self.width, self.scale = width, scale

    def helper(self, t, power=1):
        return t.abs() ** power

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, flag=False, other=None):
{body}
"""


def engine_of(body: str) -> tuple[Engine, ast.Module]:
    tree = ast.parse(MODEL.replace("{body}", indent(dedent(body).strip(), " " * 8)))
    project = Project()
    module = project.add(Path("/nowhere/net.py"), tree)
    engine = Engine(project)
    engine.run(module)
    return engine, tree


def value_of(body: str, expression: str) -> Value:
    """The last belief about the expression in the text."""
    engine, tree = engine_of(body)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and ast.unparse(n) == expression]
    spans = [(n.lineno, n.col_offset, n.end_lineno, n.end_col_offset) for n in nodes]
    return engine.beliefs[Path("/nowhere/net.py")].values.get(max(spans), UNKNOWN)


@pytest.mark.parametrize(
    ("body", "expression", "kind"),
    [
        ("return x + 1", "x + 1", Kind.TENSOR),
        ("import math\nn = math.ceil(x.max().item() * 3)\nreturn n", "n", Kind.UNBACKED),
        ("import math\nn = math.ceil(x.shape[0] / 2)\nreturn n", "n", Kind.SIZE),
        ("import math\nn = x * math.pi\nreturn math.pi", "math.pi", Kind.SCALAR),
        ("y = F.relu(x)\nreturn y", "y", Kind.TENSOR),
        ("return x.shape[0]", "x.shape[0]", Kind.SIZE),
        ("b, *rest = x.shape\nreturn b * 2", "b * 2", Kind.SIZE),
        ("return len(x) > 3", "len(x) > 3", Kind.SIZE),
        ("return x.dim() == 2", "x.dim() == 2", Kind.SCALAR),
        ("n = x.sum().item()\nreturn n + 1", "n + 1", Kind.UNBACKED),
        ("return x[x > 0].shape[0]", "x[x > 0].shape[0]", Kind.UNBACKED),
        ("return x[x > 0].shape[-1]", "x[x > 0].shape[-1]", Kind.SIZE),
        ("return torch.nonzero(x).size(0)", "torch.nonzero(x).size(0)", Kind.UNBACKED),
        ("return self.inner(x)", "self.inner(x)", Kind.TENSOR),
        ("for block in self.blocks:\n    x = block(x)\nreturn x", "block(x)", Kind.TENSOR),
        ("return self.helper(x)", "self.helper(x)", Kind.TENSOR),
        ("return self.helper(2.0)", "self.helper(2.0)", Kind.UNKNOWN),
        ("parts = x.chunk(2)\nreturn parts[0]", "parts[0]", Kind.TENSOR),
        ("pair = (x, 1)\nreturn pair[1]", "pair[1]", Kind.SCALAR),
        ("outs = []\nouts.append(x)\nreturn outs[0]", "outs[0]", Kind.TENSOR),
        ("return {'a': x}['a']", "{'a': x}['a']", Kind.TENSOR),
        ("total = sum(p for p in x.unbind())\nreturn total", "total", Kind.TENSOR),
        ("return (lambda t: t * 2)(x)", "(lambda t: t * 2)(x)", Kind.TENSOR),
        ("return self.scale * 2", "self.scale * 2", Kind.SCALAR),
        ("return self.width", "self.width", Kind.UNKNOWN),
        ("return other", "other", Kind.UNKNOWN),
        ("return self.undefined(x)", "self.undefined(x)", Kind.UNKNOWN),
        ("if isinstance(other, torch.Tensor):\n    return other\nreturn x", "other", Kind.TENSOR),
        ("return torch.cond(x.sum() > 0, lambda t: t, lambda t: -t, (x,))", "-t", Kind.TENSOR),
    ],
)
def test_kinds(body: str, expression: str, kind: Kind) -> None:
    assert value_of(body, expression).kind is kind


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        ("self.seen", Source.BUFFER),
        ("self.mean", Source.ATTRIBUTE),
        ("self.weight", Source.PARAMETER),
        ("x", Source.INPUT),
        ("torch.tensor(3.0)", Source.CONSTANT),
    ],
)
def test_sources(expression: str, source: Source) -> None:
    assert value_of(f"return {expression}", expression).source is source


def test_two_kinds_on_two_paths_leave_doubt() -> None:
    body = "if flag:\n    y = x\nelse:\n    y = self.undefined()\nreturn y"
    value = value_of(body, "y")
    assert value.kind is Kind.TENSOR
    assert not value.is_tensor


def test_a_trail_leads_back_to_the_parameter() -> None:
    trail = value_of("y = self.helper(x)\nreturn y.sum()", "y.sum()").trail
    assert [step.text for step in trail][:2] == ["`y`", "`self.helper(…)`"]
    assert any("parameter `x` of forward" in step.text for step in trail)


@pytest.mark.parametrize(
    ("guard", "dead"),
    [
        ("torch.jit.is_scripting()", True),
        ("not torch.compiler.is_exporting()", True),
        ("self.training", True),
        ("x is None", True),
        ("not isinstance(x, torch.Tensor)", True),
        ("mask is None", False),
        ("flag", False),
        ("torch.compiler.is_compiling()", False),
    ],
)
def test_branches_that_export_cannot_take_are_not_judged(guard: str, dead: bool) -> None:
    engine, _ = engine_of(f"if {guard}:\n    y = x.sum()\nreturn x")
    assert bool(engine.beliefs[Path("/nowhere/net.py")].dead) is dead


def test_a_base_that_several_share_comes_after_them() -> None:
    tree = ast.parse("class A: ...\nclass B(A): ...\nclass C(A): ...\nclass D(B, C): ...\nclass E(E): ...\n")
    module = Project().add(Path("/nowhere/diamond.py"), tree)
    assert [cls.name for cls in module.classes["D"].lineage] == ["D", "B", "C", "A"]
    assert [cls.name for cls in module.classes["E"].lineage] == ["E"]


def test_a_sample_in_the_file_tells_what_a_bare_parameter_is() -> None:
    code = """
    import torch
    class Net(torch.nn.Module):
        def forward(self, x, first, scale):
            return x * scale if first else x
    flag = torch.tensor(True)
    program = torch.export.export(Net(), (torch.randn(3), flag, 2.0))
    """
    tree, path = ast.parse(dedent(code)), Path("/nowhere/script.py")
    engine = Engine(Project())
    engine.run(engine.project.add(path, tree))
    test, scale = tree.body[1].body[0].body[0].value.test, tree.body[1].body[0].body[0].value.body.right
    kinds = [engine.beliefs[path].values[span_of(node)].kind for node in (test, scale)]
    assert kinds == [Kind.TENSOR, Kind.SCALAR]


def test_a_loss_is_not_followed_even_where_forward_calls_it() -> None:
    code = """
    import torch
    class BoxLoss:
        def __init__(self, scale): self.scale = float(scale)
        def __call__(self, x): return x if x.sum() > 0 else -x
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, teach):
            return BoxLoss(2)(x) if teach else x
    """
    path = Path("/nowhere/net.py")
    engine = Engine(Project())
    engine.run(engine.project.add(path, ast.parse(dedent(code))))
    assert [function.name for function in engine.beliefs[path].reached] == ["forward"]


@pytest.mark.parametrize(
    ("use", "kind"),
    [("above = a > b\nreturn x * above", Kind.TENSOR), ("above = a > b\nreturn x if above else -x", Kind.UNKNOWN)],
)
def test_a_comparison_tells_of_a_tensor_where_its_answer_is_kept(use: str, kind: Kind) -> None:
    body = f"def pick(a, b):\n{indent(use, '    ')}\nreturn pick(other.first, other.second)"
    assert value_of(body, "a").kind is kind


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("valid = a != -100\nreturn b * valid.any()", Kind.TENSOR),
        ("return b * (2 * a - 1).sum()", Kind.TENSOR),
        ("return (a * b).sum()", Kind.UNKNOWN),  # either of them may be a number
        ("return (a == 'sum').any()", Kind.UNKNOWN),
    ],
)
def test_a_method_of_what_is_computed_with_a_number_tells_of_a_tensor(use: str, kind: Kind) -> None:
    body = f"def pick(a, b):\n{indent(use, '    ')}\nreturn pick(other.first, other.second)"
    assert value_of(body, "a").kind is kind


@pytest.mark.parametrize(
    "body",
    [
        "f = self.helper\nout = f(x)",
        "f = self.helper if flag else self.inner\nout = f(x)",
        'out = {"a": self.helper, "b": self.inner}["a"](x)',
        "for f in (self.helper, self.inner):\n    out = f(x)",
        'out = getattr(self, "helper")(x)',
        "out = torch.cond(x.sum() > 0, self.helper, self.inner, (x,))",
        "out = torch.cond(pred=x.sum() > 0, true_fn=self.helper, false_fn=self.inner, operands=(x,))",
        "out = torch.cond(x.sum() > 0, self.helper, false_fn=self.inner, operands=(x,))",
        "out = torch.while_loop(lambda t: t.sum() > 0, lambda t: (self.helper(t),), (x,))[0]",
    ],
)
def test_a_bound_method_is_followed_through_what_holds_it(body: str) -> None:
    assert value_of(f"{body}\nreturn out", "t.abs()").kind is Kind.TENSOR
    assert value_of(f"{body}\nreturn out", "out").kind is Kind.TENSOR


def test_a_package_that_takes_all_names_of_a_module_in_c_ends(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("from ._compiled import *\nfrom .layers import *\n", "utf-8")
    (tmp_path / "pkg/layers.py").write_text("from . import *\n\ndef scaled(x):\n    return x * 2\n", "utf-8")
    (tmp_path / "main.py").write_text("", "utf-8")
    project = Project()
    project.add(tmp_path / "main.py", ast.parse("from pkg import scaled, missing"))
    assert project.find("pkg.missing") is None
    assert project.find("pkg.scaled") is not None


def test_a_package_comes_before_a_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers/__init__.py").write_text("def of_package(x): ...\n", "utf-8")
    (tmp_path / "layers.py").write_text("def of_file(x): ...\n", "utf-8")
    project = Project()
    project.add(tmp_path / "main.py", ast.parse("import layers"))
    assert project.find("layers.of_package") is not None
    assert project.find("layers.of_file") is None
    by_path = project.file(tmp_path / "layers.py")
    assert by_path is not None
    assert "of_file" in by_path.functions


def test_names_that_a_star_brings_are_known_by_their_origin(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("from torch import nn\nimport torch.nn.functional as F\n_own = 1\n", "utf-8")
    project = Project()
    module = project.add(tmp_path / "main.py", ast.parse("from layers import *\nfrom torch import *"))
    assert (module.origin("nn"), module.origin("F")) == ("torch.nn", "torch.nn.functional")
    assert (module.origin("_own"), module.origin("len")) == (None, "builtins.len")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("y = other + 1\n_, other = x.topk(k=other)\nreturn other[..., None]", Kind.UNKNOWN),  # was given as a number
        ("y = other + 1\nother = other.float()\nreturn other[..., None]", Kind.TENSOR),
        ("y = other + 1\nif flag:\n    other = x.topk(2)[1]\nreturn other[..., None]", Kind.TENSOR),
    ],
)
def test_a_parameter_is_judged_by_its_uses_until_its_name_stands_for_another_thing(body: str, kind: Kind) -> None:
    assert value_of(body, "other + 1").kind is kind


def test_a_module_without_forward_is_entered_by_its_public_methods_also_under_no_grad() -> None:
    tree = ast.parse(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n"
        "    @torch.inference_mode()\n    def detect(self, image):\n        return self.keep(image.float())\n"
        "    def keep(self, t):\n        return t > 0\n"
        "    @property\n    def size(self, unit):\n        return unit > 0\n"
    )
    engine, path = Engine(Project()), Path("/nowhere/net.py")
    engine.run(engine.project.add(path, tree))
    assert {function.name for function in engine.beliefs[path].reached} == {"detect", "keep"}


def test_recursion_ends() -> None:
    body = "def down(t, n):\n    return t if n == 0 else down(t * 2, n - 1)\nreturn down(x, 3)"
    assert value_of(body, "down(x, 3)").kind in {Kind.TENSOR, Kind.UNKNOWN}


_NAMES = st.sampled_from(["x", "mask", "flag", "other", "self", "self.inner", "self.mean", "torch", "F.relu", "len"])
_EXPRESSIONS = st.recursive(
    st.one_of(_NAMES, st.sampled_from(["1", "None", "'a'", "...", "[]", "{}"])),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} + {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} < {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})[{p[1]}]"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})({p[1]}, *[{p[0]}], k={p[1]})"),
        inner.map(lambda e: f"({e}).shape"),
        inner.map(lambda e: f"[i for i in ({e}) if i]"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} is None else {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"(not {p[0]} or {p[1]})"),
    ),
    max_leaves=8,
)


@given(st.lists(_EXPRESSIONS, min_size=1, max_size=4))
def test_no_code_makes_the_engine_fail(expressions: list[str]) -> None:
    body = "\n".join(f"y{i} = {e}\nif y{i}:\n    x = y{i}" for i, e in enumerate(expressions))
    engine_of(f"{body}\nreturn x")

"""Samples as people give them: each way shows what a bare parameter is, and none hides what is found without it."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from processes import exportlint

from exportlint.engine.entry.samples import as_input
from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.parsed import Parsed
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import SIZE, UNKNOWN, Kind, Shape, exactly, span_of

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value

NET = """
import torch
import pytest
from torch import nn

class Net(nn.Module):
    def __init__(self, wide=False):
        super().__init__()
        self.wide = wide

    def forward(self, x, flag):
        if self.wide:
            return x.sum()
        return x * 2 if flag else x
"""
MASK = "(torch.randn(3), torch.tensor(True))"
FORWARD = "    def forward(self, x, flag): return super().forward(x, flag)\n"
WAYS = {
    "functions": f"def get_model():\n    return Net().eval()\ndef get_inputs():\n    return {MASK}",
    "a function for the inputs": f"model = Net()\ndef make_example_inputs(n=3):\n    return {MASK}",
    "a function for the model": f"def build():\n    return Net()\nexample_inputs = {MASK}",
    "by name": "def get_model():\n    return Net()\n"
    "def get_inputs():\n    return {'x': torch.randn(3), 'flag': torch.tensor(True)}",
    "together": f"def small_case():\n    model = Net()\n    return model, {MASK}, {{'x': None}}",
    "assigned from functions": f"def a(): return Net()\ndef b(): return {MASK}\nmodel = a()\nexample_args = b()",
    "arguments of the constructor": f"class Model(Net):\n{FORWARD}"
    f"def get_init_inputs(): return [False]\ndef get_inputs(): return {MASK}",
    "a static method": f"class Sub(Net):\n{FORWARD}    @staticmethod\n    def inputs(): return {MASK}",
    "a method": f"class Sub(Net):\n{FORWARD}    def example_inputs(self): return {MASK}",
    "a class of both": "class Target:\n    def get_eager_model(self): return Net()\n"
    f"    def get_example_inputs(self): return {MASK}",
    "main": f"def main():\n    net = Net()\n    print(net{MASK})\nif __name__ == '__main__':\n    main()",
    "what main calls": f"def demo(n):\n    return Net(){MASK}\nif __name__ == '__main__':\n    demo(3)",
    "the top level": f"net = Net()\nwith torch.no_grad():\n    net{MASK}",
    "under main": f"if __name__ == '__main__':\n    net = Net()\n    out = net{MASK}",
    "a test": f"def test_net():\n    net = Net().eval()\n    assert net{MASK} is not None",
    "a test method": f"class TestNet:\n    def test_net(self):\n        net = Net()\n        net{MASK}",
    "one of several calls": f"def test_net():\n    net = Net()\n    net(torch.randn(3), False)\n    net{MASK}",
    "a lone tensor": "class One(nn.Module):\n    def __init__(self): self.net = Net()\n"
    "    def forward(self, x): return self.net(x, x)\ntorch.jit.trace(One(), torch.randn(3))",
    "an export by keywords": f"torch.export.export(mod=Net(), args={MASK})",
}
NONE = {
    "no sample": "",
    "inputs that no forward takes": "def get_model():\n    return Net()\ndef get_inputs():\n    return (1, 2, 3)",
    "a function that takes arguments": f"def get_model():\n    return Net()\ndef get_inputs(n):\n    return {MASK}",
    "a test that it is refused": f"def test_net():\n    net = Net()\n    with pytest.raises(TypeError): net{MASK}",
    "a parameter that is called": f"def main(net):\n    net{MASK}",
    "an object that is no model": f"def main():\n    net = print(Net)\n    net{MASK}",
}


def flag_of(code: str) -> tuple[Value, bool]:
    """What `flag` is in forward, and whether the branch that the constructor decides is dead."""
    text = NET + code
    tree, path, engine = ast.parse(text), Path("/nowhere/net.py"), Engine(Project())
    engine.run(engine.project.add(path, Parsed(tree, text)))
    forward: Any = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body[1]
    belief = engine.beliefs[path]
    return belief.values[span_of(forward.body[1].value.test)], bool(belief.dead)


@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_a_sample_shows_what_a_bare_parameter_is(code: str) -> None:
    assert flag_of(code)[0].kind is Kind.TENSOR


@pytest.mark.parametrize("code", NONE.values(), ids=NONE)
def test_what_is_no_sample_shows_nothing(code: str) -> None:
    value, _ = flag_of(code)
    assert value.kind is Kind.UNKNOWN


@pytest.mark.parametrize("name", ["functions", "together", "a function for the model"])
def test_what_is_exported_decides_what_the_constructor_leaves_open(name: str) -> None:
    assert flag_of(WAYS[name])[1]


@pytest.mark.parametrize("name", ["main", "a test", "the top level"])
def test_a_call_among_others_adds_to_what_is_judged_without_it(name: str) -> None:
    engine_sees, _ = flag_of(WAYS[name])
    assert engine_sees.kind is Kind.TENSOR
    text = NET.replace("return x.sum()", "return x if x.sum() > 0 else -x") + WAYS[name]
    path, engine = Path("/nowhere/net.py"), Engine(Project())
    module = engine.project.add(path, Parsed(ast.parse(text), text))
    engine.run(module)
    branch: Any = module.classes["Net"].methods["forward"].node.body[0]
    assert engine.beliefs[path].values[span_of(branch.body[0].value.test)].is_data


def test_a_size_is_a_number_outside_of_the_model() -> None:
    assert [as_input(value, None, "x").kind for value in (SIZE, exactly(Shape()), UNKNOWN)] == [
        Kind.SCALAR,
        Kind.CONTAINER,
        Kind.UNKNOWN,
    ]


# Through the command line.

LIBRARY = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, flag):\n"
LIBRARY += "        return x * 2 if flag else x\n"
TARGETS = "import torch\nfrom package.net import Net\n\n\ndef build():\n    return Net()\n\n\n"
TABLE = '[tool.exportlint.targets.net]\nmodel = "{}:build"\nargs = "{}:inputs"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "pyproject.toml": "[project]\n",
        "package/__init__.py": "",
        "package/net.py": LIBRARY,
        "tests/targets.py": f"{TARGETS}def inputs():\n    return {MASK}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def checked(project: Path, *paths: str) -> str:
    options = ("--exit-zero", "--output-format", "concise")
    found = exportlint(project, "check", *(paths or ["package"]), *options, EXPORTLINT_CACHE_DIR=str(project / "cache"))
    return found.stdout


@pytest.mark.parametrize("home", ["tests/targets.py", "tests.targets"])
def test_a_target_of_the_configuration_is_a_sample_of_its_model(project: Path, home: str) -> None:
    (project / "tests/__init__.py").touch()
    assert "data-dependent-branch" not in checked(project)
    (project / "pyproject.toml").write_text(dedent(TABLE.format(home, home)), "utf-8")
    assert "data-dependent-branch" in checked(project)
    first, second = (checked(project, *paths).splitlines()[0] for paths in (["package/net.py"], ["package", "tests"]))
    assert first == second, "whatever is checked beside it"


def test_a_judgement_by_a_target_holds_until_its_file_changes(project: Path) -> None:
    home = "tests/targets.py"
    (project / "pyproject.toml").write_text(TABLE.format(home, home), "utf-8")
    assert "data-dependent-branch" in checked(project)
    (project / home).write_text(f"{TARGETS}def inputs():\n    return torch.randn(3), True\n", "utf-8")
    assert "data-dependent-branch" not in checked(project)
    (project / home).unlink()
    assert "data-dependent-branch" not in checked(project)
    (project / home).write_text(f"{TARGETS}def inputs():\n    return {MASK}\n", "utf-8")
    assert "data-dependent-branch" in checked(project)


def test_a_test_that_is_checked_tells_of_the_models_that_it_calls(project: Path) -> None:
    call = f"import torch\nfrom package.net import Net\n\n\ndef test_net():\n    net = Net()\n    net{MASK}\n"
    (project / "tests/test_net.py").write_text(call, "utf-8")
    assert "data-dependent-branch" in checked(project, "package", "tests")

"""Who may import whom, and which names say nothing. Every import counts, wherever it stands and whatever it is for."""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter

import pytest
from layers import LAYERS
from packages import imports, modules, tree
from sources import ROOT

CHILD = ("exportlint.trial.child", "exportlint.lowering", "exportlint.zoo")
PLUGINS = ("exportlint.lowering", "exportlint.zoo")  # each file imports the package that it is for
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}


def layer_of(name: str) -> str:
    """The longest entry of LAYERS that is the module or a package above it; a package of somebody else by its name.

    `exportlint` and `exportlint.trial` stand for their own file alone.
    """
    if not name.startswith("exportlint"):
        return name.partition(".")[0]
    above = [key for key in LAYERS if name == key or (name.startswith(f"{key}.") and key != "exportlint")]
    return max(above, key=len, default=name)


def is_standard(name: str) -> bool:
    return name.partition(".")[0] in (sys.stdlib_module_names | {"__future__"})


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_imports_only_what_its_layer_may(name: str) -> None:
    layer = layer_of(name)
    may = LAYERS.get(layer, set()) | {layer}
    wrong = {found for found in imports(name) if not is_standard(found) and layer_of(found) not in may}
    assert {found for found in wrong if found.startswith("exportlint") or layer not in PLUGINS} == set()


def test_a_layer_builds_only_on_those_above_it_in_the_list() -> None:
    known: set[str] = set()
    for layer, may in LAYERS.items():
        assert {one for one in may if one.startswith("exportlint")} <= known, layer
        known.add(layer)


def test_every_layer_stands_for_something() -> None:
    assert {layer_of(name) for name in modules()} >= set(LAYERS)


def test_no_module_imports_itself_however_far_around() -> None:
    """TopologicalSorter raises CycleError with the modules of the cycle."""
    list(TopologicalSorter({name: imports(name) & modules().keys() for name in modules()}).static_order())


@pytest.mark.parametrize("name", sorted(name for name in modules() if name.startswith(CHILD)))
def test_the_child_imports_nothing_but_torch_and_itself(name: str) -> None:
    """So that `--python` can try a model where neither exportlint nor what it depends on is installed."""
    own = (*CHILD, "exportlint.trial.protocol", "exportlint.version")
    foreign = {"torch", "sympy", "cloudpickle"}
    if name == "exportlint.trial.child.onnx_file":  # a script that writes such a file has it, or the stage is skipped
        foreign |= {"onnxruntime"}
    found = {one for one in imports(name) if not is_standard(one) and not one.startswith(own)}
    assert {one.partition(".")[0] for one in found} <= foreign or name.startswith(PLUGINS)
    assert not any(one.startswith("exportlint") for one in found)


def test_the_folders_above_the_child_import_next_to_nothing() -> None:
    """Importing a module of the child runs them."""
    assert imports("exportlint.trial") == imports("exportlint.trial.child") == frozenset()
    run = [node for node in tree(modules()["exportlint"]).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {node.module for node in run if isinstance(node, ast.ImportFrom)} == {
        "__future__",
        "typing",
        "exportlint.version",
    }


def test_the_static_pass_reaches_neither_torch_nor_a_trial() -> None:
    reached: set[str] = set()
    todo = [name for name in modules() if name.startswith("exportlint.static")]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += imports(name) if name in modules() else ()
    assert not {one for one in reached if one.startswith(("torch", "sympy"))}
    assert {one for one in reached if one.startswith("exportlint.trial")} == {
        one for one in reached if one.startswith("exportlint.trial.protocol")
    }


def test_the_machine_knows_no_rule_by_name() -> None:
    rules = {path.stem.replace("_", "-") for path in (ROOT / "rules").glob("*.py") if path.stem != "__init__"}
    for name, path in modules().items():
        if not name.startswith("exportlint_rules"):
            strings = {node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)}
            assert not strings & rules, f"{name} names {strings & rules}"


def test_no_file_is_named_for_nothing() -> None:
    ours = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    assert [path for path in ours if path.stem.strip("_") in FORBIDDEN_NAMES] == []

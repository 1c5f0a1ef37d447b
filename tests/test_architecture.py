"""Who may import whom, as one dict, and the size and names of files. Every import counts, inside functions too."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parent.parent

# Longest matching name wins, on both sides; a package stands for what is in it. `exportlint` alone is its public names.
# Beside what is listed, everybody may import the standard library.
MAY_IMPORT: dict[str, set[str]] = {
    "exportlint": set(),
    "exportlint.finding": set(),
    "exportlint.errors": set(),
    "exportlint.files": {"exportlint.finding", "pathspec"},
    "exportlint.rule": {"exportlint.finding", "libcst"},
    "exportlint.registry": {"exportlint.finding", "exportlint.rule", "exportlint.errors"},
    "exportlint.reference": {"exportlint.finding", "msgspec"},
    "exportlint.fixture": {"exportlint.errors"},
    "exportlint.static": {
        "exportlint",
        "exportlint.errors",
        "exportlint.files",
        "exportlint.finding",
        "exportlint.reference",
        "exportlint.registry",
        "exportlint.rule",
        "exportlint.static",
        "libcst",
    },
    # What runs in the child reaches only the standard library, torch and its own kind: see the test below.
    # sympy comes with torch, whose symbolic sizes are its expressions.
    "exportlint.trial": {"exportlint.trial", "exportlint.errors", "torch", "sympy", "psutil"},
    "exportlint.trial.stages.parts": {"exportlint.trial", "torch", "cloudpickle"},
    # In the caller's process, which has the model.
    "exportlint.trial.handing": {"exportlint.trial", "exportlint.errors", "torch", "cloudpickle"},
    "exportlint.trial.reasons": {
        "exportlint.trial.observation",
        "exportlint.trial.report",
        "exportlint.trial",
        "exportlint.finding",
        "exportlint.reference",
        "exportlint.registry",
    },
    "exportlint.trial.told": {"exportlint.finding", "exportlint.trial"},
    "exportlint.zoo": {"exportlint.zoo", "torch", "transformers", "timm", "torchvision"},
    "exportlint.lowering": {"exportlint.trial", "exportlint.lowering", "torch", "executorch"},
    "exportlint.verdict": {"exportlint.finding", "exportlint.trial", "exportlint.reference"},
    "exportlint.definable": set(),
    "exportlint.measuring": {
        "exportlint.definable",
        "exportlint.errors",
        "exportlint.fixture",
        "exportlint.registry",
        "exportlint.trial",
    },
    "exportlint.truth": {"exportlint.errors", "exportlint.measuring", "exportlint.registry", "exportlint_rules"},
    "exportlint.repro": {"exportlint.repro", "exportlint.trial"},
    "exportlint.output": {"exportlint", "exportlint.finding", "exportlint.output", "rich", "tabulate"},
    "exportlint.pyproject": {"exportlint.errors", "msgspec", "tomli"},
    "exportlint.config": {
        "exportlint.errors",
        "exportlint.pyproject",
        "exportlint.registry",
        "exportlint.static.suppressions",
        "exportlint.trial.reasons",
    },
    "exportlint.catalogue": {
        "exportlint.errors",
        "exportlint.fixture",
        "exportlint.output.markdown",
        "exportlint.registry",
    },
    "exportlint.explain": {
        "exportlint.catalogue",
        "exportlint.errors",
        "exportlint.fixture",
        "exportlint.reference",
        "exportlint.registry",
    },
    "exportlint.commands": {
        "exportlint.catalogue",
        "exportlint.commands",
        "exportlint.config",
        "exportlint.errors",
        "exportlint.explain",
        "exportlint.files",
        "exportlint.finding",
        "exportlint.output",
        "exportlint.registry",
        "exportlint.repro",
        "exportlint.static.run",
        "exportlint.static.suppressions",
        "exportlint.trial",
        "exportlint.truth",
        "exportlint.verdict",
        "click",
        "msgspec",
        "platformdirs",
        "rich",
        "tabulate",
    },
    "exportlint.diagnosis": {
        "exportlint.commands.gathering",
        "exportlint.commands.reproducing",
        "exportlint.commands.static",
        "exportlint.commands.trying",
        "exportlint.config",
        "exportlint.errors",
        "exportlint.files",
        "exportlint.finding",
        "exportlint.output",
        "exportlint.trial",
        "rich",
    },
    "exportlint.testing": {"exportlint.diagnosis"},
    "exportlint.cli": {"exportlint", "exportlint.errors", "click"},
    "exportlint.__main__": {"exportlint.cli"},
    "exportlint_rules": {"exportlint", "libcst"},
    "exportlint_rules.fixtures": {"torch", "functorch", "numpy", "a_package_that_is_not_there"},
}
# cloudpickle by one stage, which does without where it is not installed.
CHILD_MAY_REACH = (
    "cloudpickle",
    *("exportlint.trial", "exportlint.lowering", "exportlint.zoo"),
    *("torch", "sympy", "executorch", "transformers", "timm", "torchvision"),
)
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    typing_only: bool


def folders() -> dict[str, Path]:
    return {
        "exportlint": ROOT / "exportlint",
        "exportlint_rules": ROOT / "rules",
        "exportlint_rules.fixtures": ROOT / "fixtures",
    }


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of everything that is installed."""
    return {
        ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__"): path
        for package, folder in folders().items()
        for path in folder.rglob("*.py")
    }


@cache
def imports(name: str) -> tuple[Import, ...]:
    tree = ast.parse(modules()[name].read_text("utf-8"))
    guards = (n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    typing_only = {id(inner) for guard in guards for statement in guard.body for inner in ast.walk(statement)}
    return tuple(Import(module, node.lineno, id(node) in typing_only) for node, module in _imported(tree))


def _imported(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide who imports whom"
            base = node.module or ""
            inner = {alias.name: f"{base}.{alias.name}" for alias in node.names}
            yield from ((node, full if full in modules() else base) for full in inner.values())


def longest(name: str, keys: set[str]) -> str | None:
    """The key that is `name` or the nearest package above it. `exportlint` stands for itself alone."""
    above = [key for key in keys if name == key or (name.startswith(f"{key}.") and key != "exportlint")]
    return max(above, key=len, default=None)


def is_standard(module: str) -> bool:
    return module.partition(".")[0] in (sys.stdlib_module_names | {"__future__"})


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_imports_only_what_it_may(name: str) -> None:
    key = longest(name, set(MAY_IMPORT))
    assert key, f"{name} is not in MAY_IMPORT: say there whom it may import"
    wrong = [
        f"line {found.line}: {found.module}"
        for found in imports(name)
        if not found.typing_only and not is_standard(found.module) and not longest(found.module, MAY_IMPORT[key])
    ]
    assert not wrong, f"{name} may import only {sorted(MAY_IMPORT[key])}"


def test_nobody_imports_the_command_line() -> None:
    """Not even for annotations."""
    importers = {name for name in modules() for found in imports(name) if found.module.startswith("exportlint.cli")}
    assert importers == {"exportlint.__main__"}


def test_every_entry_of_the_dict_stands_for_something() -> None:
    assert {key for key in MAY_IMPORT if not any(longest(name, {key}) for name in modules())} == set()


def reached(start: str) -> set[str]:
    """Every module that importing `start` can lead to, third-party ones included, the standard library left out."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name in seen or is_standard(name):
            continue
        seen.add(name)
        if name in modules():
            todo += [found.module for found in imports(name) if not found.typing_only]
    return seen


def child_side() -> list[str]:
    own = [
        name
        for name in modules()
        if name.startswith(("exportlint.trial.stages", "exportlint.lowering", "exportlint.zoo"))
    ]
    return ["exportlint.trial.worker", "exportlint.trial.bootstrap", *own]


@pytest.mark.parametrize("name", sorted(child_side()))
def test_the_child_needs_nothing_but_torch_and_the_packages_of_its_target(name: str) -> None:
    """So that `--python` can try a model where exportlint and its dependencies are not installed."""
    foreign = {m for m in reached(name) if not m.startswith(CHILD_MAY_REACH)}
    assert foreign == set()


def test_the_static_pass_reaches_neither_torch_nor_trials() -> None:
    for name in (name for name in modules() if name.startswith("exportlint.static")):
        assert not {m for m in reached(name) if m.startswith(("torch", "exportlint.trial"))}, name


def test_the_machine_knows_no_rule_by_name() -> None:
    rules = {path.stem.replace("_", "-") for path in (ROOT / "rules").glob("*.py") if path.stem != "__init__"}
    for name, path in modules().items():
        if name.startswith("exportlint."):
            strings = {n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant)}
            assert not strings & rules, f"{name} names {strings & rules}"


def test_files_are_short_and_named_for_what_they_do() -> None:
    ours = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    assert [p for p in ours if len(p.read_text("utf-8").splitlines()) > 400 and "fixtures" not in p.parts] == []
    assert [p for p in ours if p.stem.strip("_") in FORBIDDEN_NAMES] == []


@pytest.mark.parametrize(
    ("output_format", "heavy"),
    [
        ("json", {"torch", "numpy", "rich", "tabulate", "pathspec", "msgspec", "exportlint.trial", "asyncio"}),
        ("full", {"torch", "numpy"}),
    ],
)
def test_checking_a_file_imports_little(tmp_path: Path, output_format: str, heavy: set[str]) -> None:
    file = tmp_path / "m.py"
    file.write_text("from torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n        return x\n", "utf-8")
    code = (
        "import json, sys, exportlint.cli\n"
        "try:\n    exportlint.cli.main(sys.argv[1:])\n"
        "finally:\n    open('modules.json', 'w').write(json.dumps(list(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "check", "--output-format", output_format, str(file)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stderr
    assert set(json.loads((tmp_path / "modules.json").read_text("utf-8"))) & heavy == set()

"""Make targets of what the command line and pyproject.toml name, and find those that files declare; no file is run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.target import (
    EXAMPLE_ARGS,
    EXAMPLE_INPUTS,
    Target,
    TargetError,
    TargetKind,
    is_file_source,
    split_source,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def from_callables(
    model: str,
    args: str,
    *,
    name: str | None = None,
    kwargs: str | None = None,
    dynamic_shapes: str | None = None,
    other_args: str | None = None,
) -> Target:
    """A target of the command line: each part is FILE_OR_MODULE:CALLABLE.

    Raises TargetError where a part has no colon or names a file that does not exist.
    """
    parts = {"model": model, "args": args, "kwargs": kwargs, "dynamic-shapes": dynamic_shapes, "other-args": other_args}
    split = {key: split_source(key, part) for key, part in parts.items() if part is not None}
    home, attribute = split["model"]
    path = home if is_file_source(home) else None
    line = _line_of(path, attribute) if path else None
    return Target(
        name or model, TargetKind.CALLABLES, model, args, kwargs, dynamic_shapes, other_args, path=path, line=line
    )


def from_mapping(name: str, table: Mapping[str, Any]) -> Target:
    """A target of `[tool.exportlint.targets.NAME]`: the keys model, args, kwargs, dynamic-shapes, other-args."""
    keys = {key.replace("_", "-"): value for key, value in table.items()}
    if unknown := sorted(set(keys) - {"model", "args", "kwargs", "dynamic-shapes", "other-args"}):
        raise TargetError(f"target {name!r}: unknown key {unknown[0]!r}")
    for key in ("model", "args"):
        if key not in keys:
            raise TargetError(f"target {name!r}: the key {key!r} is missing")
    for key, value in keys.items():
        if not isinstance(value, str):
            raise TargetError(f"target {name!r}: {key} must be text of the form FILE_OR_MODULE:CALLABLE")
    return from_callables(
        keys["model"],
        keys["args"],
        name=name,
        kwargs=keys.get("kwargs"),
        dynamic_shapes=keys.get("dynamic-shapes"),
        other_args=keys.get("other-args"),
    )


def from_text(text: str, arguments: Sequence[str] | None = None) -> list[Target]:
    """The targets of what a person writes after `exportlint trial`: a file, a folder, or FILE.py:CLASS for a fixture.

    A file that declares no target is a script to run, with `arguments`; None: there was no `--`.
    """
    if ".py:" in text:
        home, _, name = text.rpartition(":")
        if not Path(home).is_file():
            raise TargetError(f"{text}: there is no file {home}")
        return [Target(text, TargetKind.FIXTURE, text, path=home, line=_line_of(home, name))]
    if not Path(text).exists():
        raise TargetError(f"{text}: no such file or folder (what a script is to be given stands after `--`)")
    declared = discover([Path(text)])
    if declared and arguments is not None:
        raise TargetError(f"{text} declares a target, so it is not run as a script: leave out `--` and what follows")
    if declared or not Path(text).is_file():
        return declared
    if Path(text).suffix != ".py":
        raise TargetError(f"{text} is no Python file, so there is no script to run")
    return [Target(text, TargetKind.SCRIPT, text, path=text, line=1, arguments=tuple(arguments or ()))]


def as_script(target: Target) -> Target:
    """The file of a target, to be run as the script that it also is."""
    return Target(str(target.path), TargetKind.SCRIPT, str(target.path), path=target.path, line=1)


# The calls that a script hands its model to, by their last names.
_HANDED_TO = frozenset({"export", "draft_export", "aot_compile", "compile", "trace", "script"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def hands_a_model_to_torch(path: Path) -> bool:
    """Does running the file export, compile or trace something, as far as can be read?"""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    return call_that_hands_over(tree) is not None


def call_that_hands_over(tree: ast.Module) -> tuple[int, str] | None:
    """Line and name of a call by which running the file exports, compiles or traces something.

    What it runs is at its top level, or in the functions of the file that this calls.
    """
    imported = dict(_imported(tree))
    functions = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    todo: list[ast.AST] = [one for one in tree.body if not isinstance(one, _DEFINITIONS)]
    met: set[str] = set()
    while todo:
        for node in ast.walk(todo.pop()):
            if not isinstance(node, ast.Call):
                continue
            name = _dotted(node.func, imported)
            if name.startswith("torch.") and name.rpartition(".")[2] in _HANDED_TO:
                return node.lineno, name
            if name in functions.keys() - met:
                met.add(name)
                todo.append(functions[name])
    return None


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names with what they are imported from: `export` -> `torch.export.export`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((one.asname, one.name) for one in names if one.asname)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((one.asname or one.name, f"{module}.{one.name}") for one in names)


def _dotted(called: ast.expr, imported: Mapping[str, str]) -> str:
    match called:
        case ast.Attribute(value=owner, attr=name) if home := _dotted(owner, imported):
            return f"{home}.{name}"
        case ast.Name(id=name):
            return imported.get(name, name)
    return ""


def from_zoo(text: str, zoos: Mapping[str, str]) -> Target | None:
    """LIBRARY:MODEL or LIBRARY:MODEL,OPTION=VALUE…, where `zoos` has the library; None when it is something else."""
    library, _, model = text.partition(":")
    if not model or library not in zoos:
        return None
    return Target(text, TargetKind.ZOO, text, zoo=zoos[library])


def discover(paths: Iterable[Path]) -> list[Target]:
    """Every module target and fixture class in the given files and folders, found by reading only."""
    return [target for file in _files(paths) for target in _targets_of(file)]


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            below = ((file, file.relative_to(path).parts) for file in path.rglob("*.py"))
            yield from sorted(file for file, parts in below if not any(part.startswith(".") for part in parts))
        else:
            yield path


def _targets_of(file: Path) -> Iterator[Target]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # the static pass reports what is wrong with the file
    yield from declared_in(tree, file)


def declared_in(tree: ast.Module, file: Path) -> Iterator[Target]:
    """The targets that the tree of the file declares."""
    path = file.as_posix()
    names = {name: node.lineno for node in tree.body for name in _assigned(node)}
    if {"model", EXAMPLE_ARGS} <= names.keys():
        yield Target(path, TargetKind.MODULE, path, path=path, line=names["model"])
    elif {"model", EXAMPLE_INPUTS} <= names.keys() and not hands_a_model_to_torch(file):
        # Many a script calls its inputs so, and its own call is to be judged.
        yield Target(path, TargetKind.MODULE, path, EXAMPLE_INPUTS, path=path, line=names["model"])
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and is_fixture_class(node):
            source = f"{path}:{node.name}"
            yield Target(source, TargetKind.FIXTURE, source, path=path, line=node.lineno)


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def is_fixture_class(node: ast.ClassDef) -> bool:
    """Does the class have a static method `inputs`?"""
    return any(
        isinstance(item, ast.FunctionDef)
        and item.name == "inputs"
        and any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in item.decorator_list)
        for item in node.body
    )


def _line_of(path: str, attribute: str) -> int | None:
    try:
        body = ast.parse(Path(path).read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    head = attribute.partition(".")[0]
    for node in body:
        if getattr(node, "name", None) == head or head in _assigned(node):
            return node.lineno
    return None

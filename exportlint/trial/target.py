"""A model with example inputs that a trial can run: how it is named, and how it is found without running a file.

Standard library only; parent and child both read it.
"""

from __future__ import annotations

import ast
import enum
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class TargetKind(str, enum.Enum):
    MODULE = "module"  # ExportDB style: module-level `model` and `example_args`
    CALLABLES = "callables"  # MODEL and ARGS each named as FILE_OR_MODULE:CALLABLE
    FIXTURE = "fixture"  # a class with static `inputs()`
    SCRIPT = "script"  # a script to run; every model that it hands to torch is a target
    SEEN = "seen"  # one of those
    ZOO = "zoo"  # a model of a library, by its name
    OBJECTS = "objects"  # live objects of the caller's process, in a file


class TargetError(Exception):
    """A target that says what cannot be; the text is one sentence for the person who wrote it."""


TARGET_ERROR = f"{TargetError.__module__}.{TargetError.__qualname__}"


@dataclass(frozen=True)
class Target:
    """`source` is FILE_OR_MODULE for a module target or a script, else FILE_OR_MODULE:NAME; so are the other parts.

    `arguments` are a script's own; `given_to` is the call that a script handed the model to. `search`
    lists further folders to import from; `zoo` is the module that builds LIBRARY:MODEL.
    """

    name: str
    kind: TargetKind
    source: str
    args: str | None = None
    kwargs: str | None = None
    dynamic_shapes: str | None = None
    other_args: str | None = None
    path: str | None = None
    line: int | None = None
    arguments: tuple[str, ...] = ()
    given_to: str | None = None
    search: tuple[str, ...] = ()
    zoo: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Target:
        known = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        lists = {name: tuple(raw.get(name, ())) for name in ("arguments", "search")}
        return cls(**{**known, **lists, "kind": TargetKind(raw["kind"])})


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
    """What a person writes after `exportlint trial`: a file, a folder, or FILE.py:CLASS for a fixture class.

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
            yield from sorted(file for file in path.rglob("*.py") if not any(p.startswith(".") for p in file.parts[1:]))
        else:
            yield path


def _targets_of(file: Path) -> Iterator[Target]:
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return  # the static pass says what is wrong with the file
    path = file.as_posix()
    names = {name: node.lineno for node in tree.body for name in _assigned(node)}
    if {"model", "example_args"} <= names.keys():
        yield Target(path, TargetKind.MODULE, path, path=path, line=names["model"])
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


def split_source(part: str, text: str) -> tuple[str, str]:
    """FILE_OR_MODULE:CALLABLE -> both halves; a file must exist."""
    home, _, attribute = text.rpartition(":")
    if not home or not attribute.replace(".", "").isidentifier():
        raise TargetError(f"{part} {text!r}: write FILE_OR_MODULE:CALLABLE, for instance model.py:make_model")
    if is_file_source(home) and not Path(home).is_file():
        raise TargetError(f"{part} {text!r}: there is no file {home}")
    return home, attribute


def is_file_source(home: str) -> bool:
    """Is what stands before the colon a path, or else a module's name?"""
    return home.endswith(".py") or os.sep in home or "/" in home


def _line_of(path: str, attribute: str) -> int | None:
    try:
        body = ast.parse(Path(path).read_text("utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return None
    head = attribute.partition(".")[0]
    for node in body:
        if getattr(node, "name", None) == head or head in _assigned(node):
            return node.lineno
    return None

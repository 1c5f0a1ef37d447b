"""Where in a file a model can be tried: a target that it declares, or a class that the project's targets build."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.files import project_folder
from exportlint.trial.discovery import declared_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.config.settings import Config

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Try:
    """A model to try. `arguments`: those of `exportlint trial` in the folder `root`; `line`: where it is offered."""

    line: int
    title: str
    root: str
    arguments: tuple[str, ...]


def tries(path: Path, text: str, config: Config) -> list[Try]:
    """By reading alone; none where the text cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    folder = project_folder(path.parent)
    declared = [
        Try(one.line or 1, "try this model", str(folder), (_from(folder, path, one.source),))
        for one in declared_in(tree, path)
    ]
    return [*declared, *_of_table(path, tree, config)]


def _from(folder: Path, path: Path, source: str) -> str:
    """The file, or FILE:CLASS, as a person would name it who stands in the folder."""
    return source.replace(path.as_posix(), path.relative_to(folder).as_posix(), 1)


def _of_table(path: Path, tree: ast.Module, config: Config) -> Iterator[Try]:
    """What targets of pyproject.toml build in this file: what they name, and the classes that this calls."""
    definitions = {node.name: node for node in tree.body if isinstance(node, _DEFINITIONS)}
    for name, table in config.targets.items():
        home, _, attribute = table.model.rpartition(":")
        own = _is(home, path, config.root)
        built = {attribute.partition(".")[0]} if own else set[str]()
        factory = definitions.get(attribute) if own else None
        if factory is not None:
            built |= set(_called(factory))
        elif not own:
            built |= set(_called_there(home, attribute, path, config.root))
        for node in (definitions[one] for one in sorted(built & definitions.keys())):
            yield Try(node.lineno, f"try this model ({name})", str(config.root), ("--target", name))


def _is(home: str, path: Path, root: Path) -> bool:
    """Does FILE or MODULE name the path?"""
    if home.endswith(".py"):
        return (root / home).resolve() == path
    return path.with_suffix("").parts[-home.count(".") - 1 :] == tuple(home.split("."))


def _called(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            yield call.func.id


def _called_there(home: str, attribute: str, path: Path, root: Path) -> Iterator[str]:
    """The names of this file's definitions that a factory in another file imports from it and calls."""
    if not home.endswith(".py"):
        return
    try:
        tree = ast.parse((root / home).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    imported = dict(_imported(tree, path))
    for node in tree.body:
        if isinstance(node, _DEFINITIONS) and node.name == attribute:
            yield from (imported[name] for name in _called(node) if name in imported)


def _imported(tree: ast.Module, path: Path) -> Mapping[str, str]:
    """Name -> what it is called in the file `path`, of what is imported from there."""
    return {
        one.asname or one.name: one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and _is(node.module, path, Path())
        for one in node.names
    }

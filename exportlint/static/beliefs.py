"""What the engine knows of the places of files, for whoever wants to see it and not to judge it.

A judgement keeps what rules report and no beliefs, which are many times as large. So the engine runs once more, on the
one file that somebody asks about.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.parsed import FileStore, walked
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import Kind, Span, Value, span_of
from exportlint.engine.values.in_words import in_words
from exportlint.static.check_file import room_for_deep_trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget

# What tells somebody who reads the line something: not that a name is a function, or a layer.
_TOLD = frozenset(
    {Kind.TENSOR, Kind.CONTAINER, Kind.SHAPE, Kind.SIZE, Kind.UNBACKED, Kind.SCALAR, Kind.NONE, Kind.ARRAY, Kind.CONFIG}
)
_QUOTED = re.compile(r"`([^`]+)`")
_Name = ast.Name | ast.Attribute


def beliefs_after(
    entry: Path, files: FileStore, targets: Sequence[DeclaredTarget] = ()
) -> Mapping[Path, Mapping[Span, Value]]:
    """The values of expressions after the forwards of a file ran, by the file that they stand in and their places in
    it, in ast's byte columns. Nothing where the file cannot be parsed."""
    parsed = files.parsed(entry)
    if parsed is None:
        return {}
    project = Project(files)
    engine = Engine(project)
    with suppress(Exception), room_for_deep_trees():  # what was believed before stands, and the pass told of the error
        engine.run(project.add(entry, parsed), targets)
    found = {path: belief.values for path, belief in engine.beliefs.items()}
    project.close()
    return found


class BeliefsInWords:
    """The beliefs of the files that are asked for; a file is run when it is asked for first.

    targets   those that the configuration names, whose inputs show what a model's parameters are
    """

    def __init__(self, targets: Sequence[DeclaredTarget] = ()) -> None:
        self._targets = targets
        self._files = FileStore()
        self._known: dict[Path, Mapping[Path, Mapping[Span, Value]]] = {}

    def beside(self, path: Path, lines: range, callers: Sequence[Path] = ()) -> dict[int, tuple[str, ...]]:
        """Line -> what is believed of its names: of all names on `lines`, and of those on other lines of the file that
        their trails name. `callers`: files that may run it, where it is not run by itself. Empty where the engine knows
        nothing of these lines."""
        path = path.absolute()
        parsed = self._files.parsed(path)
        if parsed is None:
            return {}
        for entry in (path, *(one.absolute() for one in callers)):
            values = self._of(entry).get(path, {})
            names = {node: value for node in _names(parsed.tree) if (value := _value_of(node, values)) is not None}
            marked = {node: value for node, value in names.items() if node.lineno in lines}
            if marked:
                return _by_line(marked | _on_their_trails(marked, names, path), path)
        return {}

    def _of(self, entry: Path) -> Mapping[Path, Mapping[Span, Value]]:
        """What is known of each file after the forwards of this one ran."""
        if entry not in self._known:
            self._known[entry] = beliefs_after(entry, self._files, self._targets)
        return self._known[entry]


def _on_their_trails(marked: dict[_Name, Value], names: dict[_Name, Value], path: Path) -> dict[_Name, Value]:
    """The names of which the trails of others say that they come from there."""
    own = [step for value in marked.values() for step in value.trail if step.path in (None, path)]
    steps = {(step.line, name) for step in own for name in _QUOTED.findall(step.text)}
    return {node: value for node, value in names.items() if (node.lineno, ast.unparse(node)) in steps}


def _names(tree: ast.AST) -> Iterator[_Name]:
    """Every name, and every attribute as a whole (`self.scale`, and not `self` beside it)."""
    todo: list[ast.AST] = [tree]
    for node in todo:
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_dotted(node)):
            yield node
        else:
            todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Attribute) and _is_dotted(node):
            yield from (one for one in walked(node.value) if isinstance(one, ast.Name) and one.id != "self")


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _value_of(node: _Name, values: Mapping[Span, Value]) -> Value | None:
    """None where nothing is known of it that is worth telling."""
    span = span_of(node)
    value = values.get(span) if span is not None else None
    return value if value is not None and any(option.kind in _TOLD for option in value.options) else None


def _by_line(names: dict[_Name, Value], path: Path) -> dict[int, tuple[str, ...]]:
    """In the order of the source, each name once a line."""
    found: dict[int, dict[str, None]] = {}
    for node in sorted(names, key=lambda one: (one.lineno, one.col_offset)):
        name = ast.unparse(node)
        told = found.setdefault(node.lineno, {})
        told.setdefault(f"{name}: {in_words(names[node], path, name=name, steps=1)}")
    return {line: tuple(told) for line, told in found.items()}

"""The files of the user that a target is made of, and the packages they import, found by reading.

A result is good as long as what it was made of is the same. What is imported in a way that cannot be read (`importlib`,
a name that is put together) is not found here; what of it ran, the trial says, and it is kept with the result.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class SourceClosure:
    """`files` are absolute; `packages` are the first words of the imports that lead out of the user's folders."""

    files: frozenset[Path]
    packages: frozenset[str]


class SourceReader:
    """Follows imports, and reads each file once for all targets of a sweep."""

    def __init__(self, search: Sequence[Path] = ()) -> None:
        self._search = tuple(path.resolve() for path in search)
        self._imports: dict[Path, tuple[tuple[int, str, tuple[str, ...]], ...]] = {}
        self._hashes: dict[Path, str] = {}

    def closure(self, start: Iterable[Path]) -> SourceClosure:
        """What the files import, and what that imports; looked for beside the importing file's top folder, and in the
        folders of the search path."""
        files: set[Path] = set()
        packages: set[str] = set()
        todo = [(path.resolve(), path.resolve().parent) for path in start]
        while todo:
            file, home = todo.pop()
            if file in files:
                continue
            files.add(file)
            for level, module, names in self._read(file):
                found = list(self._found(file, home, level, module, names))
                todo += [(one, home) for one in found]
                if not found and not level:
                    packages.add(module.partition(".")[0])
        return SourceClosure(frozenset(files), frozenset(packages))

    def hash(self, file: Path) -> str:
        """Of the content; of a file that cannot be read, its absence."""
        if file not in self._hashes:
            self._hashes[file] = content_hash(file)
        return self._hashes[file]

    def _read(self, file: Path) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """Level, module and names of each import."""
        if file not in self._imports:
            try:
                tree = ast.parse(file.read_bytes())
            except (OSError, SyntaxError, ValueError):
                self._imports[file] = ()
            else:
                self._imports[file] = tuple(_imports(tree))
        return self._imports[file]

    def _found(self, file: Path, home: Path, level: int, module: str, names: Sequence[str]) -> Iterator[Path]:
        """The files of a module, with the packages it lies in and those of its names that are modules."""
        if level:
            starts: tuple[Path, ...] = (file.parents[level - 1],) if level <= len(file.parents) else ()
        else:
            starts = tuple(dict.fromkeys((home, *self._search)))
        parts = module.split(".") if module else []
        for start in starts:
            below = start.joinpath(*parts)
            # A folder of modules needs no file of its own.
            found = [*_along(start, parts), *(file for name in names for file in _along(below, [name]))]
            if found:
                yield from found
                return


def content_hash(file: Path) -> str:
    """Of the bytes of a file, 16 digits; "absent" where it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError:
        return "absent"


def _along(start: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The files that an import of the dotted name runs."""
    here = start
    for part in parts:
        here = here / part
        if (package := here / "__init__.py").is_file():
            yield package
        elif (module := here.with_suffix(".py")).is_file():
            yield module
            return
        elif not here.is_dir():
            return


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((0, one.name, ()) for one in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield level, module or "", tuple(one.name for one in names)

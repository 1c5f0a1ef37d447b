"""The files that are read: each is read and parsed once, and its tree is walked once for all who ask.

Every part of the static pass reads the same files: the engine, every rule, the repairs. What costs time is to
walk a tree, so a `Parsed` keeps its nodes by type, and whatever else a reader makes of a part of the tree (`kept`). A
`FileStore` holds the files of one run; it forgets the least used trees, since a project may have more than fit into
memory.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from exportlint.files import SourceError, SourceFile, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_Made = TypeVar("_Made")

_IMPORTS = (ast.Import, ast.ImportFrom)
# What holds statements, or what holds those (`match_case`, `ExceptHandler`).
_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
_PLACELESS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_NODES = frozenset(
    kind for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _PLACELESS)
)  # fmt: skip


@dataclass(eq=False)
class Parsed:
    """The text and the syntax tree of a file, and what several readers need of them.

    syntax   what a parser of ours made of a function's text, for the next file that runs the function

    >>> parsed = Parsed(ast.parse("x = f(g(1))"), "x = f(g(1))")
    >>> len(parsed.by_type(parsed.tree)[ast.Call])
    2
    """

    tree: ast.Module
    text: str = ""
    syntax: dict[ast.AST, object] = field(default_factory=dict)
    _kept: dict[tuple[object, ast.AST], Any] = field(default_factory=dict)
    _by_type: dict[ast.AST, dict[type[ast.AST], list[ast.AST]]] = field(default_factory=dict)
    _matches: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """Those inside of functions and classes too."""
        return tuple(node for node in _statements(self.tree) if isinstance(node, _IMPORTS))

    def by_type(self, part: ast.AST) -> Mapping[type[ast.AST], Sequence[ast.AST]]:
        """`part` and all below it by type, each type in the order of `ast.walk`; walked once."""
        if part not in self._by_type:
            self._by_type[part] = found = defaultdict[type[ast.AST], list[ast.AST]](list)
            for node in walked(part):
                found[node.__class__].append(node)
        return self._by_type[part]

    def kept(self, part: ast.AST, make: Callable[[Parsed, ast.AST], _Made]) -> _Made:
        """What `make` makes of a part of the tree; made once."""
        key = (make, part)
        if key not in self._kept:
            self._kept[key] = make(self, part)
        found: _Made = self._kept[key]
        return found

    def mentions(self, words: Iterable[str]) -> bool:
        """Does one of the words occur? Most trees need no walk to show that they call nothing of a kind."""
        return not self.text or any(word in self.text for word in words)

    def matches(self, pattern: str) -> bool:
        """Does a regular expression match anywhere in the text? Searched for once."""
        if pattern not in self._matches:
            self._matches[pattern] = re.search(pattern, self.text) is not None
        return self._matches[pattern]

    def forget(self) -> None:
        """What was made of the tree is made again when somebody asks."""
        self.syntax.clear()
        self._by_type.clear()
        self._kept.clear()


def walked(root: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, and several times faster, without operators and contexts, which are shared and stand nowhere.

    >>> [type(node).__name__ for node in walked(ast.parse("x + 1", mode="eval"))]
    ['Expression', 'BinOp', 'Name', 'Constant']
    """
    todo = [root]
    for node in todo:
        set_fields = node.__dict__
        for name in node._fields:
            if name in set_fields:
                value = set_fields[name]
                kind = value.__class__
                if kind is list:
                    todo += [part for part in value if part.__class__ in _NODES]
                elif kind in _NODES:
                    todo.append(value)
        yield node


def last_name(node: ast.expr) -> str:
    """The last name of a name or an attribute; empty for anything else.

    >>> last_name(ast.parse("F.relu", mode="eval").body)
    'relu'
    """
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _statements(root: ast.AST) -> Iterator[ast.stmt]:
    """All below a module, level by level; expressions are not walked."""
    todo: list[ast.AST] = [root]
    for node in todo:
        for name in _BODIES:
            todo += getattr(node, name, ())
        if isinstance(node, ast.stmt):
            yield node


# A syntax tree takes some twenty times the memory of its text.
KEPT_CHARACTERS = 4_000_000


class FileStore:
    """What is on the disk, as this run first saw it. Trees of a run before it are taken over (`renewed`)."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[Path, Parsed | None] = OrderedDict()
        self._size = 0
        self._digests: dict[str, str | None] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._given: dict[Path, str] = {}
        self._given_names: set[str] = set()  # and those of the folders above
        self._before: dict[Path, tuple[str | None, Parsed]] = {}

    def renewed(self) -> FileStore:
        """For a later run of the same process: files are read again, and parsed again where they have changed."""
        later, size = FileStore(), 0
        newest = [
            (path, (self._digests.get(str(path)), parsed)) for path, parsed in reversed(self._parsed.items()) if parsed
        ]
        for path, tree in (*newest, *self._before.items()):
            size += len(tree[1].text)
            if size > KEPT_CHARACTERS:
                break
            later._before.setdefault(path, tree)
        return later

    def give(self, path: Path, text: str) -> None:
        """Text that stands for the content of a path (stdin)."""
        self._given[path] = text
        self._given_names.update(map(str, (path, *path.parents)))
        self._parsed.pop(path, None)
        self._digests[str(path)] = digest(text.encode())

    @property
    def given(self) -> Mapping[Path, str]:
        """The texts that stand for what lies on the disk."""
        return self._given

    def parsed(self, path: Path) -> Parsed | None:
        """None where there is no file, or none that can be parsed."""
        if path in self._parsed:
            self._parsed.move_to_end(path)
            return self._parsed[path]
        try:
            text = self.text(path)
            content, before = self._before.pop(path, (None, None))
            is_same = before is not None and content is not None and content == self._digests[str(path)]
            found = before if is_same else Parsed(ast.parse(text), text)
        except (SourceError, SyntaxError, ValueError, OSError, RecursionError, MemoryError):
            found = None  # a neighbour that cannot be read counts as none; checking it reports it
        self.keep(path, found)
        return found

    def text(self, path: Path) -> str:
        """The source, with \\n line ends. Raises SourceError, OSError."""
        if path in self._given:
            return self._given[path]
        data = path.read_bytes()
        self._digests[str(path)] = digest(data)
        return decode(data)

    def line(self, path: str, number: int) -> str:
        """Empty where there is none."""
        if path not in self._lines:
            self._lines[path] = self.text(Path(path)).split("\n")
        lines = self._lines[path]
        return lines[number - 1] if number <= len(lines) else ""

    def keep(self, path: Path, parsed: Parsed | None) -> None:
        self._parsed[path] = parsed
        self._size += len(parsed.text) if parsed else 0
        while self._size > KEPT_CHARACTERS and len(self._parsed) > 1:
            _, old = self._parsed.popitem(last=False)
            self._size -= len(old.text) if old else 0

    def digest(self, path: str) -> str | None:
        """Of the content; None where nothing can be read."""
        if path not in self._digests:
            try:
                with open(path, "rb") as file:  # noqa: PTH123 (called for every file; a Path costs more than the read)
                    self._digests[path] = digest(file.read())
            except OSError:
                self._digests[path] = None
        return self._digests[path]

    def size(self, path: Path) -> int:
        """In bytes; 0 where there is nothing."""
        try:
            return path.stat().st_size
        except OSError:
            return 0

    def exists(self, path: str) -> bool:
        """Is it in the listing of its folder, or given? One listing answers for all that could be there."""
        if path in self._given_names:
            return True
        folder, _, name = path.rpartition(os.sep)
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder or os.sep))  # noqa: PTH208 (as above)
            except OSError:
                self._names[folder] = frozenset()
        return name in self._names[folder]


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def text_of(file: SourceFile, files: FileStore) -> str:
    """The source of a file to check, known to `files` from here on; SourceError when it is not text."""
    if file.text is not None:
        files.give(file.absolute, file.text)
        return file.text
    try:
        return files.text(file.absolute)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from error

"""The files that one run reads: each read and parsed once, the least used forgotten when they grow too many."""

from __future__ import annotations

import ast
import hashlib
import os
from collections import OrderedDict
from pathlib import Path

from exportlint.engine.source.parsed import Parsed
from exportlint.files import SourceError, SourceFile, decode

# A syntax tree takes some twenty times the memory of its text.
KEPT_CHARACTERS = 4_000_000


class FileStore:
    """What is on the disk, as this run first saw it."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[Path, Parsed | None] = OrderedDict()
        self._size = 0
        self._digests: dict[str, str | None] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._given: dict[Path, str] = {}

    def give(self, path: Path, text: str) -> None:
        """Text that stands for the content of a path (stdin)."""
        self._given[path] = text
        self._parsed.pop(path, None)

    def parsed(self, path: Path) -> Parsed | None:
        """None where there is no file, or none that can be parsed."""
        if path in self._parsed:
            self._parsed.move_to_end(path)
            return self._parsed[path]
        try:
            text = self.text(path)
            found = Parsed(ast.parse(text), text)
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
        """Is it in the listing of its folder? One listing answers for all that could be there."""
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

"""Lay edited source over files, for this process: imports, tracebacks and readers of source see it; the disk does not.

The path stays that of the file, so that relative imports, the names of modules and the lines in messages stay right.
"""

from __future__ import annotations

import importlib.machinery
import io
import json
import linecache
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

_texts: dict[str, str] = {}
_laid: list[Path] = []
_get_code, _open_code = importlib.machinery.SourceFileLoader.get_code, io.open_code


def lay_edited_files(file: Path) -> None:
    """From here on, what is imported from the real paths in `file` (JSON: path -> text) is their text."""
    _laid.append(file)
    _texts.update(json.loads(file.read_text("utf-8")))
    for path, text in _texts.items():
        _show(path, text)
    importlib.machinery.SourceFileLoader.get_code = _code  # type: ignore[method-assign,assignment]
    io.open_code = _opened  # how runpy opens a script


def laid_files() -> list[str]:
    """What `lay_edited_files` was given in this process, for another one that is to see the same."""
    return [str(file.absolute()) for file in _laid]


def source_of(path: str | Path) -> str | bytes:
    """The source of a file as this process sees it. Raises OSError."""
    text = _texts.get(os.path.realpath(path)) if _texts else None
    return Path(path).read_bytes() if text is None else text


def _code(loader: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
    text = _texts.get(os.path.realpath(loader.path))
    if text is None:
        return _get_code(loader, fullname)
    _show(str(loader.path), text)
    return compile(text, loader.path, "exec", dont_inherit=True)


def _opened(path: str) -> IO[bytes]:
    text = _texts.get(os.path.realpath(path))
    return _open_code(path) if text is None else io.BytesIO(text.encode())


def _show(path: str, text: str) -> None:
    """An entry without a time of modification is never read again from the disk."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)

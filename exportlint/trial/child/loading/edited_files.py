"""Lay edited source over files, for this process: imports, tracebacks and readers of source see it; the disk does not.

The path stays that of the file, so that relative imports, the names of modules and the lines in messages stay right.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import json
import linecache
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

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
    if not any(isinstance(one, _NewFiles) for one in sys.meta_path):
        sys.meta_path.append(_NewFiles())


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


class _NewFiles:
    """Finds modules of which the file is not on the disk: an edit adds it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Of a file below the package's folders, or below those that Python looks in."""
        del target
        last = fullname.rpartition(".")[2]
        for folder in map(os.path.realpath, sys.path if path is None else path):
            module, package = Path(folder, f"{last}.py"), Path(folder, last, "__init__.py")
            for file, inside in ((module, None), (package, [str(package.parent)])):
                if str(file) in _texts:
                    loader = importlib.machinery.SourceFileLoader(fullname, str(file))
                    return importlib.util.spec_from_file_location(
                        fullname, file, loader=loader, submodule_search_locations=inside
                    )
        return None


def _opened(path: str) -> IO[bytes]:
    text = _texts.get(os.path.realpath(path))
    return _open_code(path) if text is None else io.BytesIO(text.encode())


def _show(path: str, text: str) -> None:
    """An entry without a time of modification is never read again from the disk."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)

"""What one file can see: itself, and the files of its project that its imports lead to.

A file is parsed when it is checked, or when a name that is looked up leads to it. Only files of the same project are
followed: those below or beside the file's outermost package, and below the folder (or its `src`) that has a
pyproject.toml or the like. What was looked for is remembered, so that a result can be kept until one of these files
changes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exportlint.engine.source.file_store import FileStore
from exportlint.engine.source.parsed import Parsed
from exportlint.engine.source.symbols import ModuleInfo, Symbol

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from pathlib import Path


# What marks the folder of a project, and folders that hold many projects which are not each other's.
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_SHARED = frozenset({"site-packages", "dist-packages"})


class Project:
    """What one file can see: itself, and the files that its imports lead to.

    read     the files that were opened, or found to be broken
    probed   other paths that were looked for -> were they there
    """

    def __init__(self, files: FileStore | None = None) -> None:
        self.read: dict[Path, None] = {}
        self.probed: dict[str, bool] = {}
        self._files = files or FileStore()
        self._by_path: dict[Path, ModuleInfo | None] = {}
        self._by_name: dict[tuple[str, Path], ModuleInfo | None] = {}
        self._roots: dict[Path, None] = {}
        self._own: set[str] = set()  # the outermost packages of what was added
        self._given: set[str] = set()  # what was added, which may be on no disk, and the folders above
        self._found: dict[str, Symbol | None] = {}

    def add(self, path: Path, tree: ast.Module | Parsed) -> ModuleInfo:
        """Register a parsed file that is looked into. `path` is absolute."""
        parsed = tree if isinstance(tree, Parsed) else Parsed(tree)
        self._given.update(map(str, (path, *path.parents)))
        root, name = self._package_of(path)
        self._own.add(name.partition(".")[0])
        self._roots.setdefault(root)
        for folder in self._project_folders(root):
            self._roots.setdefault(folder)
        self._found.clear()
        return self._register(path, name, parsed)

    def module(self, path: Path) -> ModuleInfo:
        """A file that was added."""
        module = self._by_path[path]
        assert module is not None  # noqa: S101 - `add` puts nothing else there
        return module

    def file(self, path: Path) -> ModuleInfo | None:
        """The file at an absolute path; None where none is there, or none that can be parsed."""
        self._roots.setdefault(self._package_of(path)[0])  # where its own names are looked up
        self._found.clear()
        return self._load(path.with_suffix(""))

    def close(self) -> None:
        """Take apart what refers to each other, so that memory is freed at once."""
        for module in filter(None, self._by_path.values()):
            for cls in module.__dict__.get("classes", {}).values():
                cls.__dict__.clear()
            module.__dict__.clear()
        self.__dict__.clear()

    def _register(self, path: Path, name: str, parsed: Parsed) -> ModuleInfo:
        module = ModuleInfo(name, path, parsed, self, is_package=path.name == "__init__.py")
        self._by_path[path] = module
        self.read[path] = None
        return module

    def find(self, dotted: str) -> Symbol | None:
        """The project's class, function or module of that dotted name, followed through re-exports."""
        if dotted not in self._found:
            self._found[dotted] = None  # a cycle of re-exports ends here
            self._found[dotted] = self._search(dotted)
        return self._found[dotted]

    def _search(self, dotted: str) -> Symbol | None:
        parts = dotted.split(".")
        depths = ((self._depth(root, parts), root) for root in self._roots)
        for depth, root in sorted(depths, key=lambda d: -d[0]):
            for cut in range(depth, 0, -1):
                module = self._module(".".join(parts[:cut]), root)
                if module:
                    return self._inside(module, parts[cut:])
        return None

    def _depth(self, root: Path, parts: list[str]) -> int:
        """How many parts of a dotted name can be folders or files below `root`."""
        if root.name in _SHARED and parts[0] not in self._own:
            return 0
        stem = str(root)
        for i, part in enumerate(parts):
            stem = f"{stem}{os.sep}{part}"
            if not self._exists(stem):
                return i + 1 if self._exists(stem + ".py") else i
        return len(parts)

    def _exists(self, path: str) -> bool:
        if path in self._given:
            return True
        if path not in self.probed:
            self.probed[path] = self._files.exists(path)
        return self.probed[path]

    def _inside(self, module: ModuleInfo, rest: list[str]) -> Symbol | None:
        if not rest:
            return module
        first, *more = rest
        if first in module.classes:
            cls = module.classes[first]
            return cls.method(more[0]) if more else cls
        if first in module.functions:
            return module.functions[first]
        if first in module.imports and module.imports[first] != f"{module.name}.{first}":
            return self.find(".".join((module.imports[first], *more)))
        hits = (self.find(".".join((star, *rest))) for star in module.stars)
        return next((h for h in hits if h), None)

    def _module(self, name: str, root: Path) -> ModuleInfo | None:
        key = (name, root)
        if key not in self._by_name:
            self._by_name[key] = self._load(root.joinpath(*name.split(".")))
        return self._by_name[key]

    def _load(self, stem: Path) -> ModuleInfo | None:
        for path in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if path not in self._by_path:
                if not self._exists(str(path)):
                    continue
                self._by_path[path] = None
                self.read[path] = None
                if parsed := self._files.parsed(path):
                    self._register(path, self._package_of(path)[1], parsed)
            return self._by_path[path]
        return None

    def _package_of(self, path: Path) -> tuple[Path, str]:
        """The folder that has to be on sys.path, and the dotted name of the file seen from there."""
        parts = [] if path.name == "__init__.py" else [path.stem]
        folder = path.parent
        while folder.name.isidentifier() and self._exists(str(folder / "__init__.py")):
            parts.append(folder.name)
            folder = folder.parent
        return folder, ".".join(reversed(parts))

    def _project_folders(self, root: Path) -> Iterator[Path]:
        """The folder of the project that `root` is part of, and its `src`; nothing outside of projects."""
        for folder in () if root.name in _SHARED else (root, *root.parents):
            if any(self._exists(str(folder / name)) for name in _MARKERS):
                yield folder
                if self._exists(str(folder / "src")):
                    yield folder / "src"
                return

"""Modules, classes and functions of the code that is read, and what a name means where it is written.

Built with `ast`; nothing is imported. `Project` finds what a dotted name leads to: a file is parsed when it is checked,
or when a name that is looked up leads to it. Only files of the same project are followed: those below or beside the
file's outermost package, and below the folder (or its `src`) that has a pyproject.toml or the like. What was looked for
is remembered, found or not, so that a result can be kept until one of these files changes.
"""

from __future__ import annotations

import ast
import builtins
import gc
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exportlint.engine.source.dependence import Asked, Definitions, outline_of, top_level
from exportlint.engine.source.memo import Memo, remembered
from exportlint.engine.source.parsed import KEPT_CHARACTERS, FileStore, Parsed
from exportlint.files import PROJECT_MARKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
BUILTINS = frozenset(dir(builtins))
# Of the files that an index holds. What was worked out of them goes with them, so that a smaller one costs time: with
# a third of it, a part of transformers took 103 seconds of the processor in place of 80.
_MOST_CHARACTERS = 3 * KEPT_CHARACTERS
_NOT_EXPORTED = ("Loss", "Criterion", "Metric", "Metrics")
# Folders that hold many projects which are not each other's.
_SHARED = frozenset({"site-packages", "dist-packages"})


@dataclass(eq=False)
class FunctionInfo:
    """A function, method, nested function or lambda.

    `closure` holds what the enclosing function knew of its names, as values of the engine. `made_before`: the enclosing
    function ran before the export, so its variables outlive a call of the model.

    >>> from exportlint.testing import code_of
    >>> code_of("import torch\\n@torch.no_grad()\\ndef f(): ...").module.functions["f"].decorators
    ('torch.no_grad',)
    """

    name: str
    node: FunctionNode
    module: ModuleInfo
    cls: ClassInfo | None = None
    closure: Mapping[str, Any] = field(default_factory=dict)
    made_before: bool = False

    @classmethod
    def outside(cls, name: str, module: ModuleInfo, owner: ClassInfo | None = None) -> FunctionInfo:
        """A scope that is no function, such as a module or a class body, for code that runs there."""
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return cls(name, ast.Lambda(args=empty, body=ast.Constant(None)), module, owner)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of those that are given by place."""
        return tuple(argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args))

    @property
    def memo(self) -> Memo:
        """Where what is asked of it is kept."""
        return self.module.project.memo

    @remembered
    def decorators(self) -> tuple[str, ...]:
        """The dotted origins of what decorates it; "" where that is unknown."""
        nodes = getattr(self.node, "decorator_list", [])
        return tuple(self.module.dotted(d.func if isinstance(d, ast.Call) else d) or "" for d in nodes)


@dataclass(eq=False)
class ClassInfo:
    """A class of the project.

    >>> from exportlint.testing import code_of
    >>> module = code_of("import torch\\nclass A(torch.nn.Module): ...\\nclass B(A): ...").module
    >>> [cls.name for cls in module.classes["B"].lineage], module.classes["B"].is_module
    (['B', 'A'], True)
    """

    name: str
    node: ast.ClassDef
    module: ModuleInfo

    @property
    def memo(self) -> Memo:
        """Where what is asked of it is kept."""
        return self.module.project.memo

    @cached_property
    def methods(self) -> Mapping[str, FunctionInfo]:
        return {
            n.name: FunctionInfo(n.name, n, self.module, self)
            for n in self.node.body
            if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    @remembered
    def base_names(self) -> tuple[str, ...]:
        """Dotted names of all bases, as far as imports show."""
        nodes = (b.value if isinstance(b, ast.Subscript) else b for b in self.node.bases)
        return tuple(self.module.dotted(n) or ast.unparse(n) for n in nodes)

    @remembered
    def bases(self) -> tuple[ClassInfo, ...]:
        """The bases that are classes of the project."""
        found = (self.module.project.find(n) for n in self.base_names)
        return tuple(c for c in found if isinstance(c, ClassInfo) and c is not self)

    @remembered
    def lineage(self) -> tuple[ClassInfo, ...]:
        """The class and its project bases in the order of lookup: a base that several share comes after them."""
        return tuple(reversed(dict.fromkeys(reversed([*self.descent(frozenset())]))))

    def descent(self, below: frozenset[ClassInfo]) -> Iterator[ClassInfo]:
        """Itself, then each base and its bases, shared ones as often as they are met."""
        if self not in below:  # broken code may inherit in a circle
            yield self
            for base in self.bases:
                yield from base.descent(below | {self})

    @remembered
    def foreign_bases(self) -> tuple[str, ...]:
        """The bases, its own and inherited, that no file of the project defines."""
        names = [(n, c.module.project.find(n)) for c in self.lineage for n in c.base_names]
        known = {n for n, found in names if found}
        return tuple(n for n, _ in names if n not in known)

    @remembered
    def is_module(self) -> bool:
        """Does it derive from torch.nn.Module, as far as can be seen? A foreign base plus a forward counts."""
        # The base may come from a library that is not read (`class Net(PreTrainedModel)`): a forward tells it apart.
        for name in self.foreign_bases:
            if name.startswith(("torch.nn.", "torch.jit.ScriptModule")):
                return True
            if name.startswith("torch.") or name.rpartition(".")[2] in {"Generic", "Protocol", "ABC", "Enum"}:
                continue
            if "." in name and self.method("forward") and not name.startswith(("typing.", "abc.", "enum.")):
                return True
        return False

    @property
    def is_autograd_function(self) -> bool:
        return any(n in {"torch.autograd.Function", "torch.autograd.function.Function"} for n in self.foreign_bases)

    @property
    def is_list(self) -> bool:
        return any(name in {"builtins.list", "builtins.tuple"} for name in self.foreign_bases)

    @property
    def is_record(self) -> bool:
        """A dataclass or NamedTuple: its fields are set from the arguments of the call."""
        made = [self.module.dotted(d.func if isinstance(d, ast.Call) else d) or "" for d in self.node.decorator_list]
        return any(d.endswith("dataclass") for d in made) or any(
            b.rpartition(".")[2] == "NamedTuple" for b in self.base_names
        )

    @property
    def record_fields(self) -> tuple[str, ...]:
        return tuple(
            n.target.id for n in self.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        )

    def method(self, name: str, *, after: ClassInfo | None = None) -> FunctionInfo | None:
        """The method that `self.name` means, inherited ones included; `after` a class as `super()` looks it up."""
        line = self.lineage
        start = line.index(after) + 1 if after in line else 0
        return next((c.methods[name] for c in line[start:] if name in c.methods), None)

    @property
    def is_loss(self) -> bool:
        """By its name: a loss or a metric is no part of what is exported, even where forward may call it."""
        return self.name.endswith(_NOT_EXPORTED)


@dataclass(eq=False)
class ModuleInfo:
    """One parsed file. `name` is the dotted name it is imported by.

    >>> from exportlint.testing import code_of
    >>> code_of("import torch.nn.functional as F").module.origin("F")
    'torch.nn.functional'
    """

    name: str
    path: Path
    parts: Parsed
    project: Project
    is_package: bool = False

    @property
    def memo(self) -> Memo:
        """Where what is asked of it is kept."""
        return self.project.memo

    @cached_property
    def key(self) -> str:
        """Its path, as what is read is noted."""
        return str(self.path)

    def ask(self) -> Asked:
        """What is asked of the file for what is worked out now, to add to it."""
        return self.project.memo.reading.of(self.key)

    @property
    def parsed(self) -> Parsed:
        """The whole file. Who looks at a part of a definition that was looked up takes `parts`, and who searches the
        text `matches`: a judgement that saw all of a file is made again whenever anything in it changes."""
        self.ask().whole = True
        return self.parts

    @property
    def tree(self) -> ast.Module:
        """The whole file, as `parsed`."""
        return self.parsed.tree

    @cached_property
    def classes(self) -> Mapping[str, ClassInfo]:
        nodes = (n for n in top_level(self.parts.tree) if isinstance(n, ast.ClassDef))
        return Definitions({n.name: ClassInfo(n.name, n, self) for n in nodes}, self.ask)

    @cached_property
    def functions(self) -> Mapping[str, FunctionInfo]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = (n for n in top_level(self.parts.tree) if isinstance(n, kinds))
        return Definitions({n.name: FunctionInfo(n.name, n, self) for n in nodes}, self.ask)

    def is_constant(self, name: str) -> bool:
        """Is the name bound once in the file, by a plain statement of its top level?"""
        self.ask().constants[name] = answer = outline_of(self.parts).is_constant(name)
        return answer

    def matches(self, pattern: str) -> bool:
        """Does a regular expression match anywhere in the text?"""
        self.ask().matches[pattern] = answer = self.parts.matches(pattern)
        return answer

    @cached_property
    def assignments(self) -> Mapping[str, ast.expr]:
        """Module-level `NAME = expression`; the last one wins."""
        found: dict[str, ast.expr] = {}
        for n in top_level(self.parts.tree):
            if isinstance(n, ast.Assign):
                found.update({t.id: n.value for t in n.targets if isinstance(t, ast.Name)})
            elif isinstance(n, ast.AnnAssign) and n.value and isinstance(n.target, ast.Name):
                found[n.target.id] = n.value
        return Definitions(found, self.ask)

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """Local name -> dotted name, for imports anywhere in the file (also inside functions)."""
        found: dict[str, str] = {}
        for node in self.parts.imports:
            if isinstance(node, ast.Import):
                for a in node.names:
                    found[a.asname or a.name.partition(".")[0]] = a.name if a.asname else a.name.partition(".")[0]
            else:
                base = self._absolute(node)
                found.update({a.asname or a.name: f"{base}.{a.name}" for a in node.names if a.name != "*"})
        return found

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """Modules whose names come in by `from m import *`."""
        nodes = (n for n in self.parts.tree.body if isinstance(n, ast.ImportFrom))
        return tuple(self._absolute(n) for n in nodes if any(a.name == "*" for a in n.names))

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted origin of a name or attribute chain; None when its root is no import, definition or builtin."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        root = self.origin(node.id)
        return ".".join((root, *reversed(parts))) if root else None

    def origin(self, name: str) -> str | None:
        """What a module-level name stands for."""
        if name in self.classes or name in self.functions or name in self.assignments:
            return f"{self.name}.{name}"
        if name in self.imports:
            return self.imports[name]
        if self.stars and (found := self._by_star.get(name)):
            return found
        if name in BUILTINS:
            return f"builtins.{name}"
        return None

    @property
    def _by_star(self) -> Mapping[str, str]:
        """Name -> dotted name, of what `from m import *` brings: what files of the project define and import."""
        empty: dict[str, str] = {}  # where two files take all from each other
        return self.memo.of(("by star", self), self._brought, empty)

    def _brought(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for star in self.stars:
            module = self.project.find(star)
            if isinstance(module, ModuleInfo):
                defined = (*module.classes, *module.functions, *module.assignments)
                found.update({name: f"{module.name}.{name}" for name in defined})
                found.update({**module.imports, **module._by_star})  # noqa: SLF001 - of the same class
        return {name: dotted for name, dotted in found.items() if not name.startswith("_")}

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        # One dot is the package of the file, which an `__init__.py` is itself; each more is the one above.
        package = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        kept = package[: len(package) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])


Symbol = ClassInfo | FunctionInfo | ModuleInfo


class Project:
    """What a file can see: itself, and the files that its imports lead to. Files that see the same share a project.

    memo   what was worked out about it; its `reading` is what was opened and looked for
    """

    def __init__(self, files: FileStore | None = None) -> None:
        self.memo = Memo()
        self._files = files or FileStore()
        self._by_path: dict[Path, ModuleInfo | None] = {}
        self._roots: dict[Path, None] = {}
        self._own: set[str] = set()  # the outermost packages of what was added
        self._given: set[str] = set()  # what was added, which may be on no disk, and the folders above
        self.characters = 0  # of all texts that were opened

    def add(self, path: Path, tree: ast.Module | Parsed, homes: Iterable[Path] = ()) -> ModuleInfo:
        """Register a parsed file that is looked into. `path` is absolute; `homes`: files that are asked for by path."""
        parsed = tree if isinstance(tree, Parsed) else Parsed(tree)
        self._given.update(map(str, (path, *path.parents)))
        root, name = package_of(path, self._exists)
        folders = (root, *_project_folders(root, self._exists))
        self._see(*folders, *(package_of(home, self._exists)[0] for home in homes), own=name.partition(".")[0])
        known = self._by_path.get(path)
        module = known if known and known.parts is parsed else self._register(path, name, parsed)
        self.memo.reading.of(module.key)
        return module

    def _see(self, *roots: Path, own: str | None = None) -> None:
        """Names are looked up in these folders, too, and those of the package `own` also among installed packages."""
        before = (len(self._roots), len(self._own))
        self._roots.update(dict.fromkeys(roots))
        if own is not None and any(root.name in _SHARED for root in self._roots):  # else nobody asks
            self._own.add(own)
        if (len(self._roots), len(self._own)) != before:
            self.memo.forget()

    def opened(self, path: Path) -> ModuleInfo | None:
        """A file that was added, or that something led to; None for one that could not be parsed."""
        return self._by_path.get(path)

    def file(self, path: Path) -> ModuleInfo | None:
        """The file at an absolute path; None where none is there, or none that can be parsed."""
        self._see(package_of(path, self._exists)[0])  # where its own names are looked up
        return self._at(path) if self._exists(str(path)) else None

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
        self.characters += len(parsed.text)
        return module

    def find(self, dotted: str) -> Symbol | None:
        """The project's class, function or module of that dotted name, followed through re-exports."""
        # Two files that import a name from each other find nothing.
        return self.memo.of(dotted, lambda: self._search(dotted))

    def _search(self, dotted: str) -> Symbol | None:
        parts = dotted.split(".")
        # The root below which the most of the name is there wins: `src/models` beside the file hides no `models` of
        # another root that has the wanted module in it.
        depths = ((self._depth(root, parts), root) for root in self._roots)
        for depth, root in sorted(depths, key=lambda d: -d[0]):
            for cut in range(depth, 0, -1):
                module = self._load(root.joinpath(*parts[:cut]))
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
        self.memo.reading.probed[path] = there = path in self._given or self._files.exists(path)
        return there

    def _inside(self, module: ModuleInfo, rest: list[str]) -> Symbol | None:
        """What the rest of a dotted name means in a module: a definition, or where an import leads on."""
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
        # Of a file that is there: of one written in C the search would come back here, with a longer name each time.
        stems = ((star, star.split(".")) for star in module.stars)
        stars = (star for star, parts in stems if any(self._load(root.joinpath(*parts)) for root in self._roots))
        hits = (self.find(".".join((star, *rest))) for star in stars)
        return next((h for h in hits if h), None)

    def _load(self, stem: Path) -> ModuleInfo | None:
        return self.memo.of(stem, lambda: self._loaded(stem))

    def _loaded(self, stem: Path) -> ModuleInfo | None:
        # Where both are there, Python takes the package.
        if self._exists(str(stem)) and self._exists(str(package := stem / "__init__.py")):
            return self._at(package)
        file = stem.with_name(stem.name + ".py")
        return self._at(file) if self._exists(str(file)) else None

    def _at(self, path: Path) -> ModuleInfo | None:
        name = package_of(path, self._exists)[1]
        if path not in self._by_path:
            self._by_path[path] = None
            if parsed := self._files.parsed(path):
                self._register(path, name, parsed)
        module = self._by_path[path]
        if module is None:
            self.memo.reading.broken[str(path)] = None
        else:
            self.memo.reading.of(module.key)
        return module


class ProjectIndex:
    """The projects of one run. What was worked out about a file for one that imports it is there for the next.

    files   where they are read
    homes   files that targets of the configuration name
    """

    def __init__(self, files: FileStore, homes: Iterable[Path] = ()) -> None:
        self.files = files
        self._homes = tuple(homes)
        self._projects: dict[tuple[Path | str, ...], Project] = {}

    def add(self, path: Path) -> ModuleInfo | None:
        """A file that is judged now, by its absolute path: its project's `memo.reading` is what is read for it.

        None where it cannot be parsed.
        """
        if sum(project.characters for project in self._projects.values()) > _MOST_CHARACTERS:
            self.close()
            gc.collect()  # a command has hardly anything collected by itself
        project = self._project_of(path)
        project.memo.begin()
        known = project.opened(path)
        parsed = known.parts if known else self.files.parsed(path)
        return project.add(path, parsed, self._homes) if parsed else None

    def _project_of(self, path: Path) -> Project:
        """Of all files that see the same folders; among installed packages, of one package."""
        root, name = package_of(path, self.files.exists)
        homes = (package_of(home, self.files.exists)[0] for home in self._homes)
        seen = (root, *_project_folders(root, self.files.exists), *homes)
        own = (name.partition(".")[0],) if any(folder.name in _SHARED for folder in seen) else ()
        key = (*seen, *own)
        if key not in self._projects:
            self._projects[key] = Project(self.files)
        return self._projects[key]

    def close(self) -> None:
        """Forget all of it, so that memory is freed at once."""
        for project in self._projects.values():
            project.close()
        self._projects.clear()


def package_of(path: Path, exists: Callable[[str], bool]) -> tuple[Path, str]:
    """The folder that has to be on sys.path, and the dotted name of the file seen from there."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while folder.name.isidentifier() and exists(str(folder / "__init__.py")):
        parts.append(folder.name)
        folder = folder.parent
    return folder, ".".join(reversed(parts))


def _project_folders(root: Path, exists: Callable[[str], bool]) -> Iterator[Path]:
    """The folder of the project that `root` is part of, and its `src`; nothing outside of projects."""
    for folder in () if root.name in _SHARED else (root, *root.parents):
        if any(exists(str(folder / name)) for name in PROJECT_MARKERS):
            yield folder
            if exists(str(folder / "src")):
                yield folder / "src"
            return

"""Modules, classes and functions of the code that is read, and what a name means where it is written.

Built with `ast`; nothing is imported. `Project` finds what a dotted name leads to: a file is parsed when it is checked,
or when a name that is looked up leads to it. Only files of the same project are followed: those below or beside the
file's outermost package, and below the folder (or its `src`) that has a pyproject.toml or the like. What was looked for
is remembered, found or not, so that a result can be kept until one of these files changes.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exportlint.engine.source.dependence import Asked, Definitions, outline_of, top_level
from exportlint.engine.source.parsed import FileStore, Parsed
from exportlint.files import PROJECT_MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
BUILTINS = frozenset(dir(builtins))
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

    @cached_property
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

    @cached_property
    def methods(self) -> Mapping[str, FunctionInfo]:
        return {
            n.name: FunctionInfo(n.name, n, self.module, self)
            for n in self.node.body
            if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    @cached_property
    def base_names(self) -> tuple[str, ...]:
        """Dotted names of all bases, as far as imports show."""
        nodes = (b.value if isinstance(b, ast.Subscript) else b for b in self.node.bases)
        return tuple(self.module.dotted(n) or ast.unparse(n) for n in nodes)

    @cached_property
    def bases(self) -> tuple[ClassInfo, ...]:
        """The bases that are classes of the project."""
        found = (self.module.project.find(n) for n in self.base_names)
        return tuple(c for c in found if isinstance(c, ClassInfo) and c is not self)

    @cached_property
    def lineage(self) -> tuple[ClassInfo, ...]:
        """The class and its project bases in the order of lookup: a base that several share comes after them."""
        return tuple(reversed(dict.fromkeys(reversed([*self.descent(frozenset())]))))

    def descent(self, below: frozenset[ClassInfo]) -> Iterator[ClassInfo]:
        """Itself, then each base and its bases, shared ones as often as they are met."""
        if self not in below:  # broken code may inherit in a circle
            yield self
            for base in self.bases:
                yield from base.descent(below | {self})

    @cached_property
    def foreign_bases(self) -> tuple[str, ...]:
        """The bases, its own and inherited, that no file of the project defines."""
        names = [(n, c.module.project.find(n)) for c in self.lineage for n in c.base_names]
        known = {n for n, found in names if found}
        return tuple(n for n, _ in names if n not in known)

    @cached_property
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
    asked: Asked = field(default_factory=Asked)

    @property
    def parsed(self) -> Parsed:
        """The whole file. Who looks at a part of a definition that was looked up takes `parts`, and who searches the
        text `matches`: a judgement that saw all of a file is made again whenever anything in it changes."""
        self.asked.whole = True
        return self.parts

    @property
    def tree(self) -> ast.Module:
        """The whole file, as `parsed`."""
        return self.parsed.tree

    @cached_property
    def classes(self) -> Mapping[str, ClassInfo]:
        nodes = (n for n in top_level(self.parts.tree) if isinstance(n, ast.ClassDef))
        return Definitions({n.name: ClassInfo(n.name, n, self) for n in nodes}, self.asked)

    @cached_property
    def functions(self) -> Mapping[str, FunctionInfo]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = (n for n in top_level(self.parts.tree) if isinstance(n, kinds))
        return Definitions({n.name: FunctionInfo(n.name, n, self) for n in nodes}, self.asked)

    def is_constant(self, name: str) -> bool:
        """Is the name bound once in the file, by a plain statement of its top level?"""
        self.asked.constants[name] = answer = outline_of(self.parts).is_constant(name)
        return answer

    def matches(self, pattern: str) -> bool:
        """Does a regular expression match anywhere in the text?"""
        if pattern not in self.asked.matches:
            self.asked.matches[pattern] = re.search(pattern, self.parts.text) is not None
        return self.asked.matches[pattern]

    @cached_property
    def assignments(self) -> Mapping[str, ast.expr]:
        """Module-level `NAME = expression`; the last one wins."""
        found: dict[str, ast.expr] = {}
        for n in top_level(self.parts.tree):
            if isinstance(n, ast.Assign):
                found.update({t.id: n.value for t in n.targets if isinstance(t, ast.Name)})
            elif isinstance(n, ast.AnnAssign) and n.value and isinstance(n.target, ast.Name):
                found[n.target.id] = n.value
        return Definitions(found, self.asked)

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

    @cached_property
    def _by_star(self) -> Mapping[str, str]:
        """Name -> dotted name, of what `from m import *` brings: what files of the project define and import."""
        self.__dict__["_by_star"] = {}  # two files that take all from each other end here
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

    def opened(self, path: Path) -> ModuleInfo | None:
        """A file that something led to; None for one that could not be parsed."""
        return self._by_path.get(path)

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
            self._found[dotted] = None  # two files that import a name from each other end here
            self._found[dotted] = self._search(dotted)
        return self._found[dotted]

    def _search(self, dotted: str) -> Symbol | None:
        parts = dotted.split(".")
        # The root below which the most of the name is there wins: `src/models` beside the file hides no `models` of
        # another root that has the wanted module in it.
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
        stars = (star for star in module.stars if any(self._module(star, root) for root in self._roots))
        hits = (self.find(".".join((star, *rest))) for star in stars)
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
            if any(self._exists(str(folder / name)) for name in PROJECT_MARKERS):
                yield folder
                if self._exists(str(folder / "src")):
                    yield folder / "src"
                return

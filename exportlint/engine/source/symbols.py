"""Modules, classes and functions of the code that is read, and what a name means where it is written.

Built with `ast`; nothing is imported.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from exportlint.engine.source.parsed import Parsed


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
BUILTINS = frozenset(dir(builtins))
_NOT_EXPORTED = ("Loss", "Criterion", "Metric", "Metrics")


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
        known = {
            n
            for c in self.lineage
            for n, b in zip(c.base_names, map(c.module.project.find, c.base_names), strict=True)
            if b
        }
        return tuple(n for c in self.lineage for n in c.base_names if n not in known)

    @cached_property
    def is_module(self) -> bool:
        """Does it derive from torch.nn.Module, as far as can be seen? A foreign base plus a forward counts."""
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
    parsed: Parsed
    project: Resolver
    is_package: bool = False

    @property
    def tree(self) -> ast.Module:
        return self.parsed.tree

    @cached_property
    def classes(self) -> Mapping[str, ClassInfo]:
        return {n.name: ClassInfo(n.name, n, self) for n in self._statements() if isinstance(n, ast.ClassDef)}

    @cached_property
    def functions(self) -> Mapping[str, FunctionInfo]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return {n.name: FunctionInfo(n.name, n, self) for n in self._statements() if isinstance(n, kinds)}

    def is_constant(self, name: str) -> bool:
        """Is the name bound once in the file, by a plain statement of its top level?"""
        return self._bound[name] == 1 and name in self._plainly_assigned

    @cached_property
    def _bound(self) -> Counter[str]:
        by_type = self.parsed.by_type(self.tree)
        stored = (n.id for n in by_type.get(ast.Name, ()) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        declared = (name for n in by_type.get(ast.Global, ()) if isinstance(n, ast.Global) for name in n.names)
        return Counter([*stored, *declared])

    @cached_property
    def _plainly_assigned(self) -> frozenset[str]:
        assigns = (node for node in self.tree.body if isinstance(node, ast.Assign))
        return frozenset(t.id for node in assigns for t in node.targets if isinstance(t, ast.Name))

    @cached_property
    def assignments(self) -> Mapping[str, ast.expr]:
        """Module-level `NAME = expression`; the last one wins."""
        found: dict[str, ast.expr] = {}
        for n in self._statements():
            if isinstance(n, ast.Assign):
                found.update({t.id: n.value for t in n.targets if isinstance(t, ast.Name)})
            elif isinstance(n, ast.AnnAssign) and n.value and isinstance(n.target, ast.Name):
                found[n.target.id] = n.value
        return found

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """Local name -> dotted name, for imports anywhere in the file (also inside functions)."""
        found: dict[str, str] = {}
        for node in self.parsed.imports:
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
        nodes = (n for n in self.tree.body if isinstance(n, ast.ImportFrom))
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
        if name in BUILTINS:
            return f"builtins.{name}"
        return None

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        kept = package[: len(package) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def _statements(self) -> Iterator[ast.stmt]:
        """Top-level statements, those under `if` and `try` included."""
        todo = list(reversed(self.tree.body))
        while todo:
            node = todo.pop()
            yield node
            if isinstance(node, ast.If | ast.Try):
                inner = [*node.body, *(s for h in getattr(node, "handlers", []) for s in h.body), *node.orelse]
                todo.extend(reversed(inner))


Symbol = ClassInfo | FunctionInfo | ModuleInfo


class Resolver(Protocol):
    """Knows the symbols of every file of the project; `exportlint.engine.source.project` implements it."""

    def find(self, dotted: str) -> Symbol | None:
        """The class, function or module of that dotted name, followed through re-exports; None for a library's."""

    def file(self, path: Path) -> ModuleInfo | None:
        """The file at an absolute path; None where none is there, or none that can be parsed."""

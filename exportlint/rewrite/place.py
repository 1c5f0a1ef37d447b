"""Where a rewrite takes place: a function, also one that no model runs, or a file, and what names mean there.

The engine's beliefs cover what export runs. Export calls stand in scripts and in functions around them, where it is
enough to know what each name was set to.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.library import EXPORTERS

if TYPE_CHECKING:
    from collections.abc import Container

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

# What torch calls the exporters of a module; those that also take `dynamic_shapes`; and all that are given a model.
TORCH_EXPORT = EXPORTERS - {"torch._export.aot_compile"}  # which knows one mode, and gives no program
WITH_SHAPES = EXPORTERS | {"torch.onnx.export"}
EXPORT_CALLS = WITH_SHAPES | {"torch.jit.trace"}


def call_at_line(module: ModuleInfo, line: int, named: Container[str | None]) -> ast.Call | None:
    """The innermost call of the file, of one of these dotted names, that the line belongs to."""
    calls = (one for one in walked(module.tree) if isinstance(one, ast.Call) and module.dotted(one.func) in named)
    here = [one for one in calls if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return here[-1] if here else None


def model_of_call(call: ast.Call) -> ast.expr | None:
    """What an exporter is given to export, by place or by any of the names that they have for it."""
    named = (one.value for one in call.keywords if one.arg in {"mod", "model", "func"})
    return call.args[0] if call.args else next(named, None)


@dataclass
class Place:
    """A function of the file, or the file itself, and a draft of it.

    imported_instead   of names that imports give: others of the same module that are imported in their place
    """

    site: Site
    node: ast.AST
    view: View | None
    draft: Draft
    imported_instead: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, site: Site) -> Place:
        """The outermost function around what is reported, else the file, with a new draft."""
        return cls(site, site.view.node if site.view else site.module.tree, site.view, site.draft())

    def of_method(self, view: View) -> Place:
        """Another function of the file, in the same draft."""
        return Place(self.site, view.node, view, self.draft, self.imported_instead)

    def origin(self, node: ast.expr) -> str | None:
        """The dotted origin of a name or attribute; the function's own imports are stronger than the file's names."""
        path = path_of(node)
        root, _, rest = (path or "").partition(".")
        if root in self._imports:
            return f"{self._imports[root]}.{rest}" if rest else self._imports[root]
        return self.view.origin(node) if self.view is not None else self.site.module.dotted(node)

    @cached_property
    def _imports(self) -> dict[str, str]:
        if isinstance(self.node, ast.Module):
            return {}
        lines = (one for one in walked(self.node) if isinstance(one, ast.ImportFrom) and not one.level)
        return {one.asname or one.name: f"{line.module}.{one.name}" for line in lines for one in line.names}

    def values_of(self, node: ast.expr) -> list[ast.expr]:
        """What a name is set to in the place, chains of names followed; any other node is its own."""
        found, seen = [node], set[str]()
        for one in found:
            if isinstance(one, ast.Name) and one.id not in seen:
                seen.add(one.id)
                found += (value for target, value in self._settings if path_of(target) == one.id)
        return [one for one in found if not (isinstance(one, ast.Name) and one.id in seen)] or [node]

    def value_of(self, node: ast.expr) -> ast.expr:
        """The one thing that a name is set to; the name where there are several."""
        found = self.values_of(node)
        return found[0] if len(found) == 1 else node

    @cached_property
    def _settings(self) -> list[tuple[ast.expr, ast.expr]]:
        """What is assigned to what, `a, b = c, d` taken apart."""
        found: list[tuple[ast.expr, ast.expr]] = []
        for one in walked(self.node):
            match one:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                    found += zip(targets, values, strict=False)
                case ast.Assign(targets=targets, value=value):
                    found += ((target, value) for target in targets)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    found.append((target, value))
        return found

    @cached_property
    def input(self) -> str | None:
        """The first parameter that is a tensor; that of a forward is one, as a rule."""
        if self.view is None:
            return None
        names = [name for name in self.view.flow.parameters if name not in {"self", "cls"}]
        read = [one for one in walked(self.view.node) if isinstance(one, ast.Name) and one.id in names]
        tensors = {one.id for one in read if self.view.value(one).is_tensor}
        found = next((name for name in names if name in tensors), None)
        return found or (names[0] if names and self.view.function.name == "forward" else None)


def around(draft: Draft, node: ast.AST) -> ast.AST:
    """The innermost function that a node stands in, else the file."""
    now: ast.AST | None = node
    while now is not None and not isinstance(now, ast.FunctionDef | ast.AsyncFunctionDef):
        now = draft.parent(now)
    return now or draft.tree

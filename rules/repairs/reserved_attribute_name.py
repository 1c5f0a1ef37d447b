"""The layer or tensor gets another name, wherever its class speaks of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint import Elsewhere, Repair, Rewrite
from exportlint.rewriting.interface.run_functions import node_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

_ENDINGS = {"BadLayer": "layer", "BadLayerList": "layers", "BadParameter": "weight", "BadBuffer": "buffer"}
_BY_TEXT = frozenset({"register_buffer", "register_parameter", "add_module", "getattr", "setattr", "hasattr"})


class AnotherName(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        place = node_at(self.code, node, self.code.module.tree)
        classes = (one for one in ast.walk(self.code.module.tree) if isinstance(one, ast.ClassDef))
        cls = next((one for one in classes if place is not None and any(part is place for part in ast.walk(one))), None)
        name = _name_in(place)
        if cls is None or name is None or self._is_used_elsewhere(cls, name):
            return
        new = f"{name.strip('_')}_{_ENDINGS[case]}"
        changes = tuple(_renamed(cls, name, new))
        if changes and not any(isinstance(one, ast.Attribute) and one.attr == new for one in ast.walk(cls)):
            yield Rewrite(f"call it `{new}` (a state dict that was saved before needs the new key)", changes)

    def _is_used_elsewhere(self, cls: ast.ClassDef, name: str) -> bool:
        """Does something but `self` of the class have such an attribute in the file? It may be this one."""
        inside = {id(one) for one in ast.walk(cls)}
        for one in ast.walk(self.code.module.tree):
            if isinstance(one, ast.Attribute) and one.attr == name and id(one) in inside and not _on_self(one):
                return True
        return False


def _name_in(node: ast.AST | None) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=name), *_]) | ast.AnnAssign(target=ast.Attribute(attr=name)):
            return name
        case ast.Call(args=[ast.Constant(value=str() as name), *_]):
            return name
    return None


def _renamed(cls: ast.ClassDef, name: str, new: str) -> Iterator[Elsewhere]:
    for one in ast.walk(cls):
        match one:
            case ast.Attribute(attr=attr) if attr == name and _on_self(one):
                yield Elsewhere(one, f"self.{new}")
            case ast.Call(func=func, args=args) if _last(func) in _BY_TEXT:
                for arg in args[:2]:
                    if isinstance(arg, ast.Constant) and arg.value == name:
                        yield Elsewhere(arg, f'"{new}"')


def _on_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _last(func: ast.expr) -> str:
    return getattr(func, "attr", getattr(func, "id", ""))

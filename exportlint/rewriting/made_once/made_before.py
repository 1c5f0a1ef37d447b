"""Move what forward asks or does in every call into `__init__`."""

from __future__ import annotations

import ast
import builtins
from itertools import count
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.editing.repair import Change, InInit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def asked_in_init(code: Code, node: cst.BaseExpression, name: str) -> tuple[AnyChange, ...]:
    """`self.name` is set to the expression in `__init__`, and read in its place; nothing where it takes local names."""
    if not is_free(code, node):
        return ()
    attribute = f"self.{free_attribute(code, name)}"
    return (InInit(f"{attribute} = {_on_lines(code, node)}"), Change(node, attribute))


def is_free(code: Code, node: cst.CSTNode, known: Collection[str] = ()) -> bool:
    """Does it stand in a method, and read nothing that the call computes, but modules and what the file has?"""
    function = code.function
    if code.cls is None or not code.cls.is_module or function is None or function.parameters[:1] != ("self",):
        return False
    return all(_is_free(code, one) or getattr(one, "value", None) in known for one in _read(node))


def _is_free(code: Code, node: cst.Name | cst.Attribute) -> bool:
    if isinstance(node, cst.Attribute):
        return _set_in_init_only(code, node.attr.value)
    known = code.sketch.bound
    return node.value not in known and (node.value in code.module.imports or _is_global(code, node.value))


def _is_global(code: Code, name: str) -> bool:
    module = code.module
    return name in module.assignments or name in module.functions or name in module.classes or hasattr(builtins, name)


def _set_in_init_only(code: Code, attribute: str) -> bool:
    """A part of the module that no other method replaces."""
    methods = [one.node for cls in (code.cls.lineage if code.cls else ()) for one in cls.methods.values()]
    stores = [
        (method.name, one)
        for method in methods
        for one in ast.walk(method)
        if isinstance(one, ast.Attribute) and one.attr == attribute and isinstance(one.ctx, ast.Store)
        if isinstance(method, ast.FunctionDef)
    ]
    return bool(stores) and all(name == "__init__" for name, _ in stores)


def _read(node: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
    """The names that an expression reads, and the attributes of self."""
    match node:
        case cst.Attribute(value=cst.Name(value="self")):
            yield node
        case cst.Attribute(value=value):
            yield from _read(value)
        case cst.Arg(value=value):
            yield from _read(value)
        case cst.Name():
            yield node
        case _:
            for child in node.children:
                yield from _read(child)


def free_attribute(code: Code, name: str) -> str:
    """The name, with a number where the class has such an attribute."""
    nodes = [node for cls in (code.cls.lineage if code.cls else ()) for node in ast.walk(cls.node)]
    taken = {getattr(node, "attr", None) or getattr(node, "name", None) for node in nodes}
    numbered = (f"{name}_{number}" if number > 1 else name for number in count(1))
    return next(one for one in numbered if one not in taken)


def _on_lines(code: Code, node: cst.BaseExpression) -> str:
    text = code.source_of(node)
    return text if "\n" not in text else cst.Module([]).code_for_node(node) if node.lpar else f"({text})"

"""Keep the numbers of a tensor that `__init__` makes, and nothing loads, as a Python list: what forward decides by them
is then decided while it is traced.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Source
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rule.editing.repair import Change, InInit
from exportlint.rule.patterns import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def listed_in_init(code: Code, test: cst.CSTNode) -> tuple[AnyChange, ...] | None:
    """The changes; None where another tensor takes part in the test."""
    asked = list(_asked(code, test))
    sources = [_source(code, one) for one in asked]
    if not asked or any(one is None or not _is_settled(code, one) for one in sources):
        return None
    changes: list[AnyChange] = []
    for one in dict.fromkeys(source for source in sources if source is not None):
        name, kind = one.attr.value, "value" if one in asked else "list"
        changes += [Change(one, f"self.{name}_{kind}"), InInit(f"self.{name}_{kind} = self.{name}.tolist()")]
    return tuple(changes)


def _asked(code: Code, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The outermost names, attributes and entries in it that are data."""
    if isinstance(node, cst.Name | cst.Attribute | cst.Subscript) and code.value(node).may_be_data:
        yield node
        return
    for child in node.children:
        yield from _asked(code, child)


def _source(code: Code, node: cst.BaseExpression) -> cst.Attribute | None:
    """The `self.flags` that the value is, or is an entry of."""
    match node:
        case cst.Attribute(value=cst.Name(value="self")):
            return node
        case cst.Subscript(value=cst.Attribute(value=cst.Name(value="self")) as owner):
            return owner if not code.value(node.slice[0].slice).may_be_data else None
        case cst.Name():
            return _walked(code, node)
    return None


def _walked(code: Code, name: cst.Name) -> cst.Attribute | None:
    """What the loop around it walks along."""
    node: cst.CSTNode | None = name
    while node is not None and not isinstance(node, cst.FunctionDef):
        loops = [node] if isinstance(node, cst.For) else _comprehensions(node)
        for loop in loops:
            if any(isinstance(one, cst.Name) and one.value == name.value for one in every(loop.target)):
                return _entry(code, loop.target, loop.iter, name.value)
        node = code.parent(node)
    return None


def _comprehensions(node: cst.CSTNode) -> Iterator[cst.CompFor]:
    now = getattr(node, "for_in", None)
    while isinstance(now, cst.CompFor):
        yield now
        now = now.inner_for_in


def _entry(code: Code, target: cst.CSTNode, walked: cst.BaseExpression, name: str) -> cst.Attribute | None:
    """The part of `enumerate(a)`, or of `zip(a, b)`, that gives the name its values."""
    if isinstance(target, cst.Name):
        return walked if isinstance(walked, cst.Attribute) and dotted(walked.value) == "self" else None
    if not isinstance(target, cst.Tuple) or not isinstance(walked, cst.Call):
        return None
    places = [index for index, one in enumerate(target.elements) if _names(one.value, name)]
    first = {"builtins.enumerate": 1, "builtins.zip": 0}.get(code.name(walked.func) or "")
    if len(places) != 1 or first is None or not 0 <= places[0] - first < len(walked.args):
        return None
    return _entry(code, target.elements[places[0]].value, walked.args[places[0] - first].value, name)


def _names(node: cst.CSTNode, name: str) -> bool:
    return any(isinstance(one, cst.Name) and one.value == name for one in every(node))


def _is_settled(code: Code, node: cst.Attribute | None) -> bool:
    """Does `__init__` alone set it, to a tensor that no state dict brings?"""
    if node is None or code.cls is None or code.value(node).source not in {Source.ATTRIBUTE, Source.CONSTANT}:
        return False
    own = OwnAttribute(code.cls, node.attr.value)
    begins = any(True for init in own.methods.get("__init__", ()) for _ in own.stores_in(init))
    later = (method for name, methods in own.methods.items() if name != "__init__" for method in methods)
    return begins and not own.stores and not any(_writes(own, one) for method in later for one in ast.walk(method))


def _writes(own: OwnAttribute, node: ast.AST) -> bool:
    """`self.flags[0] = …`, `self.flags.fill_(…)`."""
    match node:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return own.is_own(value)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return own.is_own(value) and attr.endswith("_")
    return False

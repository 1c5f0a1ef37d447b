"""Infer what a name is from how the function uses it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.entry.annotations import INPUT
from exportlint.engine.values.abstract_value import UNKNOWN, Container, Value, exactly
from exportlint.engine.values.kinds import Source
from exportlint.engine.values.library import TENSOR_CALLED, TENSOR_ONLY, takes_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo


_ASKING = (ast.If, ast.IfExp, ast.While, ast.Assert)
# Nodes that may show what a name is.
_INFORMATIVE = (ast.Attribute, ast.Call, ast.BinOp, ast.Subscript, ast.Compare)


def used(function: FunctionInfo, name: str, layers: frozenset[str]) -> Value:
    """What a parameter is by its use; `layers` are the attributes of self that hold layers of torch.nn."""
    parsed = function.module.parsed
    by_type, by_name = parsed.by_type(function.node), parsed.kept(function.node, _by_name)
    nodes = by_name.get(name, ())
    if any(_is_compared_with_word(node, name) for node in nodes):
        return UNKNOWN
    compared = [node for node in nodes if _is_compared(node, name)] if function.name != "__init__" else []
    asked = _asked(by_type) if compared else set()
    if any(id(node) not in asked for node in compared) or any(
        _is_tensor_use(node, name, function.module) or _passed_to_layer(node, name, layers) for node in nodes
    ):
        return INPUT
    if found := next((found for node in nodes if (found := _container_use(node, name))), None):
        return found
    return (
        INPUT
        if any(_is_tensor_use(n, a, function.module) for a in _aliases(by_type, name) for n in by_name.get(a, ()))
        else UNKNOWN
    )


def _by_name(parsed: Parsed, part: ast.AST) -> dict[str, list[ast.AST]]:
    """The nodes that may show what a name is, by the names they would show it of."""
    found: dict[str, list[ast.AST]] = {}
    by_type = parsed.by_type(part)
    for node in (node for each in _INFORMATIVE for node in by_type.get(each, ())):
        for name in _shown(node):
            found.setdefault(name, []).append(node)
    return found


def _shown(node: ast.AST) -> set[str]:
    """The names that stand as owner, operand or first argument."""
    match node:
        case ast.Attribute(value=owner) if name := _operand(owner):
            return {name}
        case ast.Subscript(value=ast.Name(id=name)):
            return {name}
        case ast.Compare(left=ast.Name(id=name)):
            return {name}
        case ast.BinOp(left=left, right=right):
            return {part.id for part in (left, right) if isinstance(part, ast.Name)}
        case ast.Call(func=function, args=arguments):
            of = _operand(function.value) if isinstance(function, ast.Attribute) else None
            given = (part.id for part in arguments[:1] if isinstance(part, ast.Name))
            return {*given, of} if of else {*given}
    return set()


def _aliases(by_type: Mapping[type[ast.AST], Sequence[ast.AST]], name: str) -> Iterator[str]:
    """Other names that a function gives to it, or to what is computed from it: `out = x`, `valid = labels != -100`."""
    for node in by_type.get(ast.Assign, ()):
        match node:
            case ast.Assign(targets=[ast.Name(id=alias)], value=value) if _operand(value) == name:
                yield alias


def _operand(node: ast.expr) -> str | None:
    """The `labels` of `labels`, `labels != -100` and `2 * labels`, which are tensors where it is one."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Compare(left=left, comparators=[right]) | ast.BinOp(left=left, right=right):
            one, other = (right, left) if _is_number(left) else (left, right)
            return _operand(one) if _is_number(other) else None
    return None


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) | ast.Constant(value=value):
            return isinstance(value, int | float)
    return False


def _asked(by_type: Mapping[type[ast.AST], Sequence[ast.AST]]) -> set[int]:
    """What is asked for its truth, or given to a call: parts of tests, and what the names in them are assigned."""
    tests = (node.test for each in _ASKING for node in by_type.get(each, ()))  # type: ignore[attr-defined] # all have
    parts = [part for test in tests for part in ast.walk(test)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    assigns = (node for node in by_type.get(ast.Assign, ()) if isinstance(node, ast.Assign))
    named = (a.value for a in assigns if any(isinstance(t, ast.Name) and t.id in names for t in a.targets))
    calls = [node for node in by_type.get(ast.Call, ()) if isinstance(node, ast.Call)]
    given = (part for call in calls for part in (*call.args, *(keyword.value for keyword in call.keywords)))
    return {id(part) for part in (*parts, *named, *given)}


def _passed_to_layer(node: ast.AST, name: str, layers: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr), args=[ast.Name(id=n), *_]):
            return n == name and attr in layers
    return False


def _is_compared(node: ast.AST, name: str) -> bool:
    """`keep = scores > 0.5`: a mask, where the answer is kept rather than branched on."""
    match node:
        case ast.Compare(left=ast.Name(id=n), ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE()]):
            return n == name
    return False


def _is_compared_with_word(node: ast.AST, name: str) -> bool:
    """`mask == "causal"`: what it is given as is no tensor, though the name may become one."""
    match node:
        case ast.Compare(left=ast.Name(id=n), ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str())]):
            return n == name
    return False


def _container_use(node: ast.AST, name: str) -> Value | None:
    match node:
        case ast.Subscript(value=ast.Name(id=n), slice=ast.Constant(value=str())) if n == name:
            return exactly(Container("dict", source=Source.INPUT))
        case ast.Attribute(value=ast.Name(id=n), attr="keys" | "items" | "setdefault") if n == name:
            return exactly(Container("dict", source=Source.INPUT))
        case ast.Attribute(value=ast.Name(id=n), attr="append" | "extend" | "insert") if n == name:
            return exactly(Container("list", source=Source.INPUT))
    return None


def _is_tensor_use(node: ast.AST, name: str, module: ModuleInfo) -> bool:
    match node:
        case ast.Attribute(value=owner, attr=attr) if _operand(owner) == name:
            return attr in TENSOR_ONLY
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if _operand(owner) == name:
            return attr in TENSOR_CALLED
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            return _is_name(left, name) or _is_name(right, name)
        case ast.Subscript(value=ast.Name(id=n), slice=ast.Tuple(elts=parts)) if n == name:
            return any(
                isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in parts
            )
        case ast.Call(func=ast.Attribute(), args=[ast.Name(id=n), *_]) if n == name:
            return takes_tensor(module.dotted(node.func) or "")
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name

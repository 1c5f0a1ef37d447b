"""What a parameter is, before anybody calls: by annotation, by default, by how the function uses it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.static import project
from exportlint.static.kinds import NONE, SCALAR, UNKNOWN, Kind, Source, Value, join
from exportlint.static.library import TENSOR_CALLED, TENSOR_ONLY, takes_tensor
from exportlint.static.parsed import last_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.static.project import FunctionInfo, ModuleInfo

INPUT = Value(Kind.TENSOR, Source.INPUT)
_SCALARS = frozenset(
    {"int", "float", "bool", "str", "bytes", "complex", "dtype", "device", "Size", "Number", "Literal"}
)
_CONTAINERS = {
    "list": "list", "List": "list", "Sequence": "list", "Iterable": "list", "tuple": "tuple", "Tuple": "tuple",
    "dict": "dict", "Dict": "dict", "Mapping": "dict", "set": "set", "Set": "set", "OrderedDict": "dict",
}  # fmt: skip
_WRAPPERS = frozenset({"Annotated", "Final", "ClassVar", "Required", "NotRequired"})
_TENSOR_NAMES = (
    "Tensor",
    "LongTensor",
    "FloatTensor",
    "BoolTensor",
    "IntTensor",
    "HalfTensor",
    "DoubleTensor",
    "ByteTensor",
)

_ASKING = (ast.If, ast.IfExp, ast.While, ast.Assert)
# Nodes that may show what a name is.
_TELLING = (ast.Attribute, ast.Call, ast.BinOp, ast.Subscript, ast.Compare)


def annotated(node: ast.expr | None, module: ModuleInfo, depth: int = 0) -> Value:
    """The value an annotation promises; UNKNOWN where it promises nothing we know."""
    match node:
        case None:
            return UNKNOWN
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=str(text)):
            return _quoted(text, module, depth)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return union(annotated(left, module, depth), annotated(right, module, depth))
        case ast.Subscript(value=base, slice=inside):
            return _generic(last_name(base), inside, module, depth)
    return _named(node, module)


def union(a: Value, b: Value) -> Value:
    if Kind.UNKNOWN in {a.kind, b.kind}:
        known = a if b.kind is Kind.UNKNOWN else b
        return known.doubted() if known.kind is Kind.TENSOR else UNKNOWN
    return join(a, b)


def _quoted(text: str, module: ModuleInfo, depth: int) -> Value:
    if depth > 4:  # noqa: PLR2004 - strings within strings within strings
        return UNKNOWN
    try:
        return annotated(ast.parse(text, mode="eval").body, module, depth + 1)
    except SyntaxError:
        return UNKNOWN


def _generic(name: str, inside: ast.expr, module: ModuleInfo, depth: int) -> Value:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name == "Optional":
        return union(annotated(parts[0], module, depth), NONE)
    if name == "Union":
        values = [annotated(p, module, depth) for p in parts]
        whole = values[0]
        for value in values[1:]:
            whole = union(whole, value)
        return whole
    if name in _WRAPPERS:
        return annotated(parts[0], module, depth)
    if name in _CONTAINERS:
        values = [annotated(p, module, depth) for p in parts if not isinstance(p, ast.Constant) or p.value is not ...]
        return Value(Kind.CONTAINER, Source.INPUT, element=values[-1] if values else None, container=_CONTAINERS[name])
    if parts and last_name(parts[0]) in _TENSOR_NAMES:  # jaxtyping: Float[Tensor, "batch dim"]
        return replace(INPUT, boolean=name == "Bool")
    return SCALAR if name == "Literal" else UNKNOWN


def _named(node: ast.expr, module: ModuleInfo) -> Value:
    name = last_name(node)
    if name in _TENSOR_NAMES:
        return replace(INPUT, boolean=name in {"BoolTensor", "ByteTensor"})
    if name in _SCALARS:
        return replace(SCALAR, container=name)
    if name in _CONTAINERS:
        return Value(Kind.CONTAINER, Source.INPUT, container=_CONTAINERS[name])
    if name.endswith(("Config", "Args", "Arguments")):
        return Value(Kind.CONFIG)
    found = module.project.find(module.dotted(node) or "")
    if isinstance(found, project.ClassInfo):
        return Value(Kind.MODULE if found.is_module else Kind.INSTANCE, Source.INPUT, cls=found)
    return UNKNOWN


def used(function: FunctionInfo, name: str, layers: frozenset[str]) -> Value:
    """What the use of a parameter says it is; `layers` are the attributes of self that hold layers of torch.nn."""
    by_type = function.module.parsed.by_type(function.node)
    nodes = [node for each in _TELLING for node in by_type.get(each, ())]
    for node in nodes:
        if (
            _is_tensor_use(node, name, function.module)
            or (_is_compared(node, name) and id(node) not in _asked(by_type))
            or _fed_to_layer(node, name, layers)
        ):
            return INPUT
    return next((found for node in nodes if (found := _container_use(node, name))), UNKNOWN)


def _asked(by_type: Mapping[type[ast.AST], Sequence[ast.AST]]) -> set[int]:
    """What is asked for its truth: the parts of tests, and what the names in them are assigned."""
    tests = (node.test for each in _ASKING for node in by_type.get(each, ()))  # type: ignore[attr-defined] # all have
    parts = [part for test in tests for part in ast.walk(test)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    assigns = (node for node in by_type.get(ast.Assign, ()) if isinstance(node, ast.Assign))
    named = (a.value for a in assigns if any(isinstance(t, ast.Name) and t.id in names for t in a.targets))
    return {id(part) for part in (*parts, *named)}


def _fed_to_layer(node: ast.AST, name: str, layers: frozenset[str]) -> bool:
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


def _container_use(node: ast.AST, name: str) -> Value | None:
    match node:
        case ast.Subscript(value=ast.Name(id=n), slice=ast.Constant(value=str())) if n == name:
            return Value(Kind.CONTAINER, Source.INPUT, container="dict")
        case ast.Attribute(value=ast.Name(id=n), attr="keys" | "items" | "setdefault") if n == name:
            return Value(Kind.CONTAINER, Source.INPUT, container="dict")
        case ast.Attribute(value=ast.Name(id=n), attr="append" | "extend" | "insert") if n == name:
            return Value(Kind.CONTAINER, Source.INPUT, container="list")
    return None


def _is_tensor_use(node: ast.AST, name: str, module: ModuleInfo) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=n), attr=attr) if n == name:
            return attr in TENSOR_ONLY
        case ast.Call(func=ast.Attribute(value=ast.Name(id=n), attr=attr)) if n == name:
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

"""What an annotation promises about a parameter."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.engine.source.symbols import ClassInfo
from exportlint.engine.values.abstract_value import (
    NONE,
    UNKNOWN,
    ConfigObject,
    Container,
    Instance,
    Module,
    Scalar,
    Tensor,
    Value,
    exactly,
)
from exportlint.engine.values.joining import join
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ModuleInfo


INPUT = exactly(Tensor(Source.INPUT))
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
        return exactly(Container(_CONTAINERS[name], values[-1] if values else None, source=Source.INPUT))
    if parts and last_name(parts[0]) in _TENSOR_NAMES:  # jaxtyping: Float[Tensor, "batch dim"]
        return exactly(Tensor(Source.INPUT, boolean=name == "Bool"))
    return exactly(Scalar()) if name == "Literal" else UNKNOWN


def _named(node: ast.expr, module: ModuleInfo) -> Value:
    name = last_name(node)
    if name in _TENSOR_NAMES:
        return exactly(Tensor(Source.INPUT, boolean=name in {"BoolTensor", "ByteTensor"}))
    if name in _SCALARS:
        return exactly(Scalar(name))
    if name in _CONTAINERS:
        return exactly(Container(_CONTAINERS[name], source=Source.INPUT))
    if name.endswith(("Config", "Args", "Arguments")):
        return exactly(ConfigObject())
    found = module.project.find(module.dotted(node) or "")
    if isinstance(found, ClassInfo):
        kind = Module if found.is_module else Instance
        return exactly(kind(found, source=Source.INPUT))
    return UNKNOWN

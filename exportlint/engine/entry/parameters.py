"""What a parameter is when nobody has passed anything: what its annotation promises, else what the function does with
it.

An annotation is believed. Most code has none, or `Any`, so the body is asked: what has `.masked_fill()`, is multiplied
by `@` or given to a layer is a tensor, since the forward of a module is written for tensors. The same is asked of names
that hold a part of an argument (`mask = batch["mask"]`). Whatever many things have (`.copy()`, `.split()`, `+`) shows
nothing, and what is compared with a word (`mask == "causal"`) is no tensor: a wrong guess here would make every branch
on the name a finding.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name, walked
from exportlint.engine.source.symbols import ClassInfo
from exportlint.engine.values.abstract_value import (
    NONE,
    UNKNOWN,
    ConfigObject,
    Container,
    Instance,
    Kind,
    Module,
    Scalar,
    Source,
    Tensor,
    Value,
    exactly,
    join,
)
from exportlint.engine.values.library import PACKED_CLASS, TENSOR_CALLED, TENSOR_ONLY, takes_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo


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
            return _union(annotated(left, module, depth), annotated(right, module, depth))
        case ast.Subscript(value=base, slice=inside):
            return _generic(last_name(base), inside, module, depth)
    return _named_class(node, module)


def _union(a: Value, b: Value) -> Value:
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
        return _union(annotated(parts[0], module, depth), NONE)
    if name == "Union":
        values = [annotated(p, module, depth) for p in parts]
        whole = values[0]
        for value in values[1:]:
            whole = _union(whole, value)
        return whole
    if name in _WRAPPERS:
        return annotated(parts[0], module, depth)
    if name in _CONTAINERS:
        values = [annotated(p, module, depth) for p in parts if not isinstance(p, ast.Constant) or p.value is not ...]
        return exactly(Container(_CONTAINERS[name], values[-1] if values else None, source=Source.INPUT))
    if parts and last_name(parts[0]) in _TENSOR_NAMES:  # jaxtyping: Float[Tensor, "batch dim"]
        return exactly(Tensor(Source.INPUT, boolean=name == "Bool"))
    return exactly(Scalar()) if name == "Literal" else UNKNOWN


def _named_class(node: ast.expr, module: ModuleInfo) -> Value:
    name = last_name(node)
    if name in _TENSOR_NAMES:
        return exactly(Tensor(Source.INPUT, boolean=name in {"BoolTensor", "ByteTensor"}))
    if name in _SCALARS:
        return exactly(Scalar(name))
    if name in _CONTAINERS:
        return exactly(Container(_CONTAINERS[name], source=Source.INPUT))
    if name == "PackedSequence":
        return exactly(Instance(name=PACKED_CLASS, source=Source.INPUT))
    if name.endswith(("Config", "Args", "Arguments")):
        return exactly(ConfigObject())
    found = module.project.find(module.dotted(node) or "")
    if isinstance(found, ClassInfo):
        kind = Module if found.is_module else Instance
        return exactly(kind(found, source=Source.INPUT))
    return UNKNOWN


# By use.


_ASKING = (ast.If, ast.IfExp, ast.While, ast.Assert)
# Nodes that may show what a name is.
_INFORMATIVE = (ast.Attribute, ast.Call, ast.BinOp, ast.Subscript, ast.Compare)


def used(function: FunctionInfo, name: str, layers: frozenset[str]) -> Value:
    """What a parameter is by its use; `layers` are the attributes of self that hold layers of torch.nn."""
    parsed = function.module.parts
    by_type, by_name = parsed.by_type(function.node), parsed.kept(function.node, _nodes_by_name)
    end = _end_of_parameter(function.node, name) if name in function.parameters else float("inf")
    nodes = [node for node in by_name.get(name, ()) if node.lineno <= end]  # type: ignore[attr-defined] # expressions
    if any(_is_compared_with_word(node, name) for node in nodes):
        return UNKNOWN
    if any(_is_field_of_packed(node, name) for node in nodes):
        tested = any(_is_asked_for_class(node, name) for node in nodes)
        return UNKNOWN if tested else exactly(Instance(name=PACKED_CLASS, source=Source.INPUT))
    # `keep = scores > 0.5` shows a tensor, `if scale > 0.5` a number; constructors compare numbers all the time.
    compared = [node for node in nodes if _is_compared(node, name)] if function.name != "__init__" else []
    asked = _asked_for_truth(by_type) if compared else set()
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


def _end_of_parameter(node: ast.AST, name: str) -> float:
    """The line up to which a name is the parameter: on every path it is set to what is made of something else there.

    `_, k = x.topk(k)` ends it, `x = x.float()` does not, for its kind stays.
    """
    for statement in getattr(node, "body", None) or () if not isinstance(node, ast.Lambda) else ():
        match statement:
            case ast.Assign(targets=[target], value=value) if name not in _subjects(value):
                if any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
                       for one in walked(target)):  # fmt: skip
                    return statement.end_lineno or statement.lineno
    return float("inf")


def _subjects(node: ast.expr) -> set[str]:
    """The names whose kind an expression may keep: `x` of `x.float()[0]`, of `torch.relu(x)` and of `x + 1`."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Call(func=function, args=args):
            return _subjects(function).union(*map(_subjects, args[:1]))
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return _subjects(inner)
        case ast.BinOp(left=left, right=right):
            return _subjects(left) | _subjects(right)
        case ast.IfExp(body=body, orelse=other):
            return _subjects(body) | _subjects(other)
    return set()


def _nodes_by_name(parsed: Parsed, part: ast.AST) -> dict[str, list[ast.AST]]:
    """The nodes that may show what a name is, by the names they would show it of."""
    found: dict[str, list[ast.AST]] = {}
    by_type = parsed.by_type(part)
    for node in (node for each in _INFORMATIVE for node in by_type.get(each, ())):
        for name in _names_spoken_of(node):
            found.setdefault(name, []).append(node)
    return found


def _names_spoken_of(node: ast.AST) -> set[str]:
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


def _asked_for_truth(by_type: Mapping[type[ast.AST], Sequence[ast.AST]]) -> set[int]:
    """What is asked for its truth, or given to a call: parts of tests, and what the names in them are assigned."""
    tests = (node.test for each in _ASKING for node in by_type.get(each, ()))  # type: ignore[attr-defined] # all have
    parts = [part for test in tests for part in walked(test)]
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


def _is_field_of_packed(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=n), attr="batch_sizes" | "sorted_indices" | "unsorted_indices"):
            return n == name
    return False


def _is_asked_for_class(node: ast.AST, name: str) -> bool:
    """`isinstance(rows, PackedSequence)`: others are given, too."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=n), _]):
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
            return any(isinstance(side, ast.Name) and side.id == name for side in (left, right))
        case ast.Subscript(value=ast.Name(id=n), slice=ast.Tuple(elts=parts)) if n == name:
            return any(
                isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in parts
            )
        case ast.Call(func=ast.Attribute(), args=[ast.Name(id=n), *_]) if n == name:
            return takes_tensor(module.dotted(node.func) or "")
    return False


# Parts of arguments.


_HOLDING_PARTS = (ast.Name, ast.Tuple, ast.Subscript, ast.Call)
_GIVING = frozenset({"get", "pop"})


def parts_of_arguments(assign: ast.Assign, function: FunctionInfo) -> Iterator[tuple[str, bool]]:
    """The names that `mask = batch["mask"]`, `x, mask = inputs` or `mask = kwargs.get("mask")` bind to a part of an
    argument, each with: may it be None?"""
    if not isinstance(assign.value, _HOLDING_PARTS):
        return
    spec = function.node.args
    rest = [arg for arg in (spec.vararg, spec.kwarg) if arg]
    given = {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest)} - {"self", "cls"}
    for target in assign.targets:
        yield from _bound_names(target, assign.value, given)


def _bound_names(target: ast.expr, value: ast.expr, given: set[str]) -> Iterator[tuple[str, bool]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Name(id=name) if name in given:
            yield from ((part.id, False) for part in targets if isinstance(part, ast.Name))
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, its in zip(targets, values, strict=True):
                yield from _bound_names(one, its, given)
        case ast.Name(id=bound), ast.Subscript(value=ast.Name(id=name)) if name in given:
            yield bound, False
        case ast.Name(id=bound), ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if name in given:
            if method in _GIVING:
                yield bound, True

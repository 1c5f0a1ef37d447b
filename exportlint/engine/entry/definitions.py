"""What definitions say without being run: defaults, class bodies, constructors, and dictionaries that decorators fill.

Export meets a model after its constructor has run, so an attribute is not what the constructor assigned to it: a tensor
on a plain attribute outlives the call, a number read out of a tensor has become an ordinary number, and a truth value
may have been set from outside. `attributes_after_init` says what is left of its values.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name, walked
from exportlint.engine.source.symbols import ClassInfo
from exportlint.engine.values.abstract_value import (
    NONE,
    SCALAR,
    UNKNOWN,
    Class,
    Container,
    Function,
    NoneObject,
    NumberFromData,
    Scalar,
    Shape,
    Size,
    Source,
    Super,
    Tensor,
    Unknown,
    Value,
    exactly,
    join,
    join_all,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Possibility


def defaults(node: ast.AST) -> list[tuple[str, ast.expr]]:
    spec: ast.arguments = node.args  # type: ignore[attr-defined]
    positional = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return [(a.arg, d) for a, d in pairs]


def of_default(node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=value):
            return exactly(Scalar(type(value).__name__))
        case ast.Tuple() | ast.List() | ast.Dict():
            return exactly(Container(type(node).__name__.lower()))
        case ast.UnaryOp():
            return SCALAR
    return UNKNOWN


def class_assignments(cls: ClassInfo) -> Iterator[tuple[str, ast.expr]]:
    for node in cls.node.body:
        if isinstance(node, ast.Assign):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def class_constants(cls: ClassInfo) -> dict[str, Value]:
    """True, False and numbers of the class body that nothing in the file assigns to on an object."""
    nodes = (n for n in walked(cls.module.tree) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))
    written = {n.attr for n in nodes}
    plain = ((n, v.value) for n, v in class_assignments(cls) if isinstance(v, ast.Constant) and n not in written)
    return {n: exactly(Scalar(type(v).__name__, bool(v))) for n, v in plain if isinstance(v, bool | int | float)}


def written_later(cls: ClassInfo) -> frozenset[str]:
    """The attributes that methods other than `__init__` assign to."""
    methods = (m.node for c in cls.lineage for name, m in c.methods.items() if name != "__init__")
    nodes = (node for method in methods for node in walked(method))
    return frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))


def constructors(cls: ClassInfo) -> list[FunctionInfo]:
    """The `__init__` of the class, and those of its bases that no `super().__init__(…)` leads to."""
    found: list[FunctionInfo] = []
    for base in cls.lineage:
        init = base.methods.get("__init__")
        if init and not any(_calls_super_init(known.node) for known in found):
            found.append(init)
        elif init is None and (made := base.methods.get("__post_init__")):
            found.append(made)
    return found


@functools.lru_cache(maxsize=256)
def _calls_super_init(function: ast.AST) -> bool:
    for node in walked(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                return True
    return False


@functools.lru_cache(maxsize=256)  # the methods of shared base classes run for each class that inherits them
def sets_attributes(function: ast.AST) -> bool:
    """Does a method, by its text, give its object attributes?"""
    for node in walked(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                return True
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr.startswith(("register_", "add_module")):
                return True
    return False


# Attributes, as later calls meet them.


def attributes_after_init(
    names: dict[str, Value], written: Collection[str] | None = None, outlives: bool = True
) -> dict[str, Value]:
    """The attributes of an object as later calls meet them. `written`: those that are written after `__init__`, where
    the arguments of `__init__` are known, so that the constants among the others hold. `outlives`: the object was made
    before export, so that its tensors are there in every call."""
    found = {n.removeprefix("self."): v for n, v in names.items() if n.startswith("self.")}
    settled = {n for n in found if written is not None and n not in written}
    return {
        n: v.but(on_self=True)
        if n in settled and all(isinstance(option, Scalar | NoneObject) for option in v.options)
        else as_attribute(v, n in settled, outlives)
        for n, v in found.items()
    }


def as_attribute(value: Value, settled: bool = False, outlives: bool = True) -> Value:
    """How a value looks from later calls: its truth is open, a tensor is an attribute unless it is registered.

    `settled`: nobody writes it later, so that None stays None. `outlives`: as in `attributes_after_init`.
    """
    none_stays = settled and len(value.options) > 1
    options = (o if none_stays and isinstance(o, NoneObject) else _attribute_of(o, outlives) for o in value.options)
    return functools.reduce(join, map(exactly, options))


def _attribute_of(option: Possibility, outlives: bool) -> Possibility:
    match option:
        case Tensor() if not outlives:
            return option
        case Tensor(source=source):
            registered = source in {Source.PARAMETER, Source.BUFFER}
            return replace(option, source=source if registered else Source.ATTRIBUTE, on_self=True)
        case NoneObject():
            return Unknown(on_self=True)
        case Container():
            return replace(
                option,
                source=None,
                on_self=True,
                element=as_attribute(option.element, outlives=outlives) if option.element else None,
                items=tuple(as_attribute(item, outlives=outlives) for item in option.items) if option.items else None,
                fields=tuple((k, as_attribute(v, outlives=outlives)) for k, v in option.fields),
            )
        case Scalar():
            return Scalar(option.container, on_self=True)
        case Shape() | Size() | NumberFromData() | Super():
            return option
        case _:
            return replace(option, on_self=True)


def read_before_export(value: Value) -> Value:
    """A value that a constructor made: what it read from a tensor was a plain number before export began."""
    options = tuple(_option_read_before_export(option) for option in value.options)
    return value if options == value.options else functools.reduce(join, map(exactly, options))


def _option_read_before_export(option: Possibility) -> Possibility:
    match option:
        case NumberFromData():
            return Scalar(on_self=True)
        case Container(element=element, items=items):
            return replace(
                option,
                element=read_before_export(element) if element else None,
                items=tuple(map(read_before_export, items)) if items else items,
            )
    return option


# Dictionaries that decorators fill: `@register("mean")` above a function or class.


def with_registered(module: ModuleInfo, name: str, held: Value) -> Value:
    """The dictionary `name` with what decorators of the file put into it."""
    found = [
        (key, exactly(Class(what) if isinstance(what, ClassInfo) else Function(what, name=what.name)))
        for key, what in _registered(module, name)
    ]
    if not found:
        return held
    element = join_all((held.element, *(value for _, value in found)))
    fields = {**dict(held.fields), **{key: value for key, value in found if key is not None}}
    return held.but(element=element, fields=tuple(fields.items()))


def _registered(module: ModuleInfo, name: str) -> Iterator[tuple[str | None, FunctionInfo | ClassInfo]]:
    """The functions and classes of the file that its own decorators store in the dictionary `name`, by their keys."""
    if module.parts.text and not module.matches(rf"{name}\["):
        return
    stores = {function.name for function in module.functions.values() if _stores(function.node, name)}
    if not stores:
        return
    defined: list[FunctionInfo | ClassInfo] = [*module.functions.values(), *module.classes.values()]
    for decorated in defined:
        for node in getattr(decorated.node, "decorator_list", ()):
            if last_name(node.func if isinstance(node, ast.Call) else node) in stores:
                yield _registered_key(node, decorated.name), decorated


def _stores(node: ast.AST, name: str) -> bool:
    """`NAME[key] = fn`."""
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for part in walked(node)
    )


def _registered_key(decorator: ast.expr, own: str) -> str | None:
    match decorator:
        case ast.Call(args=[ast.Constant(value=str(key)), *_]):
            return key
        case ast.Call(args=[]) | ast.Name():
            return own
    return None

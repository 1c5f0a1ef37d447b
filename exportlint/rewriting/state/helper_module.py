"""Make a module of a plain object that a module keeps, so that its state can be in registered buffers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered
from exportlint.rule.editing.repair import Derived, Elsewhere
from exportlint.rule.patterns import CONTAINER_METHODS

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


# What a module has already, or must not be changed in it.
_OF_MODULES = frozenset({
    "__getattr__", "__setattr__", "__delattr__", "__new__", "__eq__", "__getstate__", "__setstate__", "__dir__",
    "add_module", "apply", "bfloat16", "buffers", "children", "compile", "cpu", "cuda", "double", "eval", "extra_repr",
    "float", "forward", "get_buffer", "get_extra_state", "get_parameter", "get_submodule", "half", "ipu",
    "load_state_dict", "modules", "mtia", "named_buffers", "named_children", "named_modules", "named_parameters",
    "parameters", "register_backward_hook", "register_buffer", "register_forward_hook", "register_module",
    "register_parameter", "requires_grad_", "set_extra_state", "set_submodule", "share_memory", "state_dict", "to",
    "to_empty", "train", "training", "type", "xpu", "zero_grad",
})  # fmt: skip
_OF_LAYERS = frozenset({"parameters", "named_parameters", "state_dict", "modules", "children", "buffers"})
_KEEPS = (ast.Assign, ast.AnnAssign, ast.Return, ast.List, ast.Tuple, ast.Dict, ast.Yield, ast.keyword)


def helper_module(code: Code) -> tuple[AnyChange, ...] | None:
    """All that its methods set becomes a buffer; None of a class with bases, and where one attribute cannot be."""
    cls = code.cls
    if cls is None or cls.module is not code.module or not _is_plain(cls) or _holds_layers(cls):
        return None
    changes: list[AnyChange] = [Derived(cls.node, "torch.nn.Module")]
    for name in _set_in_calls(cls):
        own = OwnAttribute(cls, name)
        found = Registered(code, own).changes()
        if found is None or _decides(own) or name in _OF_MODULES or _is_kept_by_others(own):
            return None
        changes += found
    return tuple(changes) if len(changes) > 1 and not _overlap(changes) else None


def _is_plain(cls: ClassInfo) -> bool:
    slots = any(isinstance(one, ast.Assign) for one in cls.node.body)
    own = "__init__" in cls.methods and cls.methods.keys().isdisjoint(_OF_MODULES)
    heirs = any(other is not cls and cls in other.lineage for other in cls.module.classes.values())
    return own and not (slots or heirs or cls.node.bases or cls.node.keywords or cls.node.decorator_list)


def _holds_layers(cls: ClassInfo) -> bool:
    """Does it call one of its attributes, or ask it for parameters? Those would become the module's own."""
    for node in ast.walk(cls.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name not in cls.methods:
                return True
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name) if name in _OF_LAYERS:
                return True
            case ast.Call(func=function) if (cls.module.dotted(function) or "").startswith("torch.nn."):
                if not (cls.module.dotted(function) or "").startswith("torch.nn.functional."):
                    return True
    return False


def _is_kept_by_others(own: OwnAttribute) -> bool:
    """Does other code of the file keep the value, which would change with the buffer?"""
    inside = {id(one) for one in ast.walk(own.cls.node)}
    for node in ast.walk(own.module.tree):
        for child in ast.iter_child_nodes(node):
            is_value = (
                isinstance(child, ast.Attribute) and child.attr == own.name and ast.unparse(child.value) != "self"
            )
            if is_value and id(child) not in inside and (isinstance(node, _KEEPS) or _grows(node)):
                return True
    return False


def _grows(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in CONTAINER_METHODS or method == "get"
    return False


def _set_in_calls(cls: ClassInfo) -> list[str]:
    """The attributes that methods other than `__init__` set."""
    found = (
        one.attr
        for name, method in cls.methods.items()
        for one in (ast.walk(method.node) if name != "__init__" else ())
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self"
    )
    return list(dict.fromkeys(found))


def _decides(own: OwnAttribute) -> bool:
    tests = (
        one.test for method in own.run for one in ast.walk(method) if isinstance(one, ast.If | ast.IfExp | ast.While)
    )
    return any(map(own.mentions, tests))


def _overlap(changes: list[AnyChange]) -> bool:
    """Is one statement written in two ways, as `self.a, self.b = …` would be?"""
    nodes = [id(one.node) for one in changes if isinstance(one, Elsewhere)]
    return len(nodes) != len({*nodes})

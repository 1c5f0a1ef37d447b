"""Evaluate calls: what a function, a method or a class gives, of the project, of torch or of Python."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.builtin_calls import BuiltinCalls
from exportlint.engine.interpreter.narrowing import Narrowing
from exportlint.engine.values import library
from exportlint.engine.values.abstract_value import NONE, SCALAR, TENSOR, UNKNOWN, Kind, Value, join

if TYPE_CHECKING:
    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import FunctionInfo


_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
_BRANCHING = frozenset({"torch.cond", "torch._higher_order_ops.cond", "functorch.experimental.control_flow.cond"})
_LOOPING = frozenset({"torch._higher_order_ops.while_loop", "torch._higher_order_ops.while_loop.while_loop"})


class CallExpressions(BuiltinCalls, Narrowing):
    """The part of the evaluator that deals with calls."""

    env: Environment
    engine: Interpreter

    def value(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        raise NotImplementedError

    def element_of(self, value: Value) -> Value:
        raise NotImplementedError

    def called(self, node: ast.Call) -> Value:
        """Evaluate a call: the function, its arguments, then what it gives."""
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super()
        function = self.value(node.func)
        args: list[Value] = []
        for arg in node.args:
            found = self.value(arg)
            args.extend(self._spread(found) if isinstance(arg, ast.Starred) else [found])
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        for k in node.keywords:
            if k.arg is None:
                self.value(k.value)
        result = self.result(function, tuple(args), keywords, node)
        if result.kind is Kind.UNBACKED and not result.trail:
            result = result.because(f"`{ast.unparse(node)[:40]}`", node.lineno)
        if result.kind in {Kind.TENSOR, Kind.UNBACKED} and function.function is not None:
            result = result.because(f"`{ast.unparse(node.func)}(…)`", node.lineno)
        return result

    def _spread(self, value: Value) -> tuple[Value, ...]:
        return value.items if value.items is not None else (self.element_of(value),)

    def _super(self) -> Value:
        owner = self.env.names.get("self", UNKNOWN)
        return Value(Kind.UNKNOWN, name="super", cls=self.env.function.cls, owner=owner) if owner.cls else UNKNOWN

    def result(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call) -> Value:
        """What `function(*args, **keywords)` gives."""
        if isinstance(node.func, ast.Attribute) and (up := self._super_method(node.func)):
            return self.engine.invoke(up, self.env.names["self"], args, keywords)
        if function.function is not None:
            return self.engine.invoke(function.function, function.owner, args, keywords)
        match function.kind:
            case Kind.MODULE:
                return self._module(function, args, keywords)
            case Kind.CLASS if function.cls:
                return self.engine.instance(function.cls, args, keywords)
            case Kind.INSTANCE if function.cls and (call := function.cls.method("__call__")):
                return self.engine.invoke(call, function, args, keywords)
        if function.owner is not None:
            return self._method(function.owner, function.name or "", args, keywords, node)
        if function.kind is Kind.UNKNOWN and (method := _torch_only(node.func, function.name or "")):
            return library.method(TENSOR, method, args, frozenset(keywords))
        if function.name:
            return self._named_function(function.name, args, keywords)
        return UNKNOWN

    def _super_method(self, func: ast.Attribute) -> FunctionInfo | None:
        inner = self.env.believed(func.value) if isinstance(func.value, ast.Call) else UNKNOWN
        owner = inner.owner
        return owner.cls.method(func.attr, after=inner.cls) if inner.name == "super" and owner and owner.cls else None

    def _module(self, module: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if module.cls:
            forward = module.cls.method("forward")
            return self.engine.invoke(forward, module, args, keywords) if forward else UNKNOWN
        if module.name == "torch.nn.Sequential":
            return self._sequence(module, args)
        return library.module_call(module.name or "") if module.name not in library.MODULE_CONTAINERS else UNKNOWN

    def _sequence(self, module: Value, args: tuple[Value, ...]) -> Value:
        steps = module.items or ((module.element,) if module.element else ())
        current = args
        for step in steps:
            if step is None or step.kind is not Kind.MODULE:
                return UNKNOWN
            current = (self._module(step, current, {}),)
        return current[0] if current and steps else TENSOR

    def _method(
        self, owner: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        match owner.kind:
            case Kind.TENSOR:
                found = library.method(owner, name, args, frozenset(keywords))
                keep = found.kind in {Kind.TENSOR, Kind.UNBACKED, Kind.CONTAINER}
                return (
                    replace(found, trail=owner.trail, on_self=owner.on_self and name in library.VIEWS)
                    if keep
                    else found
                )
            case Kind.CONTAINER | Kind.SHAPE:
                return self._container_method(owner, name, args, node)
            case Kind.MODULE if owner.name in library.MODULE_CONTAINERS:
                return self._container_method(
                    replace(owner, container="dict" if "Dict" in (owner.name or "") else "list"), name, args, node
                )
            case Kind.MODULE if name in library.REGISTERED:
                return library.registered(name)
            case Kind.INSTANCE if (owner.name or "").startswith("torch.distributions."):
                return TENSOR
        return UNKNOWN

    def _container_method(self, owner: Value, name: str, args: tuple[Value, ...], node: ast.Call) -> Value:
        element = owner.element or UNKNOWN
        if name in _GROWING and args:
            new = self.element_of(args[0]) if name in {"extend", "update"} else args[-1]
            self._grow(node, owner, new)
            return NONE
        if name == "items":
            pair = Value(Kind.CONTAINER, items=(SCALAR, element), container="tuple")
            return Value(Kind.CONTAINER, element=pair, container="list")
        if name == "get" and args and args[0].container == "str" and args[0].name:
            return owner.field(args[0].name) or join(element, args[1] if len(args) > 1 else NONE)
        if name in {"values", "copy"}:
            fields = owner.fields if name == "copy" else ()
            return replace(
                owner,
                container="list" if name == "values" else owner.container,
                fields=fields,
                source=None,
                on_self=False,
            )
        if name in {"get", "pop", "popleft", "setdefault"}:
            return element
        return SCALAR if name in {"keys", "index", "count", "numel"} else NONE

    def _grow(self, node: ast.Call, owner: Value, new: Value) -> None:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            element = join(owner.element, new) if owner.element else new
            self.env.names[node.func.value.id] = replace(owner, element=element, items=None)

    def _named_function(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name.startswith("builtins."):
            return self.builtin(name.removeprefix("builtins."), args, keywords)
        if name in _BRANCHING or name in _LOOPING:
            return self._higher_order(args)
        if name in {"torch.utils.checkpoint.checkpoint", "torch.jit.annotate"} and args:
            return args[1] if name.endswith("annotate") else self.apply(args[0], args[1:])
        if name == "functools.reduce" and len(args) > 1:
            element = self.element_of(args[1])
            return self.apply(args[0], (args[2] if len(args) > 2 else element, element))  # noqa: PLR2004 - the start
        found = library.call(name, args, frozenset(keywords))
        trail = next((a.trail for a in args if a.trail), ())
        return replace(found, trail=trail) if found.kind in {Kind.TENSOR, Kind.UNBACKED} else found

    def apply(self, function: Value, args: tuple[Value, ...]) -> Value:
        if function.kind is Kind.MODULE:
            return self._module(function, args, {})
        return self.engine.invoke(function.function, function.owner, args, {}) if function.function else UNKNOWN

    def _higher_order(self, args: tuple[Value, ...]) -> Value:
        """Both branches run under export, on the operands."""
        operands = args[-1].items or () if args and args[-1].kind is Kind.CONTAINER else ()
        results = [self.apply(f, operands) for f in args if f.kind in {Kind.FUNCTION, Kind.MODULE}]
        whole = results[0] if results else TENSOR
        for result in results[1:]:
            whole = join(whole, result)
        return whole


def _torch_only(func: ast.expr, name: str) -> str | None:
    """The method of a call that only tensors have, on something we know nothing else about."""
    foreign = name.startswith(("torch.", "numpy.", "builtins."))
    return func.attr if isinstance(func, ast.Attribute) and func.attr in library.TORCH_ONLY and not foreign else None

"""What a call gives, and what a test settles."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.static import library
from exportlint.static.kinds import NONE, SCALAR, SIZE, TENSOR, UNBACKED, UNKNOWN, Kind, Source, Value, join

if TYPE_CHECKING:
    from exportlint.static.frame import Frame
    from exportlint.static.project import FunctionInfo
    from exportlint.static.provenance import Engine

_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
_SHALLOW = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter", "dict"})
_ASKING = frozenset({"filter", "sorted", "min", "max"})
_BRANCHING = frozenset({"torch.cond", "torch._higher_order_ops.cond", "functorch.experimental.control_flow.cond"})
_LOOPING = frozenset({"torch._higher_order_ops.while_loop", "torch._higher_order_ops.while_loop.while_loop"})
_NOT_TENSOR = frozenset(
    {"int", "float", "bool", "str", "list", "tuple", "dict", "set", "Mapping", "Sequence", "Module"}
)


class Calls:
    """The half of the evaluator that deals with calls and tests."""

    frame: Frame
    engine: Engine

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
        owner = self.frame.names.get("self", UNKNOWN)
        return Value(Kind.UNKNOWN, name="super", cls=self.frame.function.cls, owner=owner) if owner.cls else UNKNOWN

    def result(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call) -> Value:
        """What `function(*args, **keywords)` gives."""
        if isinstance(node.func, ast.Attribute) and (up := self._super_method(node.func)):
            return self.engine.invoke(up, self.frame.names["self"], args, keywords)
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
        inner = self.value(func.value) if isinstance(func.value, ast.Call) else UNKNOWN
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
            self.frame.names[node.func.value.id] = replace(owner, element=element, items=None)

    def _named_function(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), args, keywords)
        if name in _BRANCHING or name in _LOOPING:
            return self._higher_order(args)
        if name in {"torch.utils.checkpoint.checkpoint", "torch.jit.annotate"} and args:
            return args[1] if name.endswith("annotate") else self._apply(args[0], args[1:])
        if name == "functools.reduce" and len(args) > 1:
            element = self.element_of(args[1])
            return self._apply(args[0], (args[2] if len(args) > 2 else element, element))  # noqa: PLR2004 - the start
        found = library.call(name, args, frozenset(keywords))
        trail = next((a.trail for a in args if a.trail), ())
        return replace(found, trail=trail) if found.kind in {Kind.TENSOR, Kind.UNBACKED} else found

    def _apply(self, function: Value, args: tuple[Value, ...]) -> Value:
        if function.kind is Kind.MODULE:
            return self._module(function, args, {})
        return self.engine.invoke(function.function, function.owner, args, {}) if function.function else UNKNOWN

    def _higher_order(self, args: tuple[Value, ...]) -> Value:
        """Both branches run under export, on the operands."""
        operands = args[-1].items or () if args and args[-1].kind is Kind.CONTAINER else ()
        results = [self._apply(f, operands) for f in args if f.kind in {Kind.FUNCTION, Kind.MODULE}]
        whole = results[0] if results else TENSOR
        for result in results[1:]:
            whole = join(whole, result)
        return whole

    def _builtin(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        first = args[0] if args else UNKNOWN
        if name in _ASKING:
            self._ask_each(name, args, keywords)
        if name in _SHALLOW:
            container = name if name in {"list", "tuple", "set", "dict"} else "list"
            if first.kind is Kind.CONTAINER:
                return replace(first, container=container, source=None, on_self=False)
            return Value(
                Kind.CONTAINER,
                container=container,
                element=self.element_of(first) if args else None,
                fields=tuple(keywords.items()),
            )
        if name in {"zip", "enumerate", "map"}:
            return self._pairs(name, args)
        if name == "getattr" and len(args) > 1 and args[1].name:
            return self._getattr(first, args[1].name)
        if name == "bool" and first.kind is Kind.SCALAR:
            return replace(SCALAR, container="bool", truth=first.truth)
        if name in {
            "len",
            "int",
            "float",
            "bool",
            "abs",
            "round",
            "sum",
            "min",
            "max",
            "pow",
            "divmod",
            "range",
            "any",
            "all",
        }:
            return self._number(name, args)
        if name in {"isinstance", "hasattr", "callable", "issubclass", "str", "repr", "id", "hash", "type", "format"}:
            return replace(SCALAR, container="str" if name in {"str", "repr", "format"} else "bool")
        return Value(Kind.UNKNOWN)

    def _ask_each(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        """`filter(f, xs)` and `sorted(xs, key=f)` call f with each element."""
        function = args[0] if name == "filter" and args else keywords.get("key")
        listed = args[1:] if name == "filter" else args[:1]
        if function is not None and listed:
            self._apply(function, (self.element_of(listed[0]),))

    def _getattr(self, owner: Value, name: str) -> Value:
        if owner.kind is Kind.UNKNOWN and owner.name:
            return self.engine.dotted(f"{owner.name}.{name}")
        return self.attribute(owner, name, ast.Name("getattr", lineno=0))

    def _pairs(self, name: str, args: tuple[Value, ...]) -> Value:
        if name == "map":
            given = tuple(self.element_of(a) for a in args[1:])
            element = self._apply(args[0], given) if args and args[0].function else UNKNOWN
            return Value(Kind.CONTAINER, container="list", element=element)
        parts = tuple(self.element_of(a) for a in args)
        items = (SCALAR, *parts[:1]) if name == "enumerate" else parts
        return Value(Kind.CONTAINER, container="list", element=Value(Kind.CONTAINER, items=items, container="tuple"))

    def _number(self, name: str, args: tuple[Value, ...]) -> Value:
        first = args[0] if args else UNKNOWN
        values = [first.element or UNKNOWN] if first.kind is Kind.CONTAINER and name != "len" else list(args)
        if name == "len":
            return (UNBACKED if first.unbacked else SIZE) if first.kind is Kind.TENSOR else SCALAR
        if name in {"any", "all"}:
            return UNBACKED if any(v.is_data for v in values) else SCALAR
        if name == "range":
            numbers = any(v.is_data for v in args)
            return Value(Kind.CONTAINER, container="range", element=SIZE if numbers else SCALAR, unbacked=numbers)
        if any(v.kind is Kind.TENSOR for v in values):
            certain = any(v.is_tensor for v in values)
            return replace(
                UNBACKED if name in {"int", "float", "bool"} else TENSOR,
                certain=certain,
                trail=next(v.trail for v in values if v.kind is Kind.TENSOR),
            )
        for kind in (Kind.UNBACKED, Kind.SIZE):
            if found := next((v for v in values if v.kind is kind), None):
                return found
        return SCALAR if all(v.kind in {Kind.SCALAR, Kind.CONFIG} for v in values) else replace(SCALAR, certain=False)

    # What a test settles.

    def truth(self, node: ast.expr) -> bool | None:
        """True or False where the code alone settles a test; None where it does not."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                inside = self.truth(inner)
                return None if inside is None else not inside
            case ast.BoolOp():
                return self.truth_of_parts(node)
            case ast.Compare():
                return self.truth_of_test(node)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                return self._isinstance(self.frame.believed(subject), classes)
            case ast.Call(args=[subject]) if self.frame.module.dotted(node.func) == "torch.is_tensor":
                return self._isinstance(self.frame.believed(subject), ast.Name("Tensor"))
        found = self.frame.believed(node)
        return False if found.kind is Kind.NONE else found.truth

    def truth_of_parts(self, node: ast.BoolOp) -> bool | None:
        stop = isinstance(node.op, ast.Or)
        truths = [self.truth(v) for v in node.values]
        if stop in truths:
            return stop
        return None if None in truths else not stop

    def truth_of_test(self, node: ast.Compare) -> bool | None:
        match node:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                value = self.frame.believed(left)
                if value.kind is Kind.NONE:
                    return isinstance(op, ast.Is)
                if is_object(value):
                    return isinstance(op, ast.IsNot)
        return None

    def _isinstance(self, value: Value, classes: ast.expr) -> bool | None:
        names = {_last(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
        if value.kind is Kind.TENSOR and value.certain and not value.maybe_none:
            return True if "Tensor" in names else False if names <= _NOT_TENSOR else None
        if value.kind in {Kind.SCALAR, Kind.NONE, Kind.CONTAINER, Kind.SIZE} and names == {"Tensor"}:
            return False
        if (
            value.kind is Kind.CONTAINER
            and value.container in names & {"list", "tuple", "dict"}
            and not value.maybe_none
        ):
            return True
        return None

    def narrow(self, test: ast.expr, truth: bool) -> None:
        """Note what a test tells about a name in the branch where it came out as `truth`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self.narrow(inner, not truth)
            case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
                for part in parts:
                    self.narrow(part, truth)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                self._narrow_none(left, isinstance(op, ast.Is) is truth)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                self._narrow_class(subject, classes, truth)
            case ast.Call(args=[subject]) if self.frame.module.dotted(test.func) == "torch.is_tensor":
                self._narrow_class(subject, ast.Name("Tensor"), truth)

    def _narrow_none(self, node: ast.expr, is_none: bool) -> None:
        key = _key(node)
        if key is None:
            return
        value = self.frame.believed(node)
        self.frame.names[key] = NONE if is_none and value.kind is not Kind.UNKNOWN else replace(value, maybe_none=False)

    def _narrow_class(self, node: ast.expr, classes: ast.expr, truth: bool) -> None:
        key, value = _key(node), self.frame.believed(node)
        names = {_last(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
        if key is None:
            return
        if truth and names == {"Tensor"}:
            known = value.kind is Kind.TENSOR
            self.frame.names[key] = (
                replace(value, certain=True, maybe_none=False) if known else Value(Kind.TENSOR, Source.INPUT)
            )
        elif truth and names <= {"list", "tuple", "dict", "set", "Mapping", "Sequence"}:
            self.frame.names[key] = (
                value
                if value.kind is Kind.CONTAINER
                else Value(Kind.CONTAINER, value.source, container="dict" if "dict" in names else "list")
            )
        elif truth and names <= {"int", "float", "bool", "str"}:
            self.frame.names[key] = SCALAR if value.kind in {Kind.TENSOR, Kind.UNKNOWN} else value
        elif not truth and names == {"Tensor"} and value.kind is Kind.TENSOR:
            self.frame.names[key] = UNKNOWN


def is_object(value: Value) -> bool:
    """Certainly not None: a tensor, a function or class, or a question of torch's that every version answers."""
    if value.kind is Kind.TENSOR:
        return value.certain and not value.maybe_none
    return value.kind in {Kind.FUNCTION, Kind.CLASS} or library.is_question(value.name)


def _torch_only(func: ast.expr, name: str) -> str | None:
    """The method of a call that only tensors have, on something we know nothing else about."""
    foreign = name.startswith(("torch.", "numpy.", "builtins."))
    return func.attr if isinstance(func, ast.Attribute) and func.attr in library.TORCH_ONLY and not foreign else None


def _key(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.NamedExpr(target=ast.Name(id=name)):
            return name
    return None


def _last(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return "?"

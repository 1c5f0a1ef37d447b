"""Evaluate calls: what a function, a method or a class gives, of the project, of torch or of Python."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.entry.declared_dims import DIM
from exportlint.engine.interpreter.evaluation.builtin_calls import BuiltinCalls
from exportlint.engine.interpreter.evaluation.narrowing import Narrowing
from exportlint.engine.values import library, operators, tensor_methods
from exportlint.engine.values.abstract_value import (
    NONE,
    SCALAR,
    TENSOR,
    UNKNOWN,
    Array,
    Class,
    Container,
    Function,
    Instance,
    Module,
    Scalar,
    Shape,
    Super,
    Tensor,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.dims.layers import layer_effect
from exportlint.engine.values.dims.reshaping import effect
from exportlint.engine.values.dims.shapes import pieces
from exportlint.engine.values.joining import join
from exportlint.engine.values.kinds import Kind, Transform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import FunctionInfo
    from exportlint.engine.values.abstract_value import Possibility
    from exportlint.engine.values.kinds import Step


_DIMS = frozenset({DIM, "torch.export.dynamic_shapes.Dim"})
_TRAINING = (("training", exactly(Scalar("bool", truth=True))),)
_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
# Methods of containers that change them and give None.
_SILENT = _GROWING | {"extendleft", "remove", "discard", "clear", "sort", "reverse", "rotate", "move_to_end"}
_BRANCHING = frozenset({"torch.cond", "torch._higher_order_ops.cond", "functorch.experimental.control_flow.cond"})
_LOOPING = frozenset(
    {"torch.while_loop", "torch._higher_order_ops.while_loop", "torch._higher_order_ops.while_loop.while_loop"}
)
_OPERANDS = ("operands", "carried_inputs")  # of a branch, of a loop
_MAPPING = frozenset(
    {"torch._higher_order_ops.map", "torch._higher_order_ops.map.map", "functorch.experimental.control_flow.map"}
)
# Of torch and torch.func: they give the function in another form, which runs it when it is called.
_TRANSFORMS = frozenset({"torch.vmap", "torch.func.vmap", "functorch.vmap"}) | {
    f"{home}.{name}" for home in ("torch.func", "functorch") for name in ("grad", "jacrev", "jacfwd", "hessian")
}
_DERIVED = frozenset({"torch.func.vjp", "torch.func.jvp", "functorch.vjp", "functorch.jvp"})


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
        if function.name == "builtins.zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return self._transposed(self.value(node.args[0].value))
        args: list[Value] = []
        named = ((k.arg, k.value) for k in node.keywords)
        places: dict[int | str, str] = {arg: v.id for arg, v in named if arg and isinstance(v, ast.Name)}
        for arg in node.args:
            found = self.value(arg)
            if isinstance(arg, ast.Name):
                places[len(args)] = arg.id
            args.extend(self._spread(found) if isinstance(arg, ast.Starred) else [found])
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        for k in node.keywords:
            if k.arg is None:
                keywords = {**dict(self.value(k.value).fields), **keywords}
        result = self._with_dims(self.result(function, tuple(args), keywords, node), function, tuple(args), keywords)
        self._take_back(function, args, keywords, places)
        if result.kind is Kind.UNBACKED and not result.trail:
            result = result.because(f"`{ast.unparse(node)[:40]}`", node.lineno)
        if result.kind in {Kind.TENSOR, Kind.UNBACKED} and function.function is not None:
            result = result.because(f"`{ast.unparse(node.func)}(…)`", node.lineno)
        return result

    def _with_dims(self, result: Value, function: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The result of a function or method of torch, with its dims where those of the arguments are known."""
        match result.options, function.options:
            case (Tensor(dims=None, data_dim=None),), (Function(function=None, owner=owner, name=str(name)),) if owner:
                return result.but(dims=effect(name, (owner, *args), keywords).dims)
            case (Container(container="tuple", element=element),), (
                Function(function=None, owner=owner, name=str(name)),
            ) if owner is not None and element is not None and name in {"chunk", "split"}:
                return result.but(element=element.but(dims=pieces(name, (owner, *args), keywords)))
            case (Tensor(dims=None, data_dim=None),), (Unknown(owner=None, name=str(name)),):
                last = name.rpartition(".")[2]
                return result.but(dims=effect(last, args, keywords).dims) if name.startswith("torch.") else result
        return result

    def _take_back(
        self, function: Value, args: list[Value], keywords: dict[str, Value], names: Mapping[int | str, str]
    ) -> None:
        """What a function of the project has put into a container that it was given by name.

        `names`: those names, by the place or keyword of the argument.
        """
        if not any(self.env.names[name].kind is Kind.CONTAINER for name in names.values() if name in self.env.names):
            return
        match function.lead:
            case Function(function=known, owner=owner) if known is not None:
                changed = self.engine.changed(known, owner, tuple(args), keywords)
            case Module(cls=cls) as module if cls and (forward := cls.method("forward")):
                changed = self.engine.changed(forward, exactly(module), tuple(args), keywords)
            case _:
                return
        for place, value in changed.items():
            if place in names:
                self._fill(names[place], value)

    def _fill(self, name: str, value: Value) -> None:
        """A container that a call has filled; what was noted of its items before holds no more."""
        for path in [path for path in self.env.names if path.startswith(f"{name}[")]:
            del self.env.names[path]
        self.env.names[name] = value

    def _transposed(self, rows: Value) -> Value:
        """`zip(*rows)`: what each row has at a place, for each place."""
        row = rows.element or UNKNOWN
        if row.is_tensor:  # `zip(*torch.where(mask))`
            return exactly(Container("list", exactly(Container("tuple", TENSOR)), unbacked=row.unbacked))
        if row.items is not None:
            items = tuple(exactly(Container("tuple", item)) for item in row.items)
            return exactly(Container("list", operators.joined(items), items))
        return exactly(Container("list", exactly(Container("tuple", self.element_of(row)))))

    def _spread(self, value: Value) -> tuple[Value, ...]:
        return value.items if value.items is not None else (self.element_of(value),)

    def _super(self) -> Value:
        owner, cls = self.env.names.get("self", UNKNOWN), self.env.function.cls
        return exactly(Super(cls, owner)) if owner.cls and cls else UNKNOWN

    def result(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call) -> Value:
        """What `function(*args, **keywords)` gives: what each thing gives that it may be, None aside."""
        if isinstance(node.func, ast.Attribute) and (up := self._super_method(node.func)):
            return self.engine.invoke(up, self.env.names["self"], args, keywords)
        return operators.each(function, lambda option: self._result_of(option, args, keywords, node))

    def _result_of(
        self, function: Possibility, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        match function:
            case Function(transform=Transform() as transform):
                return self._transformed(replace(function, transform=None), transform, args)
            case Function(function=known, owner=owner) if known is not None:
                given, named = function.bound
                return self.engine.invoke(known, owner, (*given, *args), {**dict(named), **keywords})
            case Module():
                return self._module(function, args, keywords)
            case Class(cls=cls) if cls:
                return self.engine.instance(cls, args, keywords)
            case Instance(cls=cls) if cls and (call := cls.method("__call__")):
                return self.engine.invoke(call, exactly(function), args, keywords)
            case Function(owner=owner, name=name) | Unknown(owner=owner, name=name) if owner is not None:
                return self._method(owner, name or "", args, keywords, node)
        name = getattr(function, "name", None) or ""
        if function.kind is Kind.UNKNOWN and (method := _torch_only(node.func, name)):
            return tensor_methods.method(Tensor(), method, args, keywords)
        return self._named_function(name, args, keywords) if name else UNKNOWN

    def _super_method(self, func: ast.Attribute) -> FunctionInfo | None:
        inner = self.env.believed(func.value).lead if isinstance(func.value, ast.Call) else None
        if not isinstance(inner, Super) or not inner.owner.cls:
            return None
        return inner.owner.cls.method(func.attr, after=inner.cls)

    def _module(self, module: Module, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if module.cls:
            forward = module.cls.method("forward")
            return self.engine.invoke(forward, exactly(module), args, keywords) if forward else UNKNOWN
        if module.name == "torch.nn.Sequential":
            return self._sequence(module, args)
        if module.name in library.MODULE_CONTAINERS:
            return UNKNOWN
        found = library.module_call(module.name or "", args)
        return (
            found
            if found.kind is not Kind.TENSOR or found.data_dim is not None
            else found.but(dims=layer_effect(exactly(module), args).dims)
        )

    def _sequence(self, module: Module, args: tuple[Value, ...]) -> Value:
        steps = module.items or ((module.element,) if module.element else ())
        current = args
        for step in steps:
            if step.kind is not Kind.MODULE:
                return UNKNOWN
            current = (self.apply(step, current),)
        return current[0] if current and steps else TENSOR

    def _method(
        self, owner: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        match owner.lead:
            case Tensor() as tensor:
                found = tensor_methods.method(tensor, name, args, keywords)
                keep = found.kind in {Kind.TENSOR, Kind.UNBACKED, Kind.CONTAINER}
                on_self = tensor.on_self and name in tensor_methods.VIEWS
                return found.but(on_self=on_self).with_trail(self._trail_of(node)) if keep else found
            case Container() | Shape() as container:
                return self._container_method(container, name, args, keywords, node)
            case Module() as module if name in {"train", "eval"} and not args:
                others = tuple(field for field in module.fields if field[0] != "training")
                return exactly(replace(module, fields=(*others, *_TRAINING) if name == "train" else others))
            case Module() as module if name in library.RETURN_THE_MODULE:
                return exactly(module)
            case Module(name=layers) as module if layers in library.MODULE_CONTAINERS:
                kind = "dict" if "Dict" in (layers or "") else "list"
                container = Container(kind, module.element, module.items, module.fields, on_self=module.on_self)
                return self._container_method(container, name, args, keywords, node)
            case Module() if name in library.REGISTERED:
                return library.registered(name)
            case Array() as array:
                return library.array_method(array, name)
            case Instance(name=origin) if (origin or "").startswith("torch.distributions."):
                return TENSOR
        return UNKNOWN

    def _trail_of(self, node: ast.Call) -> tuple[Step, ...]:
        """How the object came here whose method is called."""
        return self.env.believed(node.func.value).trail if isinstance(node.func, ast.Attribute) else ()

    def _container_method(
        self,
        owner: Container | Shape,
        name: str,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        node: ast.Call,
    ) -> Value:
        whole = exactly(owner)
        element = whole.element or UNKNOWN
        if name in _GROWING and (args or keywords):
            self._grown(node, whole, name, args, keywords)
            return NONE
        if name == "items":
            return exactly(Container("list", exactly(Container("tuple", items=(SCALAR, element)))))
        if name == "get" and args and args[0].container == "str" and args[0].name:
            return whole.field(args[0].name) or join(element, args[1] if len(args) > 1 else NONE)
        if name in {"values", "copy"}:
            kind, fields = ("list", ()) if name == "values" else (whole.container, whole.fields)
            return whole.but(container=kind, fields=fields, source=None, on_self=False)
        if name == "setdefault" and len(args) > 1:
            self._grow(node, whole, args[1])
            return join(element, args[1]) if whole.element else args[1]
        if name in {"get", "pop", "popleft", "setdefault"}:
            return element.but(truth=None, name=None)
        if name in {"keys", "index", "count", "numel"}:
            return SCALAR
        return NONE if name in _SILENT else UNKNOWN

    def _grown(
        self, node: ast.Call, whole: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> None:
        """`rows.append(x)`, `batch.update(other, mask=mask)`."""
        if name != "update":
            self._grow(node, whole, (self.element_of(args[0]) if name == "extend" else args[-1]) if args else UNKNOWN)
            return
        given = [args[0].element or UNKNOWN] if args else []
        added = (*(args[0].fields if args else ()), *keywords.items())
        self._grow(node, whole, operators.joined((*given, *keywords.values())) or UNKNOWN, added)

    def _grow(self, node: ast.Call, owner: Value, new: Value, added: tuple[tuple[str, Value], ...] = ()) -> None:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            element = join(owner.element, new) if owner.element else new
            fields = tuple({**dict(owner.fields), **dict(added)}.items())
            self._fill(node.func.value.id, owner.but(element=element, items=None, fields=fields))

    def _named_function(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name.startswith("builtins."):
            return self.builtin(name.removeprefix("builtins."), args, keywords)
        if (run := self._running(name, args, keywords)) is not None:
            return run
        if name.startswith("torch.distributions."):
            if name.rpartition(".")[2].islower():  # kl_divergence
                return TENSOR
            return exactly(Instance(name=name, fields=tuple(keywords.items())))
        if name in {"torch.utils.checkpoint.checkpoint", "torch.jit.annotate"} and args:
            return args[-1] if name.endswith("annotate") else self.apply(args[0], args[1:])
        if name in _DIMS:
            fields = tuple((str(i), arg) for i, arg in enumerate(args))
            return exactly(Instance(name=DIM, fields=(*fields, *keywords.items())))
        if name == "functools.reduce" and len(args) > 1:
            element = self.element_of(args[1])
            return self.apply(args[0], (args[2] if len(args) > 2 else element, element))  # noqa: PLR2004 - the start
        if name == "functools.partial" and args and args[0].function:
            return args[0].but(bound=(args[1:], tuple(keywords.items())))
        found = library.call(name, args, keywords)
        trail = next((a.trail for a in args if a.trail), ())
        return found.with_trail(trail) if found.kind in {Kind.TENSOR, Kind.UNBACKED} else found

    def _running(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value | None:
        """What a function of torch gives that runs the functions it is given."""
        if name in _BRANCHING or name in _LOOPING:
            return self._branched(args, keywords)
        if name in _TRANSFORMS and args and isinstance(args[0].lead, Function) and args[0].function:
            return args[0].but(transform=_transform(name, given=len(args) > 1 or "in_dims" in keywords))
        if name in _DERIVED and len(args) > 1:
            self.apply(args[0], args[1:] if name.endswith("vjp") else args[1].items or ())
        if name in _MAPPING and len(args) > 1:
            return self._by_operator([args[0]], (self.element_of(args[1]), *args[2:])).but(dims=None)
        return None

    def apply(self, function: Value, args: tuple[Value, ...]) -> Value:
        """What each function or module gives that the value may be."""
        return operators.each(function, lambda option: self._applied(option, args))

    def _applied(self, function: Possibility, args: tuple[Value, ...]) -> Value:
        match function:
            case Module():
                return self._module(function, args, {})
            case Function(function=known, owner=owner) if known is not None:
                given, named = function.bound
                return self.engine.invoke(known, owner, (*given, *args), dict(named))
        return UNKNOWN

    def _branched(self, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """`torch.cond` and its like: the functions among the arguments run on the operands, which come last."""
        given = (*args, *keywords.values())
        whole = next((keywords[name] for name in _OPERANDS if name in keywords), given[-1] if given else UNKNOWN)
        operands = whole.items or () if whole.kind is Kind.CONTAINER else ()
        return self._by_operator([f for f in given if f.kind in {Kind.FUNCTION, Kind.MODULE}], operands)

    def _transformed(self, function: Function, transform: Transform, args: tuple[Value, ...]) -> Value:
        """What `torch.vmap(function)` gives, or a derivative of it, which run the function as Python runs it."""
        if transform is Transform.OF_DERIVATIVES:
            self.apply(exactly(function), args)
            return TENSOR if args and args[0].is_tensor else UNKNOWN
        # One argument that is not known is the tensor to be sliced; of several, some may be dicts of parameters.
        known = (TENSOR,) if len(args) == 1 and args[0].kind is Kind.UNKNOWN else args
        first = transform is Transform.OF_ROWS
        given = (self.element_of(arg) if first else arg.but(dims=None) for arg in known)
        result = self.apply(exactly(function), tuple(given))
        return result.but(dims=None) if result.is_tensor else UNKNOWN

    def _by_operator(self, functions: Sequence[Value], operands: tuple[Value, ...]) -> Value:
        """All of the functions run under export, on the operands."""
        self.engine.operators += 1
        results = [self.apply(function, operands) for function in functions]
        self.engine.operators -= 1
        whole = results[0] if results else TENSOR
        for result in results[1:]:
            whole = join(whole, result)
        return whole


def _transform(name: str, *, given: bool) -> Transform:
    """`given`: the call says more than the function, such as the dims."""
    if not name.endswith("vmap"):
        return Transform.OF_DERIVATIVES
    return Transform.OF_SLICES if given else Transform.OF_ROWS


def _torch_only(func: ast.expr, name: str) -> str | None:
    """The method of a call that only tensors have, on something we know nothing else about."""
    foreign = name.startswith(("torch.", "numpy.", "builtins."))
    return func.attr if isinstance(func, ast.Attribute) and func.attr in library.TORCH_ONLY and not foreign else None

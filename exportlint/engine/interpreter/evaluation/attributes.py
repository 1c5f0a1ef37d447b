"""Evaluate attributes: of tensors, modules, other objects, classes and what libraries define."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values import library, operators, tensor_methods
from exportlint.engine.values.abstract_value import (
    SCALAR,
    UNKNOWN,
    Array,
    Class,
    ConfigObject,
    Container,
    Function,
    Instance,
    Module,
    Scalar,
    Shape,
    Tensor,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.dims.reshaping import effect
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.engine.values.abstract_value import Possibility


_OF_CONTAINERS = frozenset({"get", "items", "keys", "append", "extend", "pop", "update", "setdefault"})
_NAMED_RESULTS = frozenset(
    {"values", "indices", "eigenvalues", "eigenvectors", "L", "Q", "R", "U", "S", "Vh", "solution", "sign", "logabsdet"}
)
_METHODS_OF_MODULES = library.REGISTERED.keys() | library.RETURN_THE_MODULE


class AttributeExpressions:
    """The part of the evaluator that deals with attributes."""

    env: Environment
    engine: Interpreter

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """`owner.name`, of whatever it may be; None has none of interest."""
        found = operators.each(owner, lambda option: self._attribute_of(option, name, node))
        return found.with_trail(owner.trail) if owner.may_be_data and found.may_be_data else found

    def _attribute_of(self, owner: Possibility, name: str, node: ast.expr) -> Value:
        match owner:
            case Tensor():
                return self._of_tensor(owner, name)
            case Module() | Instance():
                return self._of_object(owner, name, node)
            case Class(cls=cls) if cls:
                return self._of_class(cls, name)
            case ConfigObject():
                return exactly(ConfigObject(name, owner.on_self))
            case Container(container="tuple", element=element) if element is not None and name in _NAMED_RESULTS:
                return element  # `x.max(dim=1).values`
            case Shape() | Container():
                return exactly(Function(owner=exactly(owner), name=name))
            case Array() if name in library.ARRAY_SCALARS:
                return SCALAR
            case Array():
                return exactly(Function(owner=exactly(owner), name=name))
        path = getattr(owner, "name", None)
        dotted = self.env.module.dotted(node) if path else None
        if dotted:
            return self.engine.dotted(dotted)
        on_self = getattr(owner, "on_self", False)
        return exactly(Unknown(f"{path}.{name}" if path else None, on_self=on_self))

    def _of_class(self, cls: ClassInfo, name: str) -> Value:
        if cls.is_autograd_function and name == "apply" and (forward := cls.method("forward")):
            return exactly(Function(forward, name=name))
        if method := cls.method(name):
            return exactly(Function(method, name=name))
        levels = (self.engine.class_levels(base).get(name) for base in cls.lineage)
        return next((value for value in levels if value is not None), UNKNOWN)

    def _of_tensor(self, owner: Tensor, name: str) -> Value:
        if name == "shape":
            return tensor_methods.shape_of(owner)
        if name in library.SCALAR_ATTRIBUTES:
            return SCALAR
        if name in _OF_CONTAINERS:
            return UNKNOWN
        if name in {"T", "mT", "H", "mH"}:
            return exactly(owner).but(dims=effect(name, (exactly(owner),), {}).dims)
        if name in {"data", "real", "imag", "grad"}:
            return exactly(owner).doubted().or_none() if name == "grad" else exactly(owner)
        return exactly(Function(owner=exactly(owner), name=name))

    def _of_object(self, owner: Module | Instance, name: str, node: ast.expr) -> Value:
        if (field := exactly(owner).field(name)) is not None:
            return field
        if name == "training":
            return exactly(Scalar("bool", truth=self.engine.training))
        if owner.cls is None:
            return self._of_foreign(owner, name)
        if name == "__class__":
            return exactly(Class(owner.cls))
        if method := owner.cls.method(name):
            if "builtins.property" in method.decorators or any(
                d.endswith("cached_property") for d in method.decorators
            ):
                return self.engine.invoke(method, exactly(owner), (), {})
            return exactly(Function(method, exactly(owner), name))
        made = owner.made.attributes.get(name) if isinstance(owner, Module) and owner.made else None
        found = made or self.engine.attributes(owner.cls).get(name)
        if found is None and isinstance(owner, Module) and name in _METHODS_OF_MODULES:
            return exactly(Function(owner=exactly(owner), name=name))
        if found is None:
            return exactly(Unknown(on_self=True))
        found = found.but(on_self=True)
        step = f"`self.{name}`" if _is_self(node) else f"`.{name}`"
        return found.because(step, node.lineno) if found.kind is Kind.TENSOR else found

    def _of_foreign(self, owner: Module | Instance, name: str) -> Value:
        """An attribute of a torch layer or of an instance of a library's class."""
        if isinstance(owner, Module) and name in {"weight", "bias", "running_mean", "running_var"}:
            tensor = exactly(Tensor(Source.PARAMETER, on_self=True))
            return tensor.or_none() if name == "bias" else tensor
        if isinstance(owner, Module) and name not in {"forward", "__call__"}:
            return exactly(Function(owner=exactly(owner), name=name))
        if (owner.name or "").startswith("torch.distributions."):
            return exactly(Function(owner=exactly(owner), name=name))
        return exactly(Unknown(name, exactly(owner)))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"

"""What the parameters of a function are when it is called: what is passed, else what the function itself shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.entry.annotations import annotated
from exportlint.engine.entry.definitions import defaults, of_default
from exportlint.engine.entry.usage import used
from exportlint.engine.values.abstract_value import Container, Instance, Value, exactly
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    import ast

    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import FunctionInfo


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function. `root`: export enters here, so that nobody passes anything and defaults may be replaced."""

    function: FunctionInfo
    owner: Value | None
    args: tuple[Value, ...]
    keywords: dict[str, Value]
    root: bool = False

    def names(self, engine: Interpreter) -> dict[str, Value]:
        """Parameter -> what it holds when the body begins."""
        spec = self.function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        found: dict[str, Value] = {}
        if self._takes_owner():
            found[positional.pop(0).arg] = self.owner or exactly(Instance(self.function.cls))
        fallbacks = dict(defaults(self.function.node))
        for i, parameter in enumerate([*positional, *spec.kwonlyargs]):
            by_place = i < min(len(self.args), len(positional))
            passed = self.args[i] if by_place else self.keywords.get(parameter.arg)
            found[parameter.arg] = self._parameter(engine, parameter, passed, fallbacks.get(parameter.arg))
        if spec.vararg:
            found[spec.vararg.arg] = _rest(self.args[len(positional) :])
        if spec.kwarg:
            known = {p.arg for p in (*positional, *spec.kwonlyargs)}
            extra = tuple((k, v.plain) for k, v in self.keywords.items() if k not in known)
            found[spec.kwarg.arg] = exactly(Container("dict", fields=extra))
        return found

    def changed(self, names: dict[str, Value]) -> dict[int | str, Value]:
        """The containers that the body has filled, by place or keyword; `names` are those at its end."""
        spec = self.function.node.args
        positional = [p.arg for p in (*spec.posonlyargs, *spec.args)][1 if self._takes_owner() else 0 :]
        given: dict[int | str, tuple[str, Value]] = {
            **{i: (name, value) for i, (name, value) in enumerate(zip(positional, self.args, strict=False))},
            **{name: (name, value) for name, value in self.keywords.items()},
        }
        return {place: names[name] for place, (name, value) in given.items() if _is_filled(value, names.get(name))}

    def _takes_owner(self) -> bool:
        """Is the first parameter the object, or the class?"""
        function, spec = self.function, self.function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        return bool(
            positional
            and function.cls
            and "builtins.staticmethod" not in function.decorators
            and (self.owner is not None or positional[0].arg in {"self", "cls"})
            and function.name != "<lambda>"
            and function.cls.methods.get(function.name) is function
        )

    def _parameter(
        self, engine: Interpreter, parameter: ast.arg, passed: Value | None, default: ast.expr | None
    ) -> Value:
        """What the caller passes; where that is unknown, what the function says and does."""
        name = self.function.name
        if passed is not None and passed.kind is not Kind.UNKNOWN:
            step = f"`{parameter.arg}` of {name}"
            return passed.because(step, parameter.lineno) if passed.is_data else passed
        if default is not None and passed is None and not self.root:
            return engine.before_export(self.function, default)
        found = self._by_itself(engine, parameter, passed, default)
        is_tensor = found.kind is Kind.TENSOR
        return found.because(f"parameter `{parameter.arg}` of {name}", parameter.lineno) if is_tensor else found

    def _by_itself(
        self, engine: Interpreter, parameter: ast.arg, passed: Value | None, default: ast.expr | None
    ) -> Value:
        promised = annotated(parameter.annotation, self.function.module)
        if default is not None and passed is None:
            fallback = of_default(default)
            if promised.kind is Kind.UNKNOWN and fallback.kind is not Kind.NONE:
                return fallback
            if promised.kind is not Kind.UNKNOWN and fallback.kind is Kind.NONE:
                promised = promised.or_none()
        if promised.kind is Kind.UNKNOWN:
            promised = used(self.function, parameter.arg, engine.layers(self.function.cls))
            if default is not None and promised.kind is not Kind.UNKNOWN:
                promised = promised.or_none()
        return promised


def _is_filled(before: Value, after: Value | None) -> bool:
    """Is it the same container, with more in it? (A name that was bound anew holds another one, which has not all.)"""
    if after is None or before.container is None or before.container != after.container:
        return False
    return after.options != before.options and {f[0] for f in before.fields} <= {f[0] for f in after.fields}


def _rest(values: tuple[Value, ...]) -> Value:
    """`*args`."""
    return exactly(Container("tuple", values[0] if values else None, values or None))

"""Run the body of one function: statements and expressions, and what only constructors do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import sets_attributes
from exportlint.engine.interpreter.statements import Statements
from exportlint.engine.values.abstract_value import TENSOR, UNKNOWN, Tensor, Value, exactly
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import FunctionInfo


class FunctionRun(Statements):
    """The run of one function's body; `engine` knows all other functions, `env` holds the names."""

    def __init__(self, engine: Interpreter, env: Environment) -> None:
        self.engine = engine
        self.env = env

    def result(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call) -> Value:
        """Also what only matters in constructors: register_buffer and its kin, and `Function.apply`."""
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr="register_buffer") if args and args[0].name:
                new = args[1] if len(args) > 1 else keywords.get("tensor", UNKNOWN)
                kept = new.but(source=Source.BUFFER, on_self=True) if new.kind is Kind.TENSOR else new
                self.env.names[f"self.{args[0].name}"] = (
                    kept if new.kind is not Kind.UNKNOWN else exactly(Tensor(Source.BUFFER))
                )
            case ast.Attribute(
                value=ast.Name(id="self"), attr="register_parameter" | "add_module" | "register_module"
            ) if args and args[0].name:
                self.env.names[f"self.{args[0].name}"] = args[1] if len(args) > 1 else UNKNOWN
            case ast.Attribute(value=owner, attr="apply"):
                base = self.env.believed(owner)
                if (
                    base.kind is Kind.CLASS
                    and base.cls
                    and base.cls.is_autograd_function
                    and (f := base.cls.method("forward"))
                ):
                    self.engine.invoke(f, None, args, keywords)
                    return TENSOR
        if self.engine.silent and (method := self._method_of_self(function, node)):
            found = self.engine.on_self(method, args, keywords, self.env)
            if found is not None or not self.engine.watching or sets_attributes(method):
                return UNKNOWN if found is None else found
        if node is self.dropped and self.engine.silent and function.function is not None:
            return UNKNOWN  # nobody takes the value, and what the callee sets is not seen here
        self.engine.watch(function, args, keywords, self.env)
        return super().result(function, args, keywords, node)

    def _method_of_self(self, function: Value, node: ast.Call) -> FunctionInfo | None:
        """The method of the object under construction that is called, its base's or its own."""
        match node.func:
            case ast.Attribute(value=ast.Call()) as func:
                return self._super_method(func)
            case ast.Attribute(value=ast.Name(id="self")):
                return function.function
        return None

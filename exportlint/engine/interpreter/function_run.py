"""Run the body of one function: statements and expressions, and what only constructors do."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.entry.annotations import INPUT
from exportlint.engine.interpreter.statements import Statements
from exportlint.engine.values.abstract_value import UNKNOWN, Kind, Source, Value

if TYPE_CHECKING:
    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.interpreter.interface import Interpreter


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
                kept = replace(new, source=Source.BUFFER, on_self=True) if new.kind is Kind.TENSOR else new
                self.env.names[f"self.{args[0].name}"] = (
                    kept if new.kind is not Kind.UNKNOWN else Value(Kind.TENSOR, Source.BUFFER)
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
                    return replace(INPUT, source=Source.COMPUTED)
        if node is self.dropped and self.engine.silent and self._enters(function, node):
            return UNKNOWN  # nobody takes the value, and what the callee sets is not seen here
        return super().result(function, args, keywords, node)

    def _enters(self, function: Value, node: ast.Call) -> bool:
        """Does the call run a function of the project?"""
        up = self._super_method(node.func) if isinstance(node.func, ast.Attribute) else None
        return up is not None or function.function is not None

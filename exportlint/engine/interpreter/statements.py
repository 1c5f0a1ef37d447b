"""Runs the body of one function: how names change along it, and which statements export can reach at all.

Branches that the code alone settles are not run, since export does not run them either: what stands there is dead, and
no rule speaks of it. Of others both sides run, each with what the test shows, and their names are joined. A loop runs
twice: what the first round leaves behind is what the second one meets, and a third would find nothing that rules ask
for.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import sets_attributes
from exportlint.engine.entry.parameters import parts_of_arguments, used
from exportlint.engine.interpreter.evaluation import Expressions
from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values import operators
from exportlint.engine.values.abstract_value import (
    NONE,
    TENSOR,
    UNKNOWN,
    Function,
    Kind,
    Source,
    Tensor,
    Value,
    exactly,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_MOST_LOOPS_TWICE = 5


class FunctionRun(Expressions):
    """The run of one function in one context; `engine` knows all other functions, `env` holds the names."""

    loops = 0
    # The expression of the last statement that takes no value, or gives it to an attribute of another object.
    dropped: ast.expr | None = None

    def run(self, statements: list[ast.stmt]) -> bool:
        """Follow a block; True where it ends the function, or the round of a loop, on every path."""
        for i, statement in enumerate(statements):
            self.env.alive.add(statement)
            handler: Callable[[ast.stmt], bool | None] | None = getattr(self, _HANDLERS.get(type(statement), ""), None)
            if handler and handler(statement):
                self.env.mark_unreachable(statements[i + 1 :])
                return True
        return False

    def _expression(self, node: ast.Expr) -> None:
        self.dropped = node.value
        self.value(node.value)

    def _assign(self, node: ast.Assign) -> None:
        if all(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Attribute) for t in node.targets):
            self.dropped = node.value
        new = self.value(node.value)
        for target in node.targets:
            self.assign(target, new)
        self._typed_by_use(node)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.assign(node.target, self.value(node.value))

    def _return(self, node: ast.Return) -> bool:
        self.env.returned.append(self.value(node.value) if node.value else NONE)
        return True

    def _raise(self, node: ast.Raise) -> bool:
        for part in filter(None, (node.exc, node.cause)):
            self.value(part)
        return True

    def _leave_loop(self, _node: ast.Break | ast.Continue) -> bool:
        return True

    def _assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        if node.msg:
            self.value(node.msg)
        self.narrow(node.test, True)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.value(target)

    def _typed_by_use(self, node: ast.Assign) -> None:
        """A part of an argument, of which nothing else is known, is what it is used as."""
        function = self.env.function
        for name, maybe_none in parts_of_arguments(node, function):
            if self.env.names.get(name, NONE).kind is Kind.UNKNOWN:
                found = used(function, name, self.engine.layers(function.cls))
                if found.kind is Kind.TENSOR:
                    found = found.or_none() if maybe_none else found
                    self.env.names[name] = found.because(f"`{name}`", node.lineno, self.env.module.path)

    def _read_by_item(self, target: ast.expr) -> None:
        """A loop variable of which nothing is known, and whose `.item()` is read, is likely a tensor."""
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name) and self.env.names.get(part.id, NONE).options == UNKNOWN.options:
                found = used(self.env.function, part.id, frozenset())
                if found.kind is Kind.TENSOR:
                    self.env.names[part.id] = found.doubted().because(f"`{part.id}`", part.lineno, self.env.module.path)

    def _augment(self, node: ast.AugAssign) -> None:
        old = self.value(node.target)
        new = operators.combine(old, self.value(node.value), node.op)
        if isinstance(node.target, ast.Name):
            # `x += 1` writes to the tensor that x is, so that it stays an input or a buffer.
            in_place = old.kind is Kind.TENSOR and new.kind is Kind.TENSOR
            self.env.names[node.target.id] = new.but(source=old.source) if in_place else new

    def _if(self, node: ast.If) -> bool:
        self.value(node.test)
        truth = self.truth(node.test)
        if truth is not None:
            self.env.mark_unreachable(node.orelse if truth else node.body)
            self.narrow(node.test, truth)
            return self.run(node.body if truth else node.orelse)
        before = dict(self.env.names)
        self.narrow(node.test, True)
        body_ends = self.run(node.body)
        after_body = self.env.names
        self.env.names = before
        self.narrow(node.test, False)
        else_ends = self.run(node.orelse)
        if body_ends and else_ends:
            return True
        # What follows is met by the sides that do not end: after `if x is None: return`, x is not None.
        if else_ends:
            self.env.names = after_body
        elif not body_ends:
            self.env.names = self._names_of_both(after_body, self.env.names)
        return False

    def _rounds(self) -> Iterator[None]:
        """Two, and one where loops stand so deep in loops that the rounds would multiply beyond reason."""
        self.loops += 1
        try:
            yield
            if self.loops <= _MOST_LOOPS_TWICE:
                yield
        finally:
            self.loops -= 1

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        """Twice: what the first round leaves behind is what the second one meets."""
        element = self.element_of(self.value(node.iter))
        for _ in self._rounds():
            before = dict(self.env.names)
            self.assign(node.target, element)
            self._read_by_item(node.target)
            self.run(node.body)
            self.env.names = self._names_of_both(before, self.env.names)
        self.run(node.orelse)

    def _while(self, node: ast.While) -> None:
        for _ in self._rounds():
            before = dict(self.env.names)
            self.value(node.test)
            if self.truth(node.test) is False:
                self.env.mark_unreachable(node.body)
                return
            self.narrow(node.test, True)
            self.run(node.body)
            self.env.names = self._names_of_both(before, self.env.names)
        self.run(node.orelse)

    def _enter(self, node: ast.With | ast.AsyncWith) -> bool:
        for item in node.items:
            found = self.value(item.context_expr)
            if found.kind is Kind.INSTANCE and found.cls:
                for name in ("__enter__", "__exit__"):
                    if method := found.cls.method(name):
                        self.engine.invoke(method, found, (), {})
            if item.optional_vars:
                self.assign(item.optional_vars, UNKNOWN)
        return self.run(node.body)

    def _try(self, node: ast.Try) -> bool:
        before = dict(self.env.names)
        body_ends = self.run(node.body) or self.run(node.orelse)
        # `try: return torch.compiler.is_compiling()` with a handler for old versions of torch: it never runs.
        if body_ends and self._cannot_raise(node.body):
            self.env.mark_unreachable([statement for handler in node.handlers for statement in handler.body])
            return True
        after = self.env.names
        ends = [body_ends]
        for handler in node.handlers:
            self.env.names = self._names_of_both(before, after) if not body_ends else dict(before)
            ends.append(self.run(handler.body))
            if not ends[-1]:
                after = self._names_of_both(after, self.env.names) if not all(ends[:-1]) else self.env.names
        self.env.names = after
        return self.run(node.finalbody) or all(ends)

    def _cannot_raise(self, body: list[ast.stmt]) -> bool:
        """Does it import what there is, and return what is settled, such as the answer to a question of torch's?"""
        if not all(isinstance(statement, ast.Import | ast.ImportFrom | ast.Return) for statement in body):
            return False
        return bool(self.env.returned) and self.env.returned[-1].truth is not None

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        before = dict(self.env.names)
        after: dict[str, Value] | None = None
        for case in node.cases:
            self.env.names = dict(before)
            for part in walked(case.pattern):
                if isinstance(part, ast.MatchAs) and part.name:
                    self.env.names[part.name] = subject if part is case.pattern else self.element_of(subject)
            if case.guard:
                self.value(case.guard)
            if not self.run(case.body):
                after = self.env.names if after is None else self._names_of_both(after, self.env.names)
        self.env.names = self._names_of_both(before, after) if after is not None else before

    def _names_of_both(self, a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
        """What holds after either of two paths. A name bound on one path only is in doubt nowhere it can be read; an
        attribute or item that one path assigns holds what it did before on the other."""
        both = {name: join(a[name], b[name]) for name in a.keys() & b.keys()}
        alone = {name: (a.get(name) or b[name]) for name in a.keys() ^ b.keys()}
        earlier = {name: value for name, value in self.env.earlier.items() if value.kind is not Kind.UNKNOWN}
        return both | {name: join(value, earlier[name]) if name in earlier else value for name, value in alone.items()}

    def _function_defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        closure = {**self.env.function.closure, **self.env.names}
        function = FunctionInfo(
            node.name, node, self.env.module, self.env.function.cls, closure, made_before=self.engine.silent
        )
        self.env.names[node.name] = exactly(Function(function, name=node.name))

    # What only constructors do, and what is noted of a call.

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
        # In a constructor, `self.build()` and `super().__init__()` set attributes of the object that is being made, so
        # their bodies run on our names; as calls of their own they would set them on an object that nobody keeps.
        if self.engine.silent and (method := self._method_of_self(function, node)):
            found = self.engine.on_self(method, args, keywords, self.env)
            if found is not None or not self.engine.watching or sets_attributes(method.node):
                return UNKNOWN if found is None else found
        if node is self.dropped and self.engine.silent and function.function is not None:
            return UNKNOWN  # nobody takes the value, and what the callee sets is not seen here
        self.engine.watch(function, args, keywords, self.env, node)
        return super().result(function, args, keywords, node)

    def _method_of_self(self, function: Value, node: ast.Call) -> FunctionInfo | None:
        """The method of the object under construction that is called, its base's or its own."""
        match node.func:
            case ast.Attribute(value=ast.Call()) as func:
                return self._super_method(func)
            case ast.Attribute(value=ast.Name(id="self")):
                return function.function
        return None


_HANDLERS: dict[type[ast.stmt], str] = {
    ast.Expr: "_expression", ast.Assign: "_assign", ast.AugAssign: "_augment", ast.AnnAssign: "_annotated",
    ast.Return: "_return", ast.Raise: "_raise", ast.Break: "_leave_loop", ast.Continue: "_leave_loop",
    ast.If: "_if", ast.For: "_for", ast.AsyncFor: "_for", ast.While: "_while", ast.With: "_enter",
    ast.AsyncWith: "_enter", ast.Try: "_try", ast.Match: "_match", ast.Assert: "_assert",
    ast.FunctionDef: "_function_defined", ast.AsyncFunctionDef: "_function_defined", ast.Delete: "_delete",
}  # fmt: skip

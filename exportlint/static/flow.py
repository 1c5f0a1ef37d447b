"""Statements: how names change along a function, and which statements export can reach at all."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.static import operators
from exportlint.static.annotations import used
from exportlint.static.evaluate import Evaluator
from exportlint.static.frame import span_of
from exportlint.static.items import parts_of_arguments
from exportlint.static.kinds import NONE, UNKNOWN, Kind, Value, join
from exportlint.static.project import FunctionInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOPS = 5


class Flow(Evaluator):
    """Runs the statements of one function in one context. `run` returns True when the block ends the function."""

    loops = 0
    # The expression of the last statement that takes no value, or gives it to an attribute of another object.
    dropped: ast.expr | None = None

    def run(self, statements: list[ast.stmt]) -> bool:
        for i, statement in enumerate(statements):
            self.frame.alive.add(span_of(statement))
            if self._one(statement):
                self.frame.bury(statements[i + 1 :])
                return True
        return False

    def _one(self, node: ast.stmt) -> bool:  # noqa: C901, PLR0912 - one arm for each kind of statement
        match node:
            case ast.Expr():
                self.dropped = node.value
                self.value(node.value)
            case ast.Assign():
                if all(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Attribute) for t in node.targets):
                    self.dropped = node.value
                new = self.value(node.value)
                for target in node.targets:
                    self.assign(target, new)
                self._told_by_use(node)
            case ast.AugAssign():
                self._augment(node)
            case ast.AnnAssign():
                if node.value:
                    self.assign(node.target, self.value(node.value))
            case ast.Return():
                self.frame.returned.append(self.value(node.value) if node.value else NONE)
                return True
            case ast.Raise():
                for part in (node.exc, node.cause):
                    if part:
                        self.value(part)
                return True
            case ast.Break() | ast.Continue():
                return True
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While():
                self._while(node)
            case ast.With() | ast.AsyncWith():
                return self._with(node)
            case ast.Try():
                return self._try(node)
            case ast.Match():
                self._match(node)
            case ast.Assert():
                self.value(node.test)
                if node.msg:
                    self.value(node.msg)
                self.narrow(node.test, True)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node)
            case ast.Delete():
                for target in node.targets:
                    self.value(target)
        return False

    def _told_by_use(self, node: ast.Assign) -> None:
        """A part of an argument, of which nothing else is known, is what it is used as."""
        function = self.frame.function
        for name, maybe_none in parts_of_arguments(node, function):
            if self.frame.names.get(name, NONE).kind is Kind.UNKNOWN:
                found = used(function, name, self.engine.layers(function.cls))
                if found.kind is Kind.TENSOR:
                    self.frame.names[name] = replace(found, maybe_none=maybe_none).because(f"`{name}`", node.lineno)

    def _augment(self, node: ast.AugAssign) -> None:
        old = self.value(node.target)
        new = operators.combine(old, self.value(node.value), node.op)
        if isinstance(node.target, ast.Name):
            kept = old.source if old.kind is Kind.TENSOR and new.kind is Kind.TENSOR else new.source
            self.frame.names[node.target.id] = replace(new, source=kept)

    def _if(self, node: ast.If) -> bool:
        self.value(node.test)
        truth = self.truth(node.test)
        if truth is not None:
            self.frame.bury(node.orelse if truth else node.body)
            self.narrow(node.test, truth)
            return self.run(node.body if truth else node.orelse)
        before = dict(self.frame.names)
        self.narrow(node.test, True)
        body_ends = self.run(node.body)
        after_body = self.frame.names
        self.frame.names = before
        self.narrow(node.test, False)
        else_ends = self.run(node.orelse)
        if body_ends and else_ends:
            return True
        if else_ends:
            self.frame.names = after_body
        elif not body_ends:
            self.frame.names = merged(after_body, self.frame.names)
        return False

    def _rounds(self) -> Iterator[None]:
        """Two, and one where loops stand so deep in loops that the rounds would multiply beyond reason."""
        self.loops += 1
        try:
            yield
            if self.loops <= _LOOPS:
                yield
        finally:
            self.loops -= 1

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        """Twice: what the first round leaves behind is what the second one meets."""
        element = self.element_of(self.value(node.iter))
        for _ in self._rounds():
            before = dict(self.frame.names)
            self.assign(node.target, element)
            self.run(node.body)
            self.frame.names = merged(before, self.frame.names)
        self.run(node.orelse)

    def _while(self, node: ast.While) -> None:
        for _ in self._rounds():
            before = dict(self.frame.names)
            self.value(node.test)
            if self.truth(node.test) is False:
                self.frame.bury(node.body)
                return
            self.narrow(node.test, True)
            self.run(node.body)
            self.frame.names = merged(before, self.frame.names)
        self.run(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
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
        before = dict(self.frame.names)
        body_ends = self.run(node.body) or self.run(node.orelse)
        after = self.frame.names
        ends = [body_ends]
        for handler in node.handlers:
            self.frame.names = merged(before, after) if not body_ends else dict(before)
            ends.append(self.run(handler.body))
            if not ends[-1]:
                after = merged(after, self.frame.names) if not all(ends[:-1]) else self.frame.names
        self.frame.names = after
        return self.run(node.finalbody) or all(ends)

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        before = dict(self.frame.names)
        after: dict[str, Value] | None = None
        for case in node.cases:
            self.frame.names = dict(before)
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.MatchAs) and part.name:
                    self.frame.names[part.name] = subject if part is case.pattern else self.element_of(subject)
            if case.guard:
                self.value(case.guard)
            if not self.run(case.body):
                after = self.frame.names if after is None else merged(after, self.frame.names)
        self.frame.names = merged(before, after) if after is not None else before

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        closure = {**self.frame.function.closure, **self.frame.names}
        function = FunctionInfo(node.name, node, self.frame.module, self.frame.function.cls, closure)
        self.frame.names[node.name] = Value(Kind.FUNCTION, function=function, name=node.name)


def merged(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    """What holds after either of two paths. A name bound on one path only is in doubt nowhere it can be read."""
    return {name: join(a[name], b[name]) if name in a and name in b else a.get(name) or b[name] for name in {**a, **b}}

"""Narrow what a name may be in the branch that a test leads to, and decide tests that are settled."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.engine.values import library
from exportlint.engine.values.abstract_value import NONE, SCALAR, UNKNOWN, Container, Tensor, Value, exactly
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from exportlint.engine.interpreter.environment import Environment


_NOT_TENSOR = frozenset(
    {"int", "float", "bool", "str", "list", "tuple", "dict", "set", "Mapping", "Sequence", "Module"}
)


_EQUALITIES = ast.Is | ast.IsNot | ast.Eq | ast.NotEq


class Narrowing:
    """The part of the evaluator that deals with tests."""

    env: Environment

    def truth(self, node: ast.expr) -> bool | None:
        """True or False where the code alone settles a test; None where it does not."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                inside = self.truth(inner)
                return None if inside is None else not inside
            case ast.BoolOp():
                return self.truth_of_parts(node)
            case ast.Compare() if (settled := self.truth_of_test(node)) is not None:
                return settled
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                return self._isinstance(self.env.believed(subject), classes)
            case ast.Call(args=[subject]) if self.env.module.dotted(node.func) == "torch.is_tensor":
                return self._isinstance(self.env.believed(subject), ast.Name("Tensor"))
        return self.env.believed(node).truth

    def truth_of_parts(self, node: ast.BoolOp) -> bool | None:
        stop = isinstance(node.op, ast.Or)
        truths = [self.truth(v) for v in node.values]
        if stop in truths:
            return stop
        return None if None in truths else not stop

    def truth_of_test(self, node: ast.Compare) -> bool | None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]) if isinstance(
                op, _EQUALITIES
            ):
                op = ast.Is() if isinstance(op, ast.Is | ast.Eq) else ast.IsNot()
                value = self.env.believed(left)
                if value.kind is Kind.NONE:
                    return isinstance(op, ast.Is)
                if is_object(value) or _is_number(value):
                    return isinstance(op, ast.IsNot) if not value.maybe_none else None
        return None

    def _isinstance(self, value: Value, classes: ast.expr) -> bool | None:
        names = {last_name(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
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
        """Note what a test shows about a name in the branch where it came out as `truth`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self.narrow(inner, not truth)
            case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
                for part in parts:
                    self.narrow(part, truth)
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]) if isinstance(
                op, _EQUALITIES
            ):
                self._narrow_none(left, isinstance(op, ast.Is | ast.Eq) is truth)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                self._narrow_class(subject, classes, truth)
            case ast.Call(args=[subject]) if self.env.module.dotted(test.func) == "torch.is_tensor":
                self._narrow_class(subject, ast.Name("Tensor"), truth)

    def _narrow_none(self, node: ast.expr, is_none: bool) -> None:
        key = _key(node)
        if key is None:
            return
        value = self.env.believed(node)
        if is_none:
            self.env.names[key] = NONE if value.kind is not Kind.UNKNOWN else value
        else:
            self.env.names[key] = value.without(Kind.NONE) or UNKNOWN

    def _narrow_class(self, node: ast.expr, classes: ast.expr, truth: bool) -> None:
        key, value = _key(node), self.env.believed(node)
        names = {last_name(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
        if key is None:
            return
        if truth and names == {"Tensor"}:
            self.env.names[key] = value.only(Kind.TENSOR) or exactly(Tensor(Source.INPUT))
        elif truth and names <= {"list", "tuple", "dict", "set", "Mapping", "Sequence"}:
            made = exactly(Container("dict" if "dict" in names else "list", source=value.source))
            self.env.names[key] = value.only(Kind.CONTAINER) or made
        elif truth and names <= {"int", "float", "bool", "str"}:
            self.env.names[key] = value.without(Kind.TENSOR, Kind.UNKNOWN) or SCALAR
        elif not truth and names == {"Tensor"} and value.kind is Kind.TENSOR:
            self.env.names[key] = value.without(Kind.TENSOR) or UNKNOWN


def is_object(value: Value) -> bool:
    """Certainly not None: a tensor, a function or class, or a question of torch's that every version answers."""
    if value.kind is Kind.TENSOR:
        return value.certain and not value.maybe_none
    return value.kind in {Kind.FUNCTION, Kind.CLASS} or library.is_question(value.name)


def _is_number(value: Value) -> bool:
    """A size, a number that was read, or a constant whose text is known."""
    known = value.kind in {Kind.SIZE, Kind.UNBACKED, Kind.SHAPE} or (value.kind is Kind.SCALAR and value.name)
    return bool(known and value.certain)


def _key(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.NamedExpr(target=ast.Name(id=name)):
            return name
    return None

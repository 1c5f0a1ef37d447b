"""What statements do to a list or `deque` of fixed length on self: it takes one in for one that goes, or turns."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from exportlint.rule.patterns import CONTAINER_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewriting.state.own_attribute import OwnAttribute


@dataclass(frozen=True)
class Move:
    """One move, of one statement or of two neighbours.

    taken    what comes in, in front (`at` is "first") or at the end ("last")
    turned   otherwise the source of the number of places that all move; None where the order is reversed
    dropped  the variable that is given what goes, from the other end
    """

    statements: tuple[ast.stmt, ...]
    taken: ast.expr | None = None
    at: str = ""
    turned: str | None = None
    dropped: str | None = None


@dataclass
class WindowMoves:
    """`bounded`: a `deque` that drops one by itself; `length`: how many it begins with, as source."""

    own: OwnAttribute
    bounded: bool
    length: str | None
    resets: tuple[ast.stmt, ...] = ()

    def all(self) -> list[Move] | None:
        """Those of all methods but `__init__`; None where something else changes the list there."""
        methods = [one for name, found in self.own.methods.items() if name != "__init__" for one in found]
        moves = [move for method in methods for move in self._in(method)]
        changed = [one for method in methods for one in ast.walk(method) if self._changes(one)]
        moved = {id(part) for move in moves for one in move.statements for part in ast.walk(one)}
        moved |= {id(part) for one in self.resets for part in ast.walk(one)}
        return moves if moves and all(id(one) in moved for one in changed) else None

    def _in(self, node: ast.AST) -> Iterator[Move]:
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(body, list):
                yield from self._pairs(body)
        for one in ast.iter_child_nodes(node):
            yield from self._in(one)

    def _pairs(self, body: list[ast.stmt]) -> Iterator[Move]:
        paired: set[int] = set()
        for (start, first), (end, second) in combinations(enumerate(body), 2):
            between = body[start + 1 : end]
            if paired & {id(first), id(second)} or any(map(self._may_read, between)):
                continue
            if (move := self._pair(first, second, near=not between)) is not None:
                paired |= {id(first), id(second)}
                yield move
        for one in body:
            if id(one) not in paired and (move := self._single(one)) is not None:
                yield move

    def _may_read(self, node: ast.stmt) -> bool:
        calls = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr in self.own.methods}
        return self.own.mentions(node) or any(
            self.own.mentions(method) for name in calls for method in self.own.methods[name]
        )

    def _pair(self, first: ast.stmt, second: ast.stmt, *, near: bool) -> Move | None:
        """`old = pop(0)` and `append(x)`; neighbours in any order."""
        for taking, dropping in ((first, second), (second, first)):
            taken, dropped = self._added(taking), self._dropped(dropping)
            if self.bounded or taken is None or dropped is None or taken[1] == dropped[0]:
                continue
            value, (_, name) = taken[0], dropped
            reads = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            if taking is second and isinstance(value, ast.Name) and value.id == name:
                return Move((first, second), turned="-1" if dropped[0] == "first" else "1", dropped=name)
            if taking is first and near and name not in reads:
                return Move((first, second), *taken, dropped=name)
            if taking is second and not self.own.mentions(value):
                return Move((first, second), *taken, dropped=name)
        return None

    def _single(self, statement: ast.stmt) -> Move | None:
        match statement:
            case ast.Assign(targets=[target], value=value) if self.own.is_own(target):
                return self._replaced(statement, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="reverse"), args=[])) if self._is(owner):
                return Move((statement,))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="rotate"), args=args)) if self._is(owner):
                return Move((statement,), turned=ast.unparse(args[0]) if args else "1")
        added = self._added(statement)
        if added is None:
            return None
        end = self._popped(added[0])
        if end is not None and end != added[1]:
            return Move((statement,), turned="-1" if end == "first" else "1")
        return Move((statement,), *added) if self.bounded and not self._changes_within(added[0]) else None

    def _added(self, statement: ast.stmt) -> tuple[ast.expr, str] | None:
        """What it adds, and at which end."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=args, keywords=[])):
                match method, args:
                    case "append", [value] if self._is(owner):
                        return value, "last"
                    case ("appendleft", [value]) | ("insert", [ast.Constant(value=0), value]) if self._is(owner):
                        return value, "first"
        return None

    def _dropped(self, statement: ast.stmt) -> tuple[str, str | None] | None:
        """From which end it drops one, and the variable that is given it."""
        end: str | None = None
        given: str | None = None
        match statement:
            case ast.Expr(value=value):
                end = self._popped(value)
            case ast.Assign(targets=[ast.Name() as target], value=value):
                end, given = self._popped(value), target.id
            case ast.Delete(targets=[ast.Subscript(value=owner, slice=index)]) if self._is(owner):
                end = _end(index)
            case ast.If(test=test, body=[only], orelse=[]) if self._is_over(test) and not isinstance(only, ast.Assign):
                return self._dropped(only)
        return (end, given) if end is not None else None

    def _is_over(self, test: ast.expr) -> bool:
        """`len(self.window) > n`."""
        match test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[owner]), ops=[ast.Gt()], comparators=[most]
            ) if self._is(owner):
                return self.length is not None and self.own.as_in_init(most) == self.length
        return False

    def _popped(self, value: ast.expr) -> str | None:
        """From which end it takes one out."""
        match value:
            case ast.Call(func=ast.Attribute(value=owner, attr="popleft"), args=[]) if self._is(owner):
                return "first"
            case ast.Call(func=ast.Attribute(value=owner, attr="pop"), args=args) if self._is(owner):
                return _end(args[0]) if args else "last"
        return None

    def _replaced(self, statement: ast.stmt, value: ast.expr) -> Move | None:
        """`self.window = self.window[1:] + [x]`."""
        match value:
            case ast.Subscript() if self._slice(value) == "::-1":
                return Move((statement,))
            case ast.BinOp(left=ast.Subscript() as left, op=ast.Add(), right=ast.Subscript() as right):
                turns = {("1:", ":1"): "-1", ("-1:", ":-1"): "1"}
                turned = turns.get((self._slice(left), self._slice(right)))
                return Move((statement,), turned=turned) if turned else None
            case (
                ast.BinOp(left=ast.Subscript() as rest, op=ast.Add(), right=ast.List(elts=[new]))
                | ast.List(elts=[ast.Starred(value=ast.Subscript() as rest), new])
            ) if self._slice(rest) == "1:":
                return Move((statement,), new, "last")
            case (
                ast.BinOp(left=ast.List(elts=[new]), op=ast.Add(), right=ast.Subscript() as rest)
                | ast.List(elts=[new, ast.Starred(value=ast.Subscript() as rest)])
            ) if self._slice(rest) == ":-1":
                return Move((statement,), new, "first")
        return None

    def _slice(self, node: ast.Subscript) -> str:
        return ast.unparse(node.slice) if self._is(node.value) else ""

    def _changes(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                return method in CONTAINER_METHODS and self._is(owner)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return self._is(node)
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                return self._is(owner)
        return False

    def _changes_within(self, node: ast.AST) -> bool:
        return any(map(self._changes, ast.walk(node)))

    def _is(self, node: ast.AST) -> bool:
        return self.own.is_own(node)


def _end(index: ast.expr) -> str | None:
    return {"0": "first", "-1": "last"}.get(ast.unparse(index))

"""A list or `deque` of fixed length on self, of tensors or of numbers, as one registered buffer."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.rewriting.containers.chosen_part import chosen_parts
from exportlint.rewriting.containers.window_moves import WindowMoves
from exportlint.rewriting.state.registered import Registered, buffer_line
from exportlint.rule.editing.repair import Elsewhere, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewriting.containers.window_moves import Move
    from exportlint.rewriting.state.own_attribute import OwnAttribute
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_AS_TENSOR = frozenset({"len", "list", "tuple", "sum", "enumerate", "zip", "sorted", "min", "max"})


@dataclass
class WindowBuffer:
    """`self.frames = deque([torch.zeros(3)] * 4, maxlen=4)`, which takes a frame in with each call."""

    code: Code
    own: OwnAttribute

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where the list may be of another length than it begins with, or holds something else."""
        definition, elements = self.own.definition, self._elements
        moves = self._moves(elements) if elements is not None else None
        begins = self._begins(elements) if elements is not None else None
        if definition is None or begins is None or not moves or not self._fit(moves):
            return None
        chosen = chosen_parts(self.code, self.own) if self._of_numbers else []
        if chosen is None:
            return None
        moved = [change for move in moves for change in self._moved(move)]
        moved += [Elsewhere(one, f"self.{self.own.name}.copy_({text})") for one, text in self._resets]
        taken = [one.node for one in (*moved, *chosen)]
        return (
            Elsewhere(definition, buffer_line(self.own.name, begins)),
            *moved,
            *(one for one in chosen if not _within(one.node, [change.node for change in moved])),
            *(one for one in self._reads(moves) if not _within(one.node, taken)),
            ModuleImport("torch"),
        )

    def _moves(self, elements: ast.expr) -> list[Move] | None:
        return WindowMoves(self.own, self._bounded, _length(elements), tuple(one for one, _ in self._resets)).all()

    @cached_property
    def _resets(self) -> tuple[tuple[ast.stmt, str], ...]:
        """Statements that forward never runs, which set it to as many elements, and what they set it to."""
        run = {id(one) for method in self.own.run for one in ast.walk(method)}
        length = _length(self._elements) if self._elements is not None else None
        found = []
        for one in self.own.stores:
            elements = self._elements_of(one.value) if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
            text = self._begins(elements) if elements is not None and length and _length(elements) == length else None
            if id(one) not in run and text is not None:
                found.append((one, text))
        return tuple(found)

    def _fit(self, moves: list[Move]) -> bool:
        """A list of numbers only turns, for what comes in may be anything."""
        return not self._of_numbers or all(move.taken is None for move in moves)

    @cached_property
    def _elements(self) -> ast.expr | None:
        """The display or comprehension that it begins with."""
        return self._elements_of(self.own.defined)

    def _elements_of(self, value: ast.expr | None) -> ast.expr | None:
        match value:
            case ast.Call(func=function, args=[elements, *_]) if last_name(function) in {"deque", "list"}:
                most = self._most
                return elements if most is None or _length(elements) == self.own.as_in_init(most) else None
            case ast.List() | ast.ListComp() | ast.BinOp():
                return value
        return None

    @property
    def _most(self) -> ast.expr | None:
        """The `maxlen`."""
        match self.own.defined:
            case ast.Call(args=[_, most]):
                return most
            case ast.Call(keywords=[ast.keyword(arg="maxlen", value=most)]):
                return most
        return None

    @property
    def _bounded(self) -> bool:
        return self._most is not None

    def _begins(self, elements: ast.expr) -> str | None:
        text = self._source(elements)
        if self._of_numbers:
            exact = ", dtype=torch.float64" if "." in text or "e" in text else ""
            return f"torch.tensor({text}{exact})"
        element = _element(elements)
        is_tensor = element is not None and Registered(self.code, self.own).first_value(element) == self._source(
            element
        )
        return f"torch.stack({text})" if is_tensor and isinstance(element, ast.Call) else None

    @cached_property
    def _of_numbers(self) -> bool:
        match self._elements:
            case ast.List(elts=[_, *_] as elements):
                return all(isinstance(one, ast.Constant) and type(one.value) in {int, float} for one in elements)
        return False

    def _moved(self, move: Move) -> Iterator[Elsewhere]:
        name, first, rest = f"self.{self.own.name}", move.statements[0], move.statements[1:]
        if move.taken is None:
            turn = f"torch.roll({name}, {move.turned}, 0)" if move.turned else f"torch.flip({name}, (0,))"
            text = f"{name}.copy_({turn})"
        else:
            new = f"({self._source(move.taken)})" if _is_compound(move.taken) else self._source(move.taken)
            kept, new = f"{name}[{'1:' if move.at == 'last' else ':-1'}]", f"{new}.unsqueeze(0)"
            text = f"{name}.copy_(torch.cat([{', '.join([kept, new] if move.at == 'last' else [new, kept])}]))"
        if move.dropped is not None:
            at_first = move.at == "last" or move.turned == "-1"
            yield Elsewhere(first, f"{move.dropped} = {name}[{0 if at_first else -1}].clone()")
            yield from (Elsewhere(one, text) for one in rest)
        elif rest and move.statements[-1] is _taking(move):
            yield Elsewhere(first, "")
            yield from (Elsewhere(one, text) for one in rest)
        else:
            yield Elsewhere(first, text)
            yield from (Elsewhere(one, "") for one in rest)

    def _reads(self, moves: list[Move]) -> Iterator[Elsewhere]:
        """A read before a move keeps what it read; one that needs a list gets one."""
        for method in self.own.run:
            ends = [move.statements[-1].lineno for move in moves if _contains(method, move.statements[-1])]
            parents = {child: node for node in ast.walk(method) for child in ast.iter_child_nodes(node)}
            for read in self.own.reads_in(method):
                name = self._source(read)
                kept = any(read.lineno < end for end in ends) or _is_result(read, parents)
                copied = f"{name}.clone()" if kept else name
                text = copied if self._serves(read, parents) else f"list({copied})"
                if text != name:
                    yield Elsewhere(read, text)

    def _serves(self, read: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
        """Does a tensor serve there, of which rows are taken?"""
        match parents.get(read):
            case ast.For(iter=one) | ast.comprehension(iter=one):
                return one is read
            case ast.Subscript(slice=index):
                return not isinstance(index, ast.Slice)
            case ast.Call(func=ast.Name(id=name)):
                return name in _AS_TENSOR
            case ast.Starred():
                return True
        return False

    def _source(self, node: ast.AST) -> str:
        return Registered(self.code, self.own).source(node)


def _element(elements: ast.expr) -> ast.expr | None:
    match elements:
        case ast.List(elts=[first, *_]) | ast.BinOp(left=ast.List(elts=[first]), op=ast.Mult()):
            return first
        case ast.ListComp(elt=first) | ast.GeneratorExp(elt=first):
            return first
    return None


def _length(elements: ast.expr) -> str | None:
    """How many there are, as source."""
    match elements:
        case ast.List(elts=parts):
            return str(len(parts))
        case ast.BinOp(left=ast.List(elts=[_]), op=ast.Mult(), right=times):
            return ast.unparse(times)
        case ast.ListComp(
            generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[most]), ifs=[])]
        ):
            return ast.unparse(most)
    return None


def _is_compound(node: ast.expr) -> bool:
    return not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _is_result(read: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is it, or a part of it, returned as it is?"""
    now: ast.AST | None = parents.get(read)
    while isinstance(now, ast.Subscript | ast.Tuple | ast.List | ast.Dict):
        now = parents.get(now)
    return isinstance(now, ast.Return)


def _taking(move: Move) -> ast.stmt:
    """The statement in which what comes in is."""
    return next(one for one in move.statements if move.taken is not None and _contains(one, move.taken))


def _contains(node: ast.AST, part: ast.AST) -> bool:
    return any(one is part for one in ast.walk(node))


def _within(node: ast.AST, whole: Sequence[ast.AST]) -> bool:
    return any(_contains(one, node) for one in whole)

"""Put state that a class keeps in plain attributes into registered buffers, decisions on it included."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.rewriting.containers.recurrent_state import recurrent_zeros
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered, sizes
from exportlint.rewriting.state.state_as_names import OWN, StateAsNames
from exportlint.rewriting.state.state_branches import state_branches
from exportlint.rule.editing.repair import Change, Elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import libcst as cst

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_FILLS = {"zeros": "torch.zeros", "new_zeros": "torch.zeros", "zeros_like": "torch.zeros",
          "ones": "torch.ones", "new_ones": "torch.ones", "ones_like": "torch.ones"}  # fmt: skip


def state_in_buffers(code: Code, node: cst.CSTNode, name: str) -> tuple[AnyChange, ...] | None:
    """The changes for the attribute, and for those that are set where it decides; None where there is no way."""
    if code.cls is None or not code.cls.is_module or code.function is None:
        return None
    names = _together(code, name)
    parts = [_StatePart(code, OwnAttribute(code.cls, one)) for one in names]
    changes = [part.registered.changes() for part in parts]
    if any(one is None for one in changes) or any(_decides_elsewhere(code, part.own) for part in parts):
        return None
    states = frozenset({f"{OWN}{one}" for one in names} | {f"{OWN}{part.flag}" for part in parts if part.flag})
    flags = {f"{OWN}{part.own.name}": f"{OWN}{part.flag}" for part in parts if part.flag}
    dropped = frozenset(start.lineno for part in parts for start in part.starts)
    branches = state_branches(StateAsNames(code, states, flags, _root(code, node), dropped))
    if branches is None:
        return None
    plain = [change for one in changes for change in one or ()]
    begun = [change for part in parts for change in part.begun()]
    return _merged(code, branches, [one for one in (*plain, *begun) if not _inside(code, one, branches)])


def _merged(code: Code, branches: Sequence[Change], others: Sequence[AnyChange]) -> tuple[AnyChange, ...]:
    """A choice that is a part of a statement that changes too, as in `self.h = x if self.h is None else self.h + x`, is
    written into that."""
    left = list(branches)
    merged: list[AnyChange] = []
    for one in others:
        text = one.text if isinstance(one, Elsewhere) else ""
        for branch in [choice for choice in left if isinstance(one, Elsewhere) and _is_part(code, choice, one)]:
            text = text.replace(code.source_of(branch.node), branch.text, 1)
            left.remove(branch)
        merged.append(Elsewhere(one.node, text) if isinstance(one, Elsewhere) else one)
    return (*left, *merged)


def _is_part(code: Code, choice: Change, whole: Elsewhere) -> bool:
    place, node = code.place(choice.node), whole.node
    starts = (node.lineno, node.col_offset + 1) <= (place.line, place.column)
    return starts and (place.end_line, place.end_column) <= (node.end_lineno or 0, (node.end_col_offset or 0) + 1)


def _together(code: Code, name: str) -> tuple[str, ...]:
    """The attribute, and those that are set under decisions on it."""
    assert code.cls is not None and code.function is not None  # noqa: S101, PT018 - the caller asked
    found = [name]
    for one in found:
        own = OwnAttribute(code.cls, one)
        for node in ast.walk(code.function.node):
            if isinstance(node, ast.If) and (own.mentions(node.test) or any(True for _ in own.stores_in(node))):
                for other in (*_stored(node), *_asked(node.test)):
                    defined = OwnAttribute(code.cls, other)
                    if other not in found and defined.definition is not None and defined.stores:
                        found.append(other)
    return tuple(found)


def _stored(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self":
            yield one.attr


def _asked(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self":
            yield one.attr


def _decides_elsewhere(code: Code, own: OwnAttribute) -> bool:
    """Does another method that forward runs branch on it?"""
    others = [method for method in own.run if code.function is None or method is not code.function.node]
    tests = (
        one.test for method in others for one in ast.walk(method) if isinstance(one, ast.If | ast.IfExp | ast.While)
    )
    return any(own.mentions(test) for test in tests)


@dataclass
class _StatePart:
    """One attribute, and how it begins."""

    code: Code
    own: OwnAttribute

    @property
    def registered(self) -> Registered:
        kept = tuple(one for start in self.starts for one in start.body)
        return Registered(self.code, self.own, self.first if self._begins_empty else None, self.flag, kept)

    @cached_property
    def _begins_empty(self) -> bool:
        return isinstance(self.own.defined, ast.Constant) and self.own.defined.value is None

    @cached_property
    def flag(self) -> str | None:
        """Needed where something asks whether it is None, but to begin with a constant."""
        begun = {id(start.test) for start in self.starts}
        tests = [one.test for one in self._tests() if id(one.test) not in begun]
        return f"{self.own.name}_set" if self._begins_empty and any(map(self._asks_none, tests)) else None

    def _tests(self) -> Iterator[ast.If | ast.IfExp]:
        for method in self.own.run:
            yield from (one for one in ast.walk(method) if isinstance(one, ast.If | ast.IfExp))

    def _asks_none(self, node: ast.expr) -> bool:
        return any(
            isinstance(one, ast.Compare) and self.own.is_own(one.left) and isinstance(one.ops[0], ast.Is | ast.IsNot)
            for one in ast.walk(node)
        )

    @cached_property
    def starts(self) -> tuple[ast.If, ...]:
        """`if self.h is None: self.h = torch.zeros(…)`."""
        ifs = (one for one in self._tests() if isinstance(one, ast.If)) if self._begins_empty else ()
        return tuple(one for one in ifs if self._is_start(one))

    def _is_start(self, node: ast.If) -> bool:
        match node:
            case ast.If(test=test, body=[ast.Assign(targets=[target], value=ast.Call() as made)], orelse=[]):
                first = test.values[0] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else test
                is_none = (
                    isinstance(first, ast.Compare) and isinstance(first.ops[0], ast.Is) and self.own.is_own(first.left)
                )
                return is_none and self.own.is_own(target) and last_name(made.func) in _FILLS
        return False

    def begun(self) -> Iterator[Elsewhere]:
        for start in self.starts:
            if isinstance(start.test, ast.BoolOp):
                rest = " or ".join(self.registered.source(one) for one in start.test.values[1:])
                yield Elsewhere(start.test, rest)
            else:
                yield Elsewhere(start, "")

    @property
    def first(self) -> str | None:
        """A tensor of the size that forward sets, as far as a sample shows it."""
        values = [one for store in self.own.stores if store.value is not None for one in _sides(store.value)]
        made = [start.body[0].value for start in self.starts if isinstance(start.body[0], ast.Assign)]
        dims = next((d for one in (*made, *values) if (d := sizes(self.code.sketch.value(one))) is not None), None)
        if dims is None:
            zeros = recurrent_zeros(self.code, self.own)
            return zeros[0] if len(zeros) == 1 else None
        maker = next((_FILLS[last_name(one.func)] for one in made if isinstance(one, ast.Call)), "torch.zeros")
        dtype = next((ast.unparse(w.value) for v in (*made, *values) for w in _words(v) if w.arg == "dtype"), "")
        kind = f", dtype={dtype}" if dtype.startswith("torch.") else ""
        return f"{maker}({', '.join(map(str, dims)) or '()'}{kind})"


def _sides(node: ast.expr) -> list[ast.expr]:
    """The expression, and what it chooses from."""
    return [node, *_sides(node.body), *_sides(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def _words(node: ast.expr) -> list[ast.keyword]:
    return node.keywords if isinstance(node, ast.Call) else []


def _root(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    while (above := code.parent(node)) is not None:
        node = above
    return node


def _inside(code: Code, change: AnyChange, branches: tuple[Change, ...]) -> bool:
    """Is it a part of what a branch is replaced by?"""
    if not isinstance(change, Elsewhere):
        return False
    line, end = change.node.lineno, change.node.end_lineno or change.node.lineno
    places = [code.place(one.node) for one in branches]
    return any(
        p.line <= line and end <= p.end_line and (p.line < p.end_line or p.column <= change.node.col_offset + 1)
        for p in places
    )

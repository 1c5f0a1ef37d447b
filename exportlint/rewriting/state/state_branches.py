"""Decisions on state, once that is in buffers: both sides are computed, and one is selected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.selection import _after, _Selecting, _Side, _sides, _where, selected_expression
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rewriting.state.state_as_names import OWN
from exportlint.rewriting.state.state_numbers import TensorCalls
from exportlint.rule.editing.repair import Change, ModuleImport
from exportlint.rule.patterns import called, flat_targets, root_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewriting.state.state_as_names import StateAsNames
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_WRITE = re.compile(rf"({OWN}\w+) = (.*)", re.DOTALL)


def state_branches(view: StateAsNames) -> tuple[Change, ...] | None:
    """Of a whole function; None where one of its decisions on state cannot be made by a selection."""
    found: list[Change] = []
    for node in _decisions(view, view.tree):
        changes = _changes(view, node)
        if changes is None:
            return None
        found += [_at_origin(view, change) for change in changes if isinstance(change, Change)]
    return tuple(found)


def _changes(view: StateAsNames, node: cst.If | cst.IfExp | cst.Call) -> tuple[AnyChange, ...] | None:
    match node:
        case cst.If():
            return _of_if(view, node)
        case cst.IfExp():
            return _of_choice(view, node)
    text = node.visit(TensorCalls(view))
    return (Change(node, view.source_of(text)), ModuleImport("torch")) if isinstance(text, cst.CSTNode) else None


def _decisions(view: StateAsNames, node: cst.CSTNode) -> Iterator[cst.If | cst.IfExp | cst.Call]:
    """The outermost ones, and calls of Python that ask for a number."""
    if isinstance(node, cst.If) and view.code.place(view.origin[id(node)]).line in view.dropped:
        return
    if isinstance(node, cst.If | cst.IfExp | cst.Call) and _decides(view, node):
        yield node
    else:
        for child in node.children:
            yield from _decisions(view, child)


def _decides(view: StateAsNames, node: cst.If | cst.IfExp | cst.Call) -> bool:
    match node:
        case cst.If():
            return any(map(view.asks, _tests(node)))
        case cst.IfExp():
            return view.asks(node.test)
    return TensorCalls(view).concerns(node)


def _tests(node: cst.If) -> Iterator[cst.BaseExpression]:
    now: cst.CSTNode | None = node
    while isinstance(now, cst.If):
        yield now.test
        now = now.orelse


def _of_if(view: StateAsNames, node: cst.If) -> tuple[AnyChange, ...] | None:
    sides = list(_sides(view, node))
    if not sides or sides[0].test is None:
        return None
    if any(side.block.returned for side in sides) and _writes_after(view, node):
        return None  # a call that returned early must not reach these
    plain = [_Side(side.test and _plain(side.test), side.block) for side in sides]
    selecting = _StateSelecting(view, node, plain, view.flags)
    return selecting.changes() if selecting.flags_follow else None


def _writes_after(view: StateAsNames, node: cst.If) -> bool:
    rest = [one for line in _after(view, node) for one in every(line)]
    targets = [target for one in rest for target in flat_targets(one)]
    return any(root_name(target) in {*view.states, "self"} for target in targets) or any(
        isinstance(one, cst.Call) and (called(one) or "").endswith("_") for one in rest
    )


def _of_choice(view: StateAsNames, node: cst.IfExp) -> tuple[AnyChange, ...] | None:
    changes = selected_expression(view, node)
    return changes and tuple(Change(one.node, _plain(one.text)) for one in changes if isinstance(one, Change))


def _plain(test: str) -> str:
    """Without `.bool()` of a flag."""
    return re.sub(rf"({OWN}\w+)\.bool\(\)", r"\1", test)


class _StateSelecting(_Selecting):
    """State that a side sets is written where the others leave it as it was."""

    def __init__(self, code: Code, node: cst.If, sides: Sequence[_Side], flags: Mapping[str, str]) -> None:
        super().__init__(code, node, sides)
        self._set = {name: flags[name] for name in self.names if name in flags}
        fresh = self._fresh
        self._fresh = lambda name: fresh(name.removeprefix(OWN).lstrip("_"))

    def is_needed(self, name: str) -> bool:
        return name.startswith(OWN) or super().is_needed(name)

    @property
    def flags_follow(self) -> bool:
        """Is what begins with None set just where it was None?"""
        return all(self._follows(name, flag) for name, flag in self._set.items())

    def _follows(self, name: str, flag: str) -> bool:
        first, *rest = self.sides
        otherwise = len(rest) == 1 and rest[0].test is None and name not in first.block.names
        return first.test == f"torch.logical_not({flag})" or (first.test == flag and otherwise)

    def _instead(self, lines: Sequence[str]) -> tuple[AnyChange, ...]:
        written = [self._written(line) for line in lines]
        last = [written.pop()] if written[-1].startswith("return ") else []
        return super()._instead([*written, *(f"{flag}.fill_(True)" for flag in self._set.values()), *last])

    def _written(self, line: str) -> str:
        match = _WRITE.fullmatch(line)
        if match is None:
            return line
        name, value = match.groups()
        test = self.sides[0].test
        for flag, asked in (("True", f"torch.logical_not({name})"), ("False", name)):
            if test == asked and re.fullmatch(
                rf"torch\.where\((condition\w*|{re.escape(asked)}), {flag}, {re.escape(name)}\)", value
            ):
                return f"{name}.fill_({flag})"
        return f"{name}.copy_({value})"

    def _laid_out(self, sides: Sequence[_Side]) -> tuple[list[str | None], list[str], list[dict[str, str]]]:
        conditions, lines, held = super()._laid_out(sides)
        for index, line in enumerate(lines):
            if re.fullmatch(rf"\w+ = {OWN}\w+", line):
                lines[index] = f"{line}.clone()"  # it is asked again after a write
        lines, held = _constants_inlined(lines, held)
        if self.returned:
            lines += self._writes(sides, conditions, held)
        return conditions, lines, held

    def _writes(
        self, sides: Sequence[_Side], conditions: Sequence[str | None], held: Sequence[dict[str, str]]
    ) -> Iterator[str]:
        """What sides that return set first."""
        named = [_Side(test, side.block) for test, side in zip(conditions, sides, strict=True)]
        named += [_Side(None, StraightLine(()))] if conditions[-1] else []
        for name in self.names:
            if name.startswith(OWN):
                values = [now.get(name, name) for now in held]
                yield f"{name} = {_where(named, [*values, name][: len(named)])}"


def _constants_inlined(lines: Sequence[str], held: Sequence[dict[str, str]]) -> tuple[list[str], list[dict[str, str]]]:
    """`warm_if = True` is needed nowhere by that name."""
    matches = (re.fullmatch(r"(\w+) = (True|False|-?[\d.]+)", line) for line in lines)
    constants = {match[1]: match[2] for match in matches if match}
    kept = [line for line in lines if line.partition(" = ")[0] not in constants]
    return kept, [{name: constants.get(now, now) for name, now in one.items()} for one in held]


def _at_origin(view: StateAsNames, change: Change) -> Change:
    text = re.sub(rf"\b{OWN}(\w+)", r"self.\1", change.text)
    return Change(view.origin[id(change.node)], text, change.where)

"""State becomes a registered buffer that is written in place; what only others read is left out of the export."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite, dotted, flat_targets
from exportlint.rewriting.containers.recurrent_state import pair_in_buffers
from exportlint.rewriting.containers.running_totals import RunningTotals
from exportlint.rewriting.containers.window_buffer import WindowBuffer
from exportlint.rewriting.containers.window_totals import WindowTotals
from exportlint.rewriting.made_once.first_call import written_in_first_call
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.state.computed_names import ComputedNames
from exportlint.rewriting.state.held_tensors import HeldTensors
from exportlint.rewriting.state.helper_module import helper_module
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.recomputed import recomputed
from exportlint.rewriting.state.registered import Registered
from exportlint.rewriting.state.removed_attribute import removed_attribute
from exportlint.rewriting.state.state_in_buffers import state_in_buffers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange

_DEEP = 2


class StateInBuffers(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadCollectedForTrainer":
                if (found := left_out(self.code, node)) is not None:
                    yield found
            case "BadWarmUpFlag" if (removed := removed_attribute(self.code, node)) is not None:
                yield Rewrite("keep in a buffer whether it is there", removed)
            case "BadSetattr" if isinstance(node, cst.Call):
                yield from self._computed(node)
            case "BadReassignedBuffer":
                yield from self._in_place(node)
            case "BadWarmUpFlag" if (filled := self._first(node)) is not None:
                yield Rewrite("fill them in every call, and keep them after the first", filled)
            case _:
                if case in {"BadFilledBuffer", "BadLazyCache"} and (found := recomputed(self.code, node)) is not None:
                    yield found
                yield from self._registered(node)

    def _first(self, node: cst.CSTNode) -> tuple[AnyChange, ...] | None:
        names = list(_own_names(node))
        return written_in_first_call(self.code.cls, names[0]) if names and self.code.cls else None

    def _computed(self, node: cst.Call) -> Iterator[Rewrite]:
        if self.code.cls is None or not self.code.cls.is_module or len(node.args) < _DEEP:
            return
        name = ast.parse(self.source(node.args[1].value), mode="eval").body
        if (changes := ComputedNames(self.code, name).changes()) is not None:
            yield Rewrite("keep them in registered buffers", changes)

    def _in_place(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                text = f"{self.source(target)}.copy_({self.source(value)})"
                yield Rewrite("write the buffer in place", (Change(node, text),))

    def _registered(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        if (part := self._in_part(node)) is not None:
            yield Rewrite("keep it in a registered buffer", part)
            return
        if (helper := helper_module(self.code)) is not None:
            yield Rewrite("make a module of it, with registered buffers", helper)
            return
        for name in _own_names(node):
            changes = self._window(name) or self._totals(name)
            if changes is None and not isinstance(node, cst.Call):
                changes = self._pair(name) or state_in_buffers(self.code, node, name) or self._held(name)
            if changes is not None:
                size = " of the example's size" if self._begins_empty(name) else ""
                yield Rewrite(f"keep it in a registered buffer{size}", changes)

    def _begins_empty(self, name: str) -> bool:
        defined = OwnAttribute(self.code.cls, name).defined if self.code.cls else None
        return isinstance(defined, ast.Constant) and defined.value is None

    def _pair(self, name: str) -> tuple[AnyChange, ...] | None:
        cls = self.code.cls
        return pair_in_buffers(self.code, OwnAttribute(cls, name)) if cls is not None and cls.is_module else None

    def _held(self, name: str) -> tuple[AnyChange, ...] | None:
        cls = self.code.cls
        return HeldTensors(self.code, OwnAttribute(cls, name)).changes() if cls is not None and cls.is_module else None

    def _window(self, name: str) -> tuple[AnyChange, ...] | None:
        cls = self.code.cls
        return WindowBuffer(self.code, OwnAttribute(cls, name)).changes() if cls is not None and cls.is_module else None

    def _totals(self, name: str) -> tuple[AnyChange, ...] | None:
        cls = self.code.cls
        if cls is None or not cls.is_module:
            return None
        own = OwnAttribute(cls, name)
        return RunningTotals(self.code, own).changes() or WindowTotals(self.code, own).changes()

    def _in_part(self, node: cst.CSTNode) -> tuple[AnyChange, ...] | None:
        """`self.cell.hidden = …`, where the class of the cell is of this file."""
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute(value=owner, attr=cst.Name(value=name)) as target)]
            ):
                cls = self.code.value(owner).cls
                if dotted(owner) == "self" or cls is None or not cls.is_module or cls.module is not self.code.module:
                    return None
                changes = Registered(self.code, OwnAttribute(cls, name)).changes()
                written = Change(node, f"{self.source(target)}.copy_({self.source(node.value)})")
                return changes and (*changes, written)
        return None


def _own_names(node: cst.CSTNode) -> Iterator[str]:
    """The "state" of `self.state = …`, of `self.state[0] += 1`, `self.state.hidden = …` and `self.state.append(…)`."""
    grown = [node.func.value] if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else []
    for target in (*flat_targets(node), *grown):
        whole = target
        while isinstance(whole, cst.Subscript):
            whole = whole.value
        name = dotted(whole) or ""
        if name.startswith("self.") and name.count(".") <= _DEEP:
            yield name.split(".")[1]

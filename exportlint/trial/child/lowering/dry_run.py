"""Ask a lowering, before it compiles, what its target would do with each operator; find the lines that need them."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.trial.child.torch_private.operators import schema_of
from exportlint.trial.child.torch_private.tensors import unplaced_sizes
from exportlint.trial.protocol.frames import Frame, is_user_path, message_frames
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.operator_support import (
    MISSING,
    SUPPORT,
    SUPPORTED,
    OperatorRow,
    OperatorSupport,
)
from exportlint.trial.protocol.torch_messages import operators_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import torch

    from exportlint.lowering.backend import Lowering, OperatorUse


def operator_support(lowering: Lowering, program: torch.export.ExportedProgram) -> OperatorSupport:
    """What the target says of each operator; nothing where it cannot say, which is no failure of the model."""
    with _sizes_kept(program):
        try:
            uses = list(lowering.operators(program))
        except Exception:  # noqa: BLE001 - what is in the way shows again, with its reason, when it compiles
            return OperatorSupport()
        places = _Places(program)
        return OperatorSupport(tuple(_row(use, places.of(use)) for use in uses if use.support in SUPPORT))


@contextlib.contextmanager
def _sizes_kept(program: torch.export.ExportedProgram) -> Iterator[None]:
    """To decompose a program makes the sizes that are read from data anew, and torch refuses to decompose it again, as
    compiling does, while some of them wait for their tensor."""
    waiting = unplaced_sizes([node.meta.get("val") for node in program.graph.nodes])
    before = list(waiting)
    try:
        yield
    finally:
        waiting[:] = before


def _row(use: OperatorUse, place: Frame | None) -> OperatorRow:
    path, line = (place.path, place.line) if place else (None, None)
    return OperatorRow(use.name, use.count, use.support, path, line, use.reason)


class _Places:
    """The lines of a program's nodes, and those of its decompositions where one is asked for that only they have."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self._program = program

    def of(self, use: OperatorUse) -> Frame | None:
        """The innermost line of the model that needs the operator first: by its nodes, else by its name."""
        for nodes in self._graphs():
            named = {node.name: node for node in nodes}
            own = [named[name] for name in use.nodes if name in named]
            same = [node for node in nodes if schema_name(use.name) == _schema(node)]
            if found := next(_user_frames(own if any(map(_user_frame, own)) else same), None):
                return found
        return None

    def _graphs(self) -> Iterator[list[torch.fx.Node]]:
        yield list(self._program.graph.nodes)
        yield self._decomposed

    @cached_property
    def _decomposed(self) -> list[torch.fx.Node]:
        with contextlib.suppress(Exception):  # compiling meets the same reason, and tells it
            return list(self._program.run_decompositions().graph.nodes)
        return []


def _user_frames(nodes: Iterable[torch.fx.Node]) -> Iterator[Frame]:
    return (frame for node in nodes if (frame := _user_frame(node)))


def _user_frame(node: torch.fx.Node) -> Frame | None:
    frames = message_frames(node.meta.get("stack_trace") or "")
    return next((frame for frame in reversed(frames) if is_user_path(frame.path)), None)


def _schema(node: torch.fx.Node) -> str | None:
    return getattr(schema_of(node.target), "name", None)


def schema_name(operator: str) -> str | None:
    """`aten.cumsum.default`, or `aten::cumsum`, -> `aten::cumsum`."""
    return next(iter(operators_named(operator, any_case=True)), None)


def told_missing(
    support: OperatorSupport, observations: Sequence[Observation], *, compiled: bool
) -> Iterator[Observation]:
    """A note for each missing operator that no failure is about. `compiled`: was compiling tried?"""
    for row in support.of(MISSING):
        if not any(_is_about(seen, row) for seen in observations):
            fields = {"operator": row.name, "count": row.count, "reason": row.reason, "compiled": compiled}
            note = Observation("note", details={"note": "missing-operator", **fields})
            yield note.at([Frame(row.path, row.line, "", "")] if row.path and row.line else ())


def _is_about(seen: Observation, row: OperatorRow) -> bool:
    """Does a failure name the operator, or stand at its line?"""
    words = f"{seen.text} {seen.details.get('summary', '')}"
    named = operators_named(words, any_case=True)
    here = row.path is not None and (seen.user_path, seen.user_line) == (row.path, row.line)
    return here or schema_name(row.name) in named


def as_it_ran(support: OperatorSupport) -> OperatorSupport:
    """Of a program that compiled and ran: what was said to be missing was there."""
    rows = (
        OperatorRow(row.name, row.count, SUPPORTED, row.path, row.line, "said to be missing, and it ran")
        if row.support == MISSING
        else row
        for row in support.rows
    )
    return OperatorSupport(tuple(rows))

"""What a model leaves out of an export by itself, behind `torch.compiler.is_exporting()`, is no effect of it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from exportlint.trial.child.execution.call_record import INPUTS
from exportlint.trial.child.execution.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.call_record import CallRecord, RunRecord


_FLAGS = ("_is_exporting_flag", "_is_compiling_flag")  # what `is_exporting()` and `is_compiling()` give; by version


@contextlib.contextmanager
def as_if_exporting() -> Iterator[None]:
    """Inside of the block torch says that it exports, and does not."""
    kept = {name: getattr(torch.compiler, name) for name in _FLAGS if hasattr(torch.compiler, name)}
    for name in kept:
        setattr(torch.compiler, name, True)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(torch.compiler, name, value)


def has_effects(run: RunRecord) -> bool:
    """Did it do anything besides returning?"""
    seen = run.observed is not None and run.observed[0] != run.observed[1]
    return seen or bool(run.changed) or any(call.stdout or call.log or call.outside for call in run.calls)


def without_left_out(run: RunRecord, exporting: RunRecord) -> RunRecord:
    """`run` with the effects that are there in `exporting`, the same calls as if torch exported, too.

    Where that computes something else, nothing was only left out, and `run` comes back as it is.
    """
    if not all(map(_same, run.calls, exporting.calls)) or len(run.calls) != len(exporting.calls):
        return run
    calls = tuple(
        replace(call, stdout=other.stdout, log=other.log, outside=other.outside, inputs=other.inputs)
        for call, other in zip(run.calls, exporting.calls, strict=True)
    )
    there = set(exporting.changed)
    if all(compare(call.inputs, other.inputs) is None for call, other in zip(run.calls, calls, strict=True)):
        there.add(INPUTS)
    changed = {name: frame for name, frame in run.changed.items() if name in there}
    repeated = run.repeated & exporting.repeated
    return replace(run, calls=calls, changed=changed, repeated=repeated, observed=exporting.observed)


def _same(call: CallRecord, other: CallRecord) -> bool:
    return (call.raised is None) == (other.raised is None) and compare(call.output, other.output) is None

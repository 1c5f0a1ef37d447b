"""Record calls of a program: everything about a call that eager and an exported program must agree on."""

from __future__ import annotations

import pickle
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.graph_places import source_of
from exportlint.trial.child.execution.inputs.input_sets import are_meant, inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.execution.state import state_now
from exportlint.trial.child.execution.time_limit import ON_DRAWN_VALUES, OutOfTimeError, in_time
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.process_control import exit_if_forked_copy
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.options import CALL_PLAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.observation import Observation


# The key in `RunRecord.changed` for writes into the arguments.
INPUTS = "inputs"
_TWICE = 2
# Drawn values get much more than the sample took, so that what is only slow is called.
_TIMES_THE_SAMPLE = 20.0


@dataclass(frozen=True)
class CallRecord:
    """One call.

    input_set  0 the sample, 1 other values; `meant`: they are the target's own, not made from the sample
    raised     instead of an output
    inputs     the arguments as the call left them
    outside    files opened for writing, processes and the like
    places     stdout, log or files -> the first line to print, log or reach outside
    """

    input_set: int
    output: Leaves
    inputs: Leaves
    stdout: str
    log: tuple[str, ...]
    outside: tuple[str, ...]
    places: Mapping[str, Frame] = field(default_factory=dict)
    raised: Observation | None = None
    meant: bool = True

    @property
    def did_not_end(self) -> bool:
        """Was the call given up, since it took too long on values that were drawn?"""
        return self.raised is not None and str(self.raised.error_class).endswith(OutOfTimeError.__name__)


@dataclass(frozen=True)
class RunRecord:
    """A series of calls on one program, and what they left behind.

    changed    plain attributes and globals, each with the line that changed it where one was looked for
    observed   what a fixture looks at, before and after
    repeated   those of `changed` that the second call on the same inputs changes once more: no cache, but news
    mattering  those of `changed` that reach the outputs; None if nobody asked
    """

    calls: tuple[CallRecord, ...]
    buffers: Leaves
    changed: Mapping[str, Frame | None]
    observed: tuple[str, str] | None
    mattering: frozenset[str] | None = None
    repeated: frozenset[str] = frozenset()


def record_calls(
    loaded: Loaded,
    program: Callable[..., Any],
    plan: Sequence[int] = CALL_PLAN,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> RunRecord:
    """Call `program` on the input sets of the plan, `around` each call; of a set on which it raised, no more. A call on
    drawn values that goes on and on is given up, and counts as raised."""
    observed, before = _observed(loaded), state_now(program)
    calls: list[CallRecord] = []
    repeats = len(plan) >= _TWICE and plan[0] == plan[1]
    states: list[dict[str, Leaves]] = []
    slowest = 0.0
    for index, input_set in enumerate(plan):
        if not any(call.raised and call.input_set == input_set for call in calls):
            began = time.process_time()
            seconds = None if are_meant(loaded, input_set) else max(ON_DRAWN_VALUES, _TIMES_THE_SAMPLE * slowest)
            calls.append(_call(loaded, program, input_set, 100 + index, around, seconds))
            slowest = max(slowest, time.process_time() - began)
            states += [state_now(program)] if repeats and index < _TWICE else []
    changed = dict.fromkeys(_changes(before, state_now(program)))
    buffers = snapshot(dict(program.named_buffers())) if hasattr(program, "named_buffers") else []
    now = _observed(loaded)
    seen = (observed, now) if observed and now else None
    repeated = frozenset(_changes(*states)) if len(states) == _TWICE else frozenset()
    return RunRecord(tuple(calls), buffers, changed, seen, repeated=repeated)


def plan_of_calls(run: RunRecord) -> tuple[int, ...]:
    """The input sets of every trial's calls, without those on which `run` did not end."""
    given_up = {call.input_set for call in run.calls if call.did_not_end}
    return tuple(input_set for input_set in CALL_PLAN if input_set not in given_up)


def _changes(before: dict[str, Leaves], after: dict[str, Leaves]) -> Iterator[str]:
    return (name for name, now in after.items() if compare(before.get(name, []), now, exact=True))


def _call(
    loaded: Loaded,
    program: Callable[..., Any],
    input_set: int,
    number: int,
    around: Callable[[], AbstractContextManager[Any]],
    seconds: float | None,
) -> CallRecord:
    args, kwargs = inputs_of(loaded, input_set)
    # Another seed for every call: a number that was baked while tracing then differs from at least one of them.
    seed(number)
    raised = None
    output: Leaves = []
    with recorded_effects() as effects:
        try:
            with around(), in_time(seconds) if seconds else nullcontext():
                given = program(*args, **kwargs)
            output = snapshot(given)
        except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
            raised = of_exception(exc)
            if raised.user is None and (frames := source_of(program, exc)):
                raised = raised.at(frames)
    exit_if_forked_copy()
    done = effects.printed.getvalue(), tuple(effects.log), tuple(effects.outside), effects.places
    return CallRecord(input_set, output, snapshot((args, kwargs)), *done, raised, are_meant(loaded, input_set))


def _observed(loaded: Loaded) -> str | None:
    return repr(loaded.observe()) if loaded.observe else None


# Keep the records of eager for the target's later stages.


_FILE = "eager.pickle"


def keep_records(folder: Path, first: RunRecord, again: RunRecord) -> None:
    """Store two runs of eager, each of a process of its own."""
    (folder / _FILE).write_bytes(pickle.dumps((first, again)))


def kept_records(folder: Path) -> tuple[RunRecord, RunRecord]:
    """What `keep_records` stored."""
    found: tuple[RunRecord, RunRecord] = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301 - our own fork wrote it
    return found


# What a model leaves out of an export by itself, behind `torch.compiler.is_exporting()`, is no effect of it.


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


# Put the arguments of a call into words.


def arguments_text(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """By type and shape, as `float32[2, 3], scale=2.0`."""
    return ", ".join([*map(_text, args), *(f"{key}={_text(value)}" for key, value in kwargs.items())])


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__

"""Record calls of a program: everything about a call that eager and an exported program must agree on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.graph_places import source_of
from exportlint.trial.child.execution.inputs.input_sets import are_meant, inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.execution.state import state_now
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.process_control import exit_if_forked_copy
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.options import CALL_PLAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.observation import Observation


# The key in `RunRecord.changed` for writes into the arguments.
INPUTS = "inputs"
_TWICE = 2


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
    """Call `program` on the input sets of the plan, `around` each call; of a set on which it raised, no more."""
    observed, before = _observed(loaded), state_now(program)
    calls: list[CallRecord] = []
    repeats = len(plan) >= _TWICE and plan[0] == plan[1]
    states: list[dict[str, Leaves]] = []
    for index, input_set in enumerate(plan):
        if not any(call.raised and call.input_set == input_set for call in calls):
            calls.append(_call(loaded, program, input_set, 100 + index, around))
            states += [state_now(program)] if repeats and index < _TWICE else []
    changed = dict.fromkeys(_changes(before, state_now(program)))
    buffers = snapshot(dict(program.named_buffers())) if hasattr(program, "named_buffers") else []
    now = _observed(loaded)
    seen = (observed, now) if observed and now else None
    repeated = frozenset(_changes(*states)) if len(states) == _TWICE else frozenset()
    return RunRecord(tuple(calls), buffers, changed, seen, repeated=repeated)


def _changes(before: dict[str, Leaves], after: dict[str, Leaves]) -> Iterator[str]:
    return (name for name, now in after.items() if compare(before.get(name, []), now, exact=True))


def _call(
    loaded: Loaded,
    program: Callable[..., Any],
    input_set: int,
    number: int,
    around: Callable[[], AbstractContextManager[Any]],
) -> CallRecord:
    args, kwargs = inputs_of(loaded, input_set)
    # Another seed for every call: a number that was baked while tracing then differs from at least one of them.
    seed(number)
    raised = None
    output: Leaves = []
    with recorded_effects() as effects:
        try:
            with around():
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

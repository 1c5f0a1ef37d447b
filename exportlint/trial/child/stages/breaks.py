"""breaks: where Dynamo breaks the graph of the model, and the graphs that lie between."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.compilation.compile_record import CompileRecord, MetBreak, own_options
from exportlint.trial.child.compilation.input_changes import MOST_OTHERS
from exportlint.trial.child.execution.call_record import kept_records
from exportlint.trial.child.execution.inputs.input_sets import inputs_of, own_inputs
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import dynamo
from exportlint.trial.protocol.frames import innermost_user
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import PASSED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


def run(request: StageRequest) -> StageAnswer:
    """Each break once, as soon as it is met, over the sample and other values, or all of the target's other inputs.

    `data`: "times", how often each was met, in the order in which they were told; "graphs" of the first call, each with
    the "operators" it has, its "share" of the time of a warm call (None where the calls compiled again), the "path" and
    "line" of its first operator, and how many "inputs" and "outputs"; "order", in which breaks and graphs came.
    """
    breaks = _DistinctBreaks(request)
    record = CompileRecord(on_break=breaks.add)
    compiled = record.compiled(request.loaded.model(), **own_options(request.loaded.call_options))
    shares: list[float] | None = None
    with record.watching():
        for input_set, (args, kwargs) in _input_sets(request):
            seed(input_set)
            try:
                compiled(*args, **kwargs)
            except Exception as exc:  # noqa: BLE001 - whatever a model or torch may raise is the answer
                request.emit(of_exception(exc).with_details(input_set=input_set))
                return StageAnswer(REFUSED, None, breaks.data(record, None))
            if not input_set:
                record.tell_if_left(compiled, inputs_of(request.loaded, 0))
                breaks.close_first_call(record)
                shares = _shares(request, record, compiled)
    return StageAnswer(PASSED, breaks.in_words(), breaks.data(record, shares))


def _input_sets(request: StageRequest) -> Iterator[tuple[int, Inputs]]:
    """Those that eager takes, with their number."""
    loaded = request.loaded
    eager, _ = kept_records(request.folder.parent)
    for input_set in dict.fromkeys(call.input_set for call in eager.calls):
        if not _raised(eager.calls, input_set):
            yield input_set, inputs_of(loaded, input_set)
    others = len(loaded.other_args()) if loaded.other_args is not None else 0
    for number in range(2, 1 + min(others, MOST_OTHERS)):
        if _takes(loaded, own_inputs(loaded, number)):
            dynamo.reset()  # compiled anew for each: Dynamo gives a function up after so many
            yield number, own_inputs(loaded, number)


def _takes(loaded: Loaded, inputs: Inputs) -> bool:
    args, kwargs = inputs
    try:
        loaded.eager()(*args, **kwargs)
    except Exception:  # noqa: BLE001 - whatever a model may raise
        return False
    return True


def _raised(calls: Any, input_set: int) -> bool:
    return any(call.raised for call in calls if call.input_set == input_set)


class _DistinctBreaks:
    """Tells each break once: the same reason at the same line is one, however often Dynamo meets it."""

    def __init__(self, request: StageRequest) -> None:
        self._request = request
        self._times: dict[tuple[object, ...], int] = {}
        self._numbers: list[int] = []  # of each that was met, which of the distinct ones it is
        self._order: list[tuple[str, int]] = []
        self._graphs = 0

    def close_first_call(self, record: CompileRecord) -> None:
        """What comes now are the same graphs, compiled for other inputs, and breaks that those alone reach."""
        self._order, self._graphs = list(record.order), len(record.graphs)

    def add(self, met: MetBreak) -> None:
        seen = met.observed()
        # The line of the library, too: two of its lines may be called by one of the user's.
        inner = seen.frames[-1][:2] if seen.frames else None
        key = (seen.user_path, seen.user_line, inner, met.kind, met.reason.partition("\n")[0])
        if key not in self._times:
            self._request.emit(seen)
        self._times[key] = self._times.get(key, 0) + 1
        self._numbers.append(list(self._times).index(key))

    def data(self, record: CompileRecord, shares: list[float] | None) -> dict[str, Any]:
        graphs = []
        for index, graph in enumerate(record.graphs[: self._graphs]):
            at = innermost_user(graph.frames)
            share = shares[index] if shares and index < len(shares) else None
            graphs.append(
                {
                    "operators": graph.operators,
                    "share": share,
                    "path": at.path if at else None,
                    "line": at.line if at else None,
                    "inputs": graph.inputs,
                    "outputs": graph.outputs,
                }
            )
        order = [[what, self._numbers[n] if what == "break" else n] for what, n in self._order]
        return {"times": list(self._times.values()), "graphs": graphs, "order": order}

    def in_words(self) -> str:
        number, graphs = len(self._times), self._graphs
        between = f"{graphs} graph{'' if graphs == 1 else 's'}"
        return f"{number} graph break{'' if number == 1 else 's'}, {between}" if number or graphs != 1 else "one graph"


_WARM_CALLS = 3
_SECONDS = 2.0  # a model that takes longer for its warm calls is called once


def _shares(request: StageRequest, record: CompileRecord, compiled: Any) -> list[float] | None:
    """What part of the time of warm calls each graph took; None where those compiled again, or raised."""
    graphs, before = len(record.graphs), [graph.seconds for graph in record.graphs]
    spent, calls = 0.0, 0
    while calls < _WARM_CALLS and (not calls or spent < _SECONDS):
        args, kwargs = inputs_of(request.loaded, 0)
        began = time.perf_counter()
        try:
            compiled(*args, **kwargs)
        except Exception:  # noqa: BLE001 - the stage of agreement says so
            return None
        spent, calls = spent + time.perf_counter() - began, calls + 1
    if len(record.graphs) != graphs or not spent:
        return None
    return [round((graph.seconds - old) / spent, 3) for graph, old in zip(record.graphs, before, strict=True)]

"""eager: the model runs on its sample. Records the executed lines, and the rows that later stages compare with."""

from __future__ import annotations

import os
import pickle
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.blame import changing_lines
from exportlint.trial.calls import INPUTS, PLAN, Record, inputs_of, keeper, record
from exportlint.trial.isolate import Outcome, in_fork
from exportlint.trial.observation import Frame, Observation, is_user_path, placed
from exportlint.trial.stage import CRASHED, PASSED, REFUSED, Answer, Request, short
from exportlint.trial.values import leaves
from exportlint.trial.weighing import mattering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

_FILE = "eager.pickle"
Lines = dict[str, set[int]]


def run(request: Request) -> Answer:
    """Two eager runs in two processes: the one records its lines, the other shows whether eager repeats itself."""
    again = in_fork(lambda: _fresh_run(request), request.folder)
    places = in_fork(lambda: _places(request, again.value), request.folder) if again.ok else again
    lines: Lines = defaultdict(set)
    with recorded_lines(lines):
        first = _fresh_run(request)
    executed = {"executed": {path: sorted(found) for path, found in lines.items()}}
    if not again.ok:
        return _failed(request, again, executed)
    first = replace(first, changed={**first.changed, **(places.value or {})})
    names = [name for name in first.changed if name != INPUTS]
    first = replace(first, mattering=frozenset(mattering(request.loaded, names, request.folder)))
    keep(request.folder.parent, first, again.value)
    sample = first.rows[0]
    if sample.raised:
        request.emit(sample.raised)
        return Answer(REFUSED, short(f"{sample.raised.error_class}: {sample.raised.first_line}"), executed)
    for seen in _notes(first):
        request.emit(seen)
    return Answer(PASSED, "", executed)


def _fresh_run(request: Request) -> Record:
    return record(request.loaded, request.loaded.eager(), PLAN)


def _places(request: Request, seen: Record) -> dict[str, Frame]:
    """The lines that change what the record found changed; "inputs" for writes into the arguments."""
    loaded = request.loaded
    model = loaded.eager()
    draws = [inputs_of(loaded, draw) for draw in sorted({row.draw for row in seen.rows})]
    watched = {name: keeper(model, name) for name in seen.changed} | {
        INPUTS: lambda: [value for _, value in leaves(draws)]
    }
    return changing_lines(lambda: [model(*args, **kwargs) for args, kwargs in draws], watched)


def _failed(request: Request, again: Outcome, data: dict[str, Any]) -> Answer:
    if again.raised:
        request.emit(again.raised)
        return Answer(REFUSED, short(again.raised.text), data)
    return Answer(CRASHED, again.ended or "", data)


def _notes(first: Record) -> Iterator[Observation]:
    for row in first.rows:
        if row.raised:
            text = f"eager refuses the values drawn anew: {row.raised.first_line}"
            yield Observation("note", text, details={"note": "draw-refused", "draw": row.draw})
    for name, frame in first.changed.items():
        note = "inputs-changed" if name == INPUTS else "attribute-changed"
        text = f"eager writes into its {INPUTS}" if name == INPUTS else f"eager changes {name}, which is no buffer"
        details = {"note": note, "attribute": name, "matters": name in (first.mattering or ())}
        yield placed("note", text, [frame] if frame else [], details=details)


def keep(folder: Path, *records: Record) -> None:
    """Store the eager records for the target's later stages."""
    (folder / _FILE).write_bytes(pickle.dumps(records))


def kept(folder: Path) -> tuple[Record, Record]:
    """What `keep` stored."""
    found: tuple[Record, Record] = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301 - our own fork wrote it
    return found


@contextmanager
def recorded_lines(lines: Lines) -> Iterator[None]:
    """Note every line that runs in code that is the model's own or its libraries'."""
    wanted: dict[str, str | None] = {}

    def on_call(frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if name not in wanted:
            path = os.path.abspath(name)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
            wanted[name] = path if is_user_path(path) and not name.startswith("<") else None
        path_or_none = wanted[name]
        if path_or_none is None:
            return None
        found = lines[path_or_none]
        found.add(frame.f_lineno)

        def on_line(inner: FrameType, event: str, _arg: Any) -> Any:
            if event == "line":
                found.add(inner.f_lineno)
            return on_line

        return on_line

    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(None)

"""further: the refusals after the first, at which torch ends. A trace that goes on with what eager gave meets the next,
and so does Dynamo, where it may break the graph, for strict mode."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.dynamic.recording import recorded
from exportlint.trial.isolate import in_fork
from exportlint.trial.lineless import placed_refusal
from exportlint.trial.observation import Observation
from exportlint.trial.onward import answers_of, go_on
from exportlint.trial.stage import CRASHED, PASSED, REFUSED, SKIPPED, Answer, Request, short, worst
from exportlint.trial.stages.explain import breaks_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(request: Request) -> Answer:
    """Every mode in the options was refused. Each refusal is an exception observation with its mode."""
    if request.loaded.export:
        return Answer(SKIPPED, "the target brings its own export call")
    statuses, found = [], 0
    for mode in request.options["modes"]:
        look = _strict if mode == "strict" else _non_strict
        outcome = in_fork(lambda: list(_once(look(request))), request.folder)  # noqa: B023 - called at once
        for seen in outcome.value or ():
            found += 1
            request.emit(Observation.from_dict({**seen.to_dict(), "details": {**seen.details, "mode": mode}}))
        statuses.append(CRASHED if outcome.ended else PASSED)
    status = worst([*statuses, *([REFUSED] if found else [])])
    return Answer(status, short(f"{found} lines refused in one go" if found != 1 else "1 line refused"))


def _non_strict(request: Request) -> Iterator[Observation]:
    with recorded() as sizes:
        refusals = go_on(request.loaded, answers_of(request.loaded)).refusals
    for seen in refusals:
        yield from placed_refusal(request, seen, sizes)


def _strict(request: Request) -> Iterator[Observation]:
    """A break of the graph where Dynamo runs as export lets it run is what strict export refuses."""
    with torch._dynamo.config.patch(**_as_in_export()):  # noqa: SLF001 - documented as torch._dynamo.config
        breaks = breaks_of(request)
    for seen in breaks:
        # Said of the function around a break that Dynamo could not resume after; strict export never resumes.
        if "Failed to handle graph break gracefully" in seen.text:
            continue
        yield dataclasses.replace(seen, kind="exception", details={**seen.details, "further": True})


def _as_in_export() -> dict[str, Any]:
    config: dict[str, Any] = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with contextlib.suppress(ImportError):
        from torch.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG  # noqa: PLC0415 - not in every version

        config |= dataclasses.asdict(DEFAULT_EXPORT_DYNAMO_CONFIG)
    return {name: value for name, value in config.items() if hasattr(torch._dynamo.config, name)}  # noqa: SLF001 - as above


def _once(refusals: Iterator[Observation]) -> Iterator[Observation]:
    """A line in a loop is refused at every turn."""
    told: set[tuple[str | None, int | None, str]] = set()
    for seen in refusals:
        key = (seen.user_path, seen.user_line, "" if seen.user_path else seen.first_line)
        if key not in told:
            told.add(key)
            yield seen

"""soundness: what nobody else checks once export accepts. Other values, a second call, eager after, baked literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.calls import PLAN, Record, record
from exportlint.trial.comparing import as_state, differences, eager_after
from exportlint.trial.exporting import Exported, export
from exportlint.trial.graphs import baked, constant_place, literals, perturbed
from exportlint.trial.isolate import in_fork
from exportlint.trial.observation import Observation, placed
from exportlint.trial.stage import CRASHED, DIFFERS, PASSED, Answer, Request, short, worst
from exportlint.trial.stages.eager import kept
from exportlint.trial.values import compare, is_fake

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def run(request: Request) -> Answer:
    """All checks for every mode in the options; each observation says its mode in the details."""
    said: list[tuple[str, str]] = []
    for index, mode in enumerate(request.options["modes"]):
        # What one mode bakes the other mostly refuses, and a second strict export takes as long as the first.
        for status, detail, seen in _mode(request, mode, twice=index == 0):
            said.append((status, detail))
            if seen is not None:
                request.emit(_in_mode(seen, mode))
    status = worst([status for status, _ in said])
    return Answer(status, next((detail for one, detail in said if one == status), ""))


def _in_mode(seen: Observation, mode: str) -> Observation:
    return Observation.from_dict({**seen.to_dict(), "details": {**seen.details, "mode": mode}})


def _mode(request: Request, mode: str, *, twice: bool) -> Iterator[tuple[str, str, Observation | None]]:
    eager, again = kept(request.folder.parent)
    # Forks come first: they must not inherit what an export leaves in this process.
    twin = in_fork(lambda: _twin(request, mode), request.folder).value if twice else None
    outcome = in_fork(lambda: list(_checks(request, mode, eager, again, twin)), request.folder)
    if outcome.ended:
        yield CRASHED, short(f"{mode}: {outcome.ended}"), None
    elif outcome.raised:
        yield CRASHED, short(f"{mode}: {outcome.raised.text}"), outcome.raised
    for seen in outcome.value or ():
        yield DIFFERS if seen.kind == "difference" else PASSED, short(f"{mode}: {seen.text}"), seen


def _twin(request: Request, mode: str) -> dict[str, Any]:
    return literals(perturbed(lambda: export(request.loaded, mode, number=1)).program)


def _checks(
    request: Request, mode: str, eager: Record, again: Record, twin: Mapping[str, Any] | None
) -> Iterator[Observation]:
    exported = export(request.loaded, mode)
    if exported.is_program:
        yield from _graph_notes(exported)
        if twin is not None:
            yield from baked(literals(exported.program), twin)
    yield from _leaks(exported)
    # Before the program runs: it shares its buffers with the model. In a fork: the model's run is not to reach them.
    after = in_fork(lambda: record(request.loaded, exported.model, PLAN), request.folder)
    by_state = _state_alone(request, exported) if eager.changed else False
    theirs = record(request.loaded, exported.module(), PLAN)
    for seen in differences(eager, again, theirs):
        late = seen.details["check"] == "output" and seen.details["draw"]
        yield as_state(seen, eager, theirs) if late and by_state else seen
    if exported.model is not None and after.value is not None:
        yield from eager_after((eager, again), after.value)
    if _unsteady(eager, again):
        yield Observation("note", "eager gives other values in every run", details={"note": "eager-unstable"})


def _state_alone(request: Request, exported: Exported) -> bool:
    """Do both agree on the other values when nothing was called before?"""
    first = (1,)
    eager = in_fork(lambda: record(request.loaded, request.loaded.eager(), first), request.folder)
    theirs = in_fork(lambda: record(request.loaded, exported.module(), first), request.folder)
    if not (eager.ok and theirs.ok):
        return False
    return not any(seen.details["check"] == "output" for seen in differences(eager.value, eager.value, theirs.value))


def _unsteady(eager: Record, again: Record) -> bool:
    return any(compare(a.output, b.output, exact=True) for a, b in zip(eager.rows, again.rows, strict=False))


def _graph_notes(exported: Exported) -> Iterator[Observation]:
    program = exported.program
    users = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in users and not node.users:
            text = f"the exported program never uses its input {node.name!r}"
            yield Observation("note", text, details={"note": "unused-input", "input": node.name})
    for name, value in program.constants.items():
        if is_fake(value):
            text = f"constant {name!r} of the exported program is a FakeTensor, without data"
            details = {"check": "fake-tensor-left", "where": "constants", "name": name}
            yield placed("difference", text, constant_place(program, name), details=details)


def _leaks(exported: Exported) -> Iterator[Observation]:
    if not isinstance(exported.model, torch.nn.Module):
        return
    modules = exported.model.named_modules()
    training = [name or "the model" for name, module in modules if module.training and _asks_for_mode(module)]
    if training:
        text = f"exported in training mode: {', '.join(training[:5])}"
        yield Observation("note", text, details={"note": "training-mode", "modules": training})
    for name, module in exported.model.named_modules():
        held = {**vars(module), **dict(module.named_buffers(recurse=False))}
        for key, value in held.items():
            if is_fake(value) or (isinstance(value, (list, tuple)) and any(map(is_fake, value))):
                place = f"{name}.{key}".lstrip(".")
                text = f"the export left a FakeTensor in the model's attribute {place!r}: eager is broken from now on"
                details = {"check": "fake-tensor-left", "where": "model", "name": place}
                yield Observation("difference", text, details=details)


def _asks_for_mode(module: Any) -> bool:
    """Does the code of the module's class, torch.nn.Module's own aside, look at the flag?"""
    classes = type(module).__mro__[: type(module).__mro__.index(torch.nn.Module)]
    codes = (getattr(member, "__code__", None) for cls in classes for member in vars(cls).values())
    return any(code is not None and "training" in code.co_names for code in codes)

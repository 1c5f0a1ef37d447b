"""Check: the program uses every input that a caller gives. One that it does not use may have decided a branch."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.localize.steered_branch import steered_branch
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject


def unused_inputs(subject: Subject) -> Iterator[Observation]:
    """Inputs without users in the graph; a Python value that decides a branch stands there."""
    if not subject.exported.is_program:
        return
    program = subject.exported.program
    given = {spec.arg.name: spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    unused = [node.name for node in program.graph.nodes if node.op == "placeholder" and not node.users]
    constants = {name: given[name].value for name in unused if name in given and hasattr(given[name], "value")}
    ran = _lines_of_eager(subject) if constants else {}
    for name in unused:
        if name in given:
            branch = steered_branch(subject.exported.model, name, ran) if name in constants else None
            yield _steers(name, constants[name]).at([branch]) if branch else _unused(name)


def _unused(name: str) -> Observation:
    return Observation("note", details={"note": "unused-input", "input": name})


def _steers(name: str, value: Any) -> Observation:
    return Observation("note", details={"note": "steering-input", "steers": name, "value": repr(value)})


def _lines_of_eager(subject: Subject) -> Lines:
    """What a call on the sample runs."""
    loaded = subject.request.loaded

    def run() -> Lines:
        model, (args, kwargs) = loaded.eager(), inputs_of(loaded, 0)
        lines: Lines = defaultdict(set)
        with recorded_lines(lines):
            model(*args, **kwargs)
        return dict(lines)

    return in_fork(run, subject.request.folder).value or {}

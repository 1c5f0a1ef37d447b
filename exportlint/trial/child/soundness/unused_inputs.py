"""Check: the program uses every input that a caller gives. One that it does not use may have decided a branch."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.child.loading.module_wrapper import Wrapped
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.frames import Frame, frame_at
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

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


# Find the branch that an argument of the model decides, in forward or in what that hands the argument on to.


_DEEPEST = 6


def steered_branch(model: Any, name: str, ran: Mapping[str, AbstractSet[int]]) -> Frame | None:
    """The first test that reads the argument, of those in lines that `ran`; None where there is none."""
    call = model.bare if isinstance(model, Wrapped) else getattr(model, "forward", None)
    return _branch(call, name, ran, _DEEPEST) if callable(call) else None


def _branch(call: Any, name: str, ran: Mapping[str, AbstractSet[int]], depth: int) -> Frame | None:
    function = inspect.unwrap(getattr(call, "__func__", call))
    code = getattr(function, "__code__", None)
    node = _definition(code) if code is not None and depth else None
    if code is None or node is None:
        return None
    lines = ran.get(code.co_filename, frozenset[int]())
    for line in _tests(node, name):
        if line in lines:
            return frame_at(code.co_filename, line, node.name)
    inside = (_branch(given, parameter, ran, depth - 1) for given, parameter in _handed_on(node, call, function, name))
    return next((frame for frame in inside if frame), None)


def _definition(code: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(source_of(code.co_filename))
    except (OSError, SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _tests(node: ast.FunctionDef, name: str) -> list[int]:
    """The lines of the tests that read the name."""
    branches = (one for one in ast.walk(node) if isinstance(one, (ast.If, ast.While, ast.IfExp, ast.Match)))
    tests = (one.subject if isinstance(one, ast.Match) else one.test for one in branches)
    reading = (test for test in tests if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(test)))
    return sorted(test.lineno for test in reading)


def _handed_on(node: ast.FunctionDef, call: Any, function: Any, name: str) -> Iterator[tuple[Callable[..., Any], str]]:
    """What is called with the argument as it is, and which parameter takes it."""
    own = node.args.args[0].arg if inspect.ismethod(call) and node.args.args else ""
    known = {own: getattr(call, "__self__", None)} if own else {}
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and (place := _argument(one, name)) is not None:
            given = _live(one.func, known, function.__globals__)
            given = given.forward if isinstance(given, torch.nn.Module) else given
            if callable(given) and (parameter := _parameter(given, place)):
                yield given, parameter


def _argument(call: ast.Call, name: str) -> int | str | None:
    """The number or the keyword of the argument that is the name."""
    for number, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            break
        if isinstance(value, ast.Name) and value.id == name:
            return number
    keywords = (one.arg for one in call.keywords if isinstance(one.value, ast.Name) and one.value.id == name)
    return next(keywords, None)


def _live(node: ast.expr, known: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """The object that `self.decoder` or `helper` is; None where that cannot be said."""
    match node:
        case ast.Name(id=name):
            return known.get(name, names.get(name))
        case ast.Attribute(value=value, attr=name):
            home = _live(value, known, names)
            return None if home is None else getattr(home, name, None)
    return None


def _parameter(given: Callable[..., Any], place: int | str) -> str | None:
    if isinstance(place, str):
        return place
    try:
        names = list(inspect.signature(given).parameters)
    except (TypeError, ValueError):
        return None
    return names[place] if place < len(names) else None

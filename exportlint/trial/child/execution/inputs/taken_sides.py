"""Which sides of the `if`s of a model's own files a call takes, and of the decisions that have probes."""

from __future__ import annotations

import ast
import dis
import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.inputs.probed_sides import is_sought, noted_while_loading, probes_noted
from exportlint.trial.child.execution.plain_operators import plain_operators
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.execution.time_limit import in_time
from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.frames import is_user_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


Side = tuple[str, int, bool]  # the file, the line of the `if` or the number of a probe, and what its test was


def sides_taken(loaded: Loaded, inputs: Inputs, seconds: float, run: Lines) -> set[Side]:
    """By one call of a fresh model; what it raises ends it, and the time. `run`: gets the lines, too."""
    lines: Lines = defaultdict(set)
    model = loaded.eager()
    args, kwargs = copied(inputs)
    seed(0)
    is_compared = True
    with recorded_effects(), plain_operators(), recorded_lines(lines), probes_noted() as noted:
        try:
            with in_time(seconds):
                model(*args, **kwargs)
        except BaseException as exc:  # noqa: BLE001 - what it raises, the comparison says; the lines until then count
            is_compared = _is_raised_by_itself(exc)
    for path, own in lines.items():
        run.setdefault(path, set()).update(own)
    probed = [noted_while_loading(), *([noted] if is_compared else [])]
    by_probes = {(*place, value) for one in probed for place, values in one.items() for value in values}
    return by_probes | {side for path, run in lines.items() for side in _sides(path, run)}


def _is_raised_by_itself(exc: BaseException) -> bool:
    """By a `raise` or an `assert` of the model's own: inputs that only do not fit say nothing, and are not compared."""
    step = exc.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    code = step.tb_frame.f_code
    return is_user_path(code.co_filename) and code.co_code[step.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def undecided(taken: set[Side]) -> bool:
    """Is there an `if` of which one side was not taken, and whose test may ask what tensors hold?"""
    places = {(path, line) for path, line, _ in one_sided(taken)}
    return any(map(is_sought, places)) or any(
        _may_ask_data(node.test)
        for path in {path for path, _ in places}
        for node, _ in _decisions(path)
        if (path, node.lineno) in places
    )


def asks_for_numbers(taken: set[Side]) -> bool:
    """Does one of the files ask whether values are numbers?"""
    return any(_NOT_NUMBERS.search(_text_of(path)) for path in {path for path, _, _ in taken})


def one_sided(taken: set[Side]) -> list[Side]:
    """Those whose other side was not taken."""
    return sorted((path, line, value) for path, line, value in taken if (path, line, not value) not in taken)


def two_sided(taken: set[Side]) -> list[tuple[str, int]]:
    """The places of those of which both sides were."""
    return sorted((path, line) for path, line, value in taken if value and (path, line, False) in taken)


def _sides(path: str, run: set[int]) -> Iterator[Side]:
    for node, behind in _decisions(path):
        if node.lineno in run:
            enters = node.body[0].lineno in run
            passes = node.orelse[0].lineno in run if node.orelse else behind in run if enters else True
            yield from ((path, node.lineno, value) for value, seen in ((True, enters), (False, passes)) if seen)


_NOT_NUMBERS = re.compile(r"is_?nan|is_?inf|is_?finite|nan_to_num")
_OF_SHAPES = frozenset({"shape", "ndim", "dtype", "device", "training", "requires_grad", "is_cuda"})
_PYTHON_ONLY = frozenset({"isinstance", "len", "hasattr", "callable", "dim", "size", "numel", "ndimension", "get"})


def _may_ask_data(test: ast.expr) -> bool:
    """Not an attribute of the object, a size, a type, or whether something is None."""
    match test:
        case ast.BoolOp(values=values):
            return any(map(_may_ask_data, values))
        case ast.UnaryOp(operand=operand):
            return _may_ask_data(operand)
        case ast.Compare(left=left, ops=ops, comparators=others):
            is_identity = all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
            return not is_identity and any(map(_may_ask_data, (left, *others)))
        case ast.Attribute(value=value, attr=attr):
            return attr not in _OF_SHAPES and _may_ask_data(value)
        case ast.Name(id=name):
            return name != "self"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in _PYTHON_ONLY and not name.startswith("is_")
        case ast.Constant():
            return False
    return not (isinstance(test, ast.Subscript) and not _may_ask_data(test.value))


@cache
def _text_of(path: str) -> str:
    try:
        text = source_of(path)
    except OSError:
        return ""
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


@cache
def _decisions(path: str) -> tuple[tuple[ast.If, int], ...]:
    """Every `if` whose block stands on lines of its own, with the line behind it that only the other side reaches in
    the same step of a loop; 0 where there is none."""
    try:
        tree = ast.parse(source_of(path))
    except (OSError, SyntaxError, ValueError):
        return ()
    behind = {
        id(one): later.lineno
        for node in ast.walk(tree)
        for body in (getattr(node, "body", ()), getattr(node, "orelse", ()))
        if isinstance(body, list)
        for one, later in pairwise(body)
        if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Continue | ast.Break | ast.Return | ast.Raise)
    }
    found = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    return tuple((node, behind.get(id(node), 0)) for node in found if node.body[0].lineno > node.lineno)

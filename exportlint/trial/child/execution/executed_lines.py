"""Record which lines of the model's own code a call runs."""

from __future__ import annotations

import ast
import os
import sys
from collections import defaultdict
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.child.torch_private.dynamo import CALLED_IN_COMPILED
from exportlint.trial.protocol.frames import is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet
    from types import CodeType, FrameType


Lines = dict[str, set[int]]


def recorded_lines(lines: Lines, compiled: Lines | None = None) -> AbstractContextManager[None]:
    """Note every line that runs in code that is the model's own or its libraries', in this thread.

    `compiled`: the lines of functions that torch.compile had rewritten; of what they run in the end, nothing is noted.
    """
    rewritten: Lines = defaultdict(set) if compiled is None else compiled
    return _monitored(lines, rewritten) if sys.version_info >= (3, 12) else _traced(lines, rewritten)


@contextmanager
def _monitored(lines: Lines, compiled: Lines) -> Iterator[None]:
    """Python itself stops to tell of a line that was seen, and never tells of code that nobody asked for."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # there is one from Python 3.12 on
    events, tool = monitoring.events, _free_tool(monitoring)

    def on_start(code: CodeType, _offset: int) -> Any:
        if path := _user_file(code.co_filename):
            lines[path].add(code.co_firstlineno)
            _note_compiled(code, compiled)
            monitoring.set_local_events(tool, code, events.LINE)
        return monitoring.DISABLE

    def on_line(code: CodeType, line: int) -> Any:
        lines[_user_file(code.co_filename)].add(line)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "exportlint")
    monitoring.restart_events()
    monitoring.register_callback(tool, events.PY_START, on_start)
    monitoring.register_callback(tool, events.LINE, on_line)
    monitoring.set_events(tool, events.PY_START)
    try:
        yield
    finally:
        monitoring.set_events(tool, events.NO_EVENTS)
        monitoring.free_tool_id(tool)


def _free_tool(monitoring: Any) -> int:
    """A number that no debugger, coverage or profiler of the target uses."""
    return next(number for number in (4, 3, 0, 1, 2, 5) if monitoring.get_tool(number) is None)


@contextmanager
def _traced(lines: Lines, compiled: Lines) -> Iterator[None]:
    unseen: dict[CodeType, set[int]] = {}

    def on_call(frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        left = unseen.get(code)
        if left is None:
            left = unseen[code] = _lines_of(code) if _user_file(code.co_filename) else set()
            _note_compiled(code, compiled)
        if not left:
            return None
        found = lines[_user_file(code.co_filename)]

        def on_line(inner: FrameType, event: str, _arg: Any) -> Any:
            if event == "line":
                found.add(inner.f_lineno)
                left.discard(inner.f_lineno)
                inner.f_trace_lines = bool(left)
            return on_line

        found.add(frame.f_lineno)
        left.discard(frame.f_lineno)
        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _note_compiled(code: CodeType, compiled: Lines) -> None:
    path = _user_file(code.co_filename)
    if path and any(name.startswith(CALLED_IN_COMPILED) for name in code.co_names):
        compiled[path].update(_lines_of(code))


def whole_functions(path: str, lines: AbstractSet[int]) -> set[int]:
    """All lines of the functions that hold one of the lines."""
    try:
        tree = ast.parse(source_of(path))
    except (OSError, SyntaxError, ValueError):
        return set()
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    ranges = (range(_first_line(node), (node.end_lineno or node.lineno) + 1) for node in functions)
    return {line for one in ranges if not lines.isdisjoint(one) for line in one}


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Of the definition with its decorators, as code objects count."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _lines_of(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


@cache
def _user_file(name: str) -> str:
    """The absolute path of a file of the user's; "" for another."""
    path = os.path.abspath(name)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
    return path if is_user_path(path) and not name.startswith("<") else ""

"""Find what the samples of trials never ran, of the functions that they entered and of those which these would call.

Only the project's own files are read. What only refuses an input or writes to a log is left out, and so is what no
call of eager reaches: code behind `torch.jit.is_scripting()` and its like.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.trial.findings.calls_in_file import CallsInFile, Defined
from exportlint.trial.protocol.frames import is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exportlint.trial.protocol.result import TargetReport


@dataclass(frozen=True, slots=True)
class Region:
    """Lines that never ran.

    why      what kept the samples out: branch, loop, else, case, handler, after (something always left before), call
    at       the line that decides: of the test, the loop, the call
    test     of a branch, what Python asks there, and `wanted`, the answer that leads here
    words    of a case its pattern, of a handler its exception, of a loop what it goes over, of a call the function
    within   the function around it, with the names of its parameters
    """

    path: str
    line: int
    end_line: int
    why: str
    at: int
    test: ast.expr | None = None
    wanted: bool = True
    words: str = ""
    within: str = ""
    parameters: frozenset[str] = frozenset()


def never_ran(reports: Sequence[TargetReport]) -> Iterator[tuple[TargetReport, Region]]:
    """Each region that no target of the run reached, with the first target that came near."""
    ran: dict[str, set[int]] = {}
    first: dict[str, TargetReport] = {}
    for report in reports:
        for path, lines in report.called.items():
            if is_user_path(path) and not is_installed(path):
                ran.setdefault(path, set()).update(lines)
                first.setdefault(path, report)
    for path, every in ran.items():
        near = [report for report in reports if report.called.get(path)]
        for region in regions(path, frozenset(every)):
            yield _nearest(near, region) or first[path], region


def _nearest(reports: Sequence[TargetReport], region: Region) -> TargetReport | None:
    """The first of those that ran the line which decides."""
    return next((report for report in reports if region.at in report.called[region.path]), None)


def regions(path: str, ran: frozenset[int]) -> list[Region]:
    """Of one file, in the order of its lines."""
    try:
        text = Path(path).read_bytes()
        tree, lines = ast.parse(text), frozenset(_lines_with_code(compile(text, path, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return []
    file = CallsInFile(tree)
    entered = [one for one in file.functions if _is_entered(one, ran, lines)]
    walks = [_UnrunBlocks(path, ran, lines, one) for one in entered]
    found = [region for walk in walks for region in walk.regions()]
    left_out = {line for walk in walks for line in walk.left_out}
    dead = left_out | {line for region in found for line in range(region.line, region.end_line + 1)}
    for function, at in file.called_only_from(dead, entered):
        node = function.node
        if at not in left_out:
            found.append(Region(path, node.lineno, node.end_lineno or node.lineno, "call", at, words=node.name))
    return sorted(found, key=lambda region: region.line)


def _lines_with_code(code: object) -> Iterator[int]:
    yield from (line for _, _, line in code.co_lines() if line)  # type: ignore[attr-defined]  # a code object
    for inner in code.co_consts:  # type: ignore[attr-defined]  # as above
        if hasattr(inner, "co_lines"):
            yield from _lines_with_code(inner)


def _is_entered(function: Defined, ran: frozenset[int], lines: frozenset[int]) -> bool:
    own = range(function.node.body[0].lineno, (function.node.end_lineno or 0) + 1)
    inner = {line for node in function.inner for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return any(line in ran for line in own if line in lines and line not in inner)


_Reason = Mapping[str, object]
# Eager is none of these; the trace is what they ask for.
_OF_A_TRACE = frozenset(
    {"is_scripting", "is_tracing", "is_exporting", "is_compiling", "is_dynamo_compiling", "is_in_onnx_export"}
)
_TELLING = frozenset({"print", "warn", "warn_once", "warning", "warning_once", "info", "debug", "error", "log"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class _UnrunBlocks:
    """Through one function that was entered."""

    path: str
    ran: frozenset[int]
    lines: frozenset[int]
    function: Defined

    def regions(self) -> list[Region]:
        return [found for found, kept in self._all if kept]

    @property
    def left_out(self) -> list[int]:
        """The lines that never ran and are no region."""
        dropped = (found for found, kept in self._all if not kept)
        return [line for found in dropped for line in range(found.line, found.end_line + 1)]

    @cached_property
    def _all(self) -> list[tuple[Region, bool]]:
        return list(self._in_block(self.function.node.body, {"why": "after", "at": self.function.node.lineno}))

    def _in_block(self, block: list[ast.stmt], reason: _Reason) -> Iterator[tuple[Region, bool]]:
        waiting: list[ast.stmt] = []
        for statement in block:
            if not self._did_run(statement):
                waiting += [statement] if waiting or self._has_code(statement) else []
                continue
            yield from self._region(waiting, reason)
            waiting, reason = [], _after(statement, self._did_run)
            for inner, why in _blocks(statement):
                yield from self._in_block(inner, why)
        yield from self._region(waiting, reason)

    def _region(self, block: list[ast.stmt], reason: _Reason) -> Iterator[tuple[Region, bool]]:
        if block:
            node = self.function.node
            last = block[-1].end_lineno or block[-1].lineno
            parameters = frozenset(one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)) - {"self"}
            found = Region(self.path, block[0].lineno, last, within=node.name, parameters=parameters, **reason)  # type: ignore[arg-type]  # the reasons below name its fields
            yield found, not (_only_tells(block) or _asks_for_a_trace(found.test))

    def _did_run(self, statement: ast.stmt) -> bool:
        return any(line in self.ran for line in _span(statement))

    def _has_code(self, statement: ast.stmt) -> bool:
        return any(line in self.lines for line in _span(statement))


def _span(statement: ast.stmt) -> range:
    """The lines of a statement; of a function inside of another, those of its head."""
    is_definition = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    last = statement.lineno if is_definition else statement.end_lineno or statement.lineno
    return range(statement.lineno, last + 1)


def _blocks(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], _Reason]]:
    """The blocks of a statement, each with what keeps one out of it."""
    at = statement.lineno
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield body, {"why": "branch", "at": at, "test": test}
            yield orelse, {"why": "branch", "at": at, "test": test, "wanted": False}
        case ast.While(test=test, body=body, orelse=orelse):
            yield body, {"why": "branch", "at": at, "test": test}
            yield orelse, {"why": "else", "at": at}
        case ast.For(iter=over, body=body, orelse=orelse) | ast.AsyncFor(iter=over, body=body, orelse=orelse):
            yield body, {"why": "loop", "at": at, "words": ast.unparse(over)}
            yield orelse, {"why": "else", "at": at}
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield body, {"why": "after", "at": at}
        case ast.Match(subject=subject, cases=cases):
            for one in cases:
                words = f"`{ast.unparse(subject)}` to match `{ast.unparse(one.pattern)}`"
                yield one.body, {"why": "case", "at": one.pattern.lineno, "words": words}
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield body, {"why": "after", "at": at}
            for handler in handlers:
                kind = ast.unparse(handler.type) if handler.type else "an exception"
                yield handler.body, {"why": "handler", "at": at, "words": kind}
            yield orelse, {"why": "after", "at": body[-1].lineno}
            yield finalbody, {"why": "after", "at": at}


def _after(statement: ast.stmt, did_run: Callable[[ast.stmt], bool]) -> _Reason:
    """What keeps the samples from the statements behind this one: it always leaves the block."""
    if isinstance(statement, ast.If):
        ways = ((statement.body, statement.orelse, False), (statement.orelse, statement.body, True))
        for way, other, leads_on in ways:
            if way and isinstance(way[-1], _LEAVES) and did_run(way[-1]) and not any(map(did_run, other)):
                return {"why": "branch", "at": statement.lineno, "test": statement.test, "wanted": leads_on}
    return {"why": "after", "at": statement.lineno}


def _only_tells(block: list[ast.stmt]) -> bool:
    """Does it only refuse an input, or only write to a log?"""
    return isinstance(block[-1], (ast.Raise, ast.Assert)) or all(map(_tells, block))


def _tells(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _TELLING
    return False


def _asks_for_a_trace(test: ast.expr | None) -> bool:
    names = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(test)) if test else ()
    return any(name in _OF_A_TRACE for name in names)

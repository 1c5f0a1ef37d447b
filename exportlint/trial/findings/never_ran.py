"""Find what the samples of trials never ran, of the functions that they entered and of those which these would call.

Only the project's own files are read. What only refuses an input or writes to a log is left out, and so is what no
call of eager reaches: code behind `torch.jit.is_scripting()` and its like.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Severity, fingerprint
from exportlint.trial.findings.classify import shown
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import EAGER, NEVER_RAN
from exportlint.trial.protocol.syntax_tree import syntax_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

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
        tree, lines = syntax_tree(text), frozenset(_lines_with_code(compile(text, path, "exec", dont_inherit=True)))
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
                words = f"`{ast.unparse(subject)}` to match {_pattern(one)}"
                yield one.body, {"why": "case", "at": one.pattern.lineno, "words": words}
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield body, {"why": "after", "at": at}
            for handler in handlers:
                kind = ast.unparse(handler.type) if handler.type else "an exception"
                yield handler.body, {"why": "handler", "at": at, "words": kind}
            yield orelse, {"why": "after", "at": body[-1].lineno}
            yield finalbody, {"why": "after", "at": at}


def _pattern(case: ast.match_case) -> str:
    """In words; a name, or `_`, takes what no case before it took."""
    takes_all = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    pattern = "no case above" if takes_all else f"`{ast.unparse(case.pattern)}`"
    return f"{pattern}, with `{ast.unparse(case.guard)}`" if case.guard else pattern


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


# Find the functions of a file, and which of them are called from given lines only.


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, eq=False)
class Defined:
    """`home`: the class of a method, the function around an inner one; None: the file. `inner`: functions inside."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    home: ast.AST | None
    inner: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]


class CallsInFile:
    """The functions of one file, and who names them."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = list(_functions(tree, None))
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def called_only_from(self, lines: AbstractSet[int], entered: Iterable[Defined]) -> Iterator[tuple[Defined, int]]:
        """The functions that these lines call, and nothing else of what was `entered`; with the first of the calls.

        What they call in turn comes after them.
        """
        readers, dead = list(entered), set(lines)
        known = {id(one) for one in readers}
        while True:
            fresh = [pair for pair in self._called(readers, dead) if id(pair[0]) not in known]
            if not fresh:
                return
            yield from fresh
            for function, _ in fresh:
                known.add(id(function))
                readers.append(function)
                dead.update(range(function.node.lineno, (function.node.end_lineno or 0) + 1))

    def _called(self, readers: list[Defined], dead: AbstractSet[int]) -> list[tuple[Defined, int]]:
        """Those that are named in dead lines only, and called there."""
        named: dict[int, tuple[Defined, list[int]]] = {}
        called: set[int] = set()
        for reader in readers:
            for node, is_called in _names(reader):
                if (function := self._meant(node, reader)) is not None:
                    named.setdefault(id(function), (function, []))[1].append(node.lineno)
                    called.update([id(function)] if is_called else [])
        return [(function, min(at)) for key, (function, at) in named.items() if key in called and dead >= set(at)]

    def _meant(self, node: ast.expr, reader: Defined) -> Defined | None:
        match node:
            case ast.Name(id=name):
                homes: list[ast.AST | None] = [reader.node, None]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                homes = list(self._bases(reader.home))
            case _:
                return None
        found = {one.home: one for one in reversed(self.functions) if one.node.name == name}
        return next((found[home] for home in homes if home in found), None)

    def _bases(self, cls: ast.AST | None, depth: int = 8) -> Iterator[ast.AST]:
        """The class and its bases, as far as they stand in the file."""
        if isinstance(cls, ast.ClassDef) and depth:
            yield cls
            for base in cls.bases:
                yield from self._bases(self._classes.get(getattr(base, "id", "")), depth - 1)


def _functions(node: ast.AST, home: ast.AST | None) -> Iterator[Defined]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            inner = tuple(one for one in ast.walk(child) if isinstance(one, _FUNCTIONS) and one is not child)
            yield Defined(child, home, inner)
            yield from _functions(child, child)
        else:
            yield from _functions(child, child if isinstance(child, ast.ClassDef) else home)


def _names(reader: Defined) -> Iterator[tuple[ast.expr, bool]]:
    """The names and attributes that a function reads, what stands in functions inside of it left out; is it a call?"""
    waiting: list[ast.AST] = list(reader.node.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        callee = node.func if isinstance(node, ast.Call) else None
        if isinstance(callee, (ast.Name, ast.Attribute)):
            yield callee, True
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            yield node, False
        waiting += [child for child in ast.iter_child_nodes(node) if child is not callee]
        waiting += list(ast.iter_child_nodes(callee)) if callee is not None else []


# Make a note of each region that the samples of trials never ran.


def coverage_findings(reports: Sequence[TargetReport], root: Path) -> list[Finding]:
    """One a region, at its first line, of the targets that ran in eager; never more than a note."""
    ran = [report for report in reports if (eager := report.stage(EAGER.name)) and eager.passed]
    return [_finding(report, region, root) for report, region in never_ran(ran)]


def lines_of(unrun: Iterable[Finding]) -> dict[str, frozenset[int]]:
    """The lines of the regions, by path."""
    found: dict[str, set[int]] = {}
    for one in unrun:
        found.setdefault(one.path, set()).update(range(one.line, one.end_line + 1))
    return {path: frozenset(lines) for path, lines in found.items()}


def _finding(report: TargetReport, region: Region, root: Path) -> Finding:
    path = shown(str(Path(region.path).resolve()), root)
    first, last = (linecache.getline(region.path, line).rstrip() for line in (region.line, region.end_line))
    return Finding(
        NEVER_RAN,
        path,
        region.line,
        len(first) - len(first.lstrip()) + 1,
        region.end_line,
        len(last) + 1,
        Severity.NOTE,
        region_message(region),
        Evidence.DISCOVERED,
        {},
        report.name,
        EAGER.name,
        fingerprint=fingerprint(NEVER_RAN, path, first),
    )


# Say of lines that never ran what kept the samples out, and which input would reach them.


NOTHING_IS_KNOWN = "; no sample of a trial ran this line, so nothing is known of it"


def region_message(region: Region) -> str:
    """Without a final stop."""
    several = region.end_line > region.line
    lines = f"lines {region.line} to {region.end_line}" if several else "this line"
    return f"{lines} never ran: {_why(region)}; nothing is known of {'them' if several else 'it'}"


def _why(region: Region) -> str:
    at, words = f"line {region.at}", region.words
    match region.why:
        case "branch" if region.test is not None:
            return _branch(region, region.test, at)
        case "loop":
            return f"the loop of {at} never went round; needs an element in `{words}`"
        case "else":
            return f"the loop of {at} never came to its end"
        case "case":
            return f"needs {words}"
        case "handler":
            return f"needs {words} to be raised behind the `try` of {at}"
        case "call":
            return f"`{words}` is called at {at}, which never ran"
    return f"no call came past {at}"


def _branch(region: Region, test: ast.expr, at: str) -> str:
    """What the test gave; once, where the very test is what is needed."""
    text = f"`{short(ast.unparse(test))}`"
    if region.wanted and _in_words(test, region.parameters, wanted=True) is None:
        return f"needs {text} ({at}){_kept(test)}, which was false in every call"
    needs = needed(test, region.parameters, wanted=region.wanted)
    return f"{text} ({at}) was {'false' if region.wanted else 'true'} in every call; needs {needs}"


def needed(test: ast.expr, parameters: frozenset[str], *, wanted: bool) -> str:
    """What makes the test give the wanted answer, such as "train mode" or "`x.shape[0] > 8`"."""
    return _in_words(test, parameters, wanted=wanted) or _as_written(test, wanted=wanted)


def _in_words(test: ast.expr, parameters: frozenset[str], *, wanted: bool) -> str | None:
    """Of a test that is said otherwise than it is written; None for any other."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return needed(inner, parameters, wanted=not wanted)
        case ast.BoolOp(op=op, values=values):
            word = " and " if isinstance(op, ast.And) == wanted else " or "
            return word.join(needed(value, parameters, wanted=wanted) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr="training"):
            return "train mode" if wanted else "eval mode"
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            if name in parameters:
                return f"`{name}` left out or None" if isinstance(op, ast.Is) == wanted else f"a `{name}`"
    return None


def _as_written(test: ast.expr, *, wanted: bool) -> str:
    if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return f"`{short(ast.unparse(test))}` to be {'true' if wanted else 'false'}{_kept(test)}"
    return f"`{short(ast.unparse(test if wanted else _opposite(test)))}`"


def _kept(test: ast.expr) -> str:
    own = isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "self"
    return ", an attribute of the model" if own else ""


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _opposite(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)

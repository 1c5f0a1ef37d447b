"""Which lines of a function reach another one, and which part of a line an operation computes with: the cause of a
failure often stands above the line that shows it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from exportlint.trial.protocol.syntax_tree import syntax_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def reaching_lines(path: str, line: int) -> list[int]:
    """The lines above, in the same function, that assign what the line uses, or decide whether it runs, and those that
    reach these; the nearest first."""
    function = function_around(path, line)
    if function is None:
        return []
    statements = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and one is not function]
    deciding = set(_deciding(function.body, line))
    wanted: set[str] = set()
    found: list[int] = []
    for statement in sorted(statements, key=lambda one: -one.lineno):
        here = _header(statement)
        if statement.lineno <= line <= (statement.end_lineno or line) and here.start <= line < here.stop:
            wanted |= set(_names(statement, ast.Load))
        elif statement in deciding or (statement.lineno < line and wanted & set(_names(statement, ast.Store))):
            found.append(statement.lineno)
            wanted |= set(_names(statement, ast.Load))
    return found


def _deciding(block: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements around the line that choose a branch, and those before it that leave its block."""
    for statement in block:
        if statement.lineno > line:
            return
        around = line <= (statement.end_lineno or line) and line not in _header(statement)
        if isinstance(statement, ast.If | ast.While | ast.Match) and (around or _leaves(statement)):
            yield statement
        if around:
            for inner in _blocks(statement):
                yield from _deciding(inner, line)


def _leaves(statement: ast.stmt) -> bool:
    """May what follows the statement not run, since one of its branches ends otherwise?"""
    ends = (block[-1] for block in _blocks(statement) if block)
    return any(
        isinstance(end, ast.Return | ast.Raise | ast.Continue | ast.Break)
        or (isinstance(end, ast.If | ast.With | ast.Try | ast.Match) and _leaves(end))
        for end in ends
    )


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for part in ("body", "orelse", "finalbody"):
        yield getattr(statement, part, [])
    for part in ("handlers", "cases"):
        yield from (inner.body for inner in getattr(statement, part, []))


def named_at(path: str, line: int) -> Iterator[str]:
    """The `self.attribute`s that a line reads."""
    return (name for one in _statements_at(path, line) for name in _names(one, ast.Load) if name.startswith("self."))


def set_at(path: str, line: int) -> Iterator[str]:
    """The `self.attribute`s that a line sets."""
    return (name for one in _statements_at(path, line) for name in _names(one, ast.Store) if name.startswith("self."))


def _statements_at(path: str, line: int) -> list[ast.stmt]:
    function = function_around(path, line)
    own = ast.walk(function) if function is not None else ()
    return [one for one in own if isinstance(one, ast.stmt) and one is not function and line in _header(one)]


def _header(statement: ast.stmt) -> range:
    """The lines of the statement without those of its body."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else (statement.end_lineno or statement.lineno)
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> Iterator[str]:
    """Names and `self.attribute`s that the statement itself, its body left out, reads or writes."""
    body = {id(inner) for part in ("body", "orelse", "finalbody", "handlers") for inner in getattr(statement, part, ())}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, context):
            yield ast.unparse(node)
        if isinstance(node, ast.AugAssign):
            yield ast.unparse(node.target)
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in body]


def function_around(path: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function that holds the line."""
    holding = [one for one in _functions(path) if one.lineno <= line <= (one.end_lineno or 0)]
    return max(holding, key=lambda one: one.lineno, default=None)


def end_of_statement(path: str, line: int) -> int:
    """The last line of the statement without a body that begins there; the line itself where none does."""
    function = function_around(path, line)
    inside = ast.walk(function) if function is not None else ()
    found = (one for one in inside if isinstance(one, ast.stmt) and one.lineno == line and not hasattr(one, "body"))
    return max((one.end_lineno or line for one in found), default=line)


@cache
def _functions(path: str) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    try:
        tree = syntax_tree(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))


# Follow a literal of the program to what gave it.


class Span(NamedTuple):
    """A piece of source: lines and columns from 1, as findings have them."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, line: int, column: int) -> bool:
        return self[:2] <= (line, column) < self[2:]


_WRITTEN: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "rsub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "pow": ast.Pow,
    "floor_divide": ast.FloorDiv, "remainder": ast.Mod,
}  # fmt: skip
_COMPARED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
OUTPUT = "output"


def literal_sources(path: str, line: int, operator: str, output: tuple[int, int]) -> list[list[Span]] | None:
    """Where a number that a node of the program holds may come from, the nearest first: the operands of the operation
    as they are written, then the statements that set what these name, and so on, then the functions that are called
    there. `output`: of the numbers that forward returns, which one, of how many. None where the operation is written in
    another way."""
    function = function_around(path, line)
    if function is None:
        return None
    asked = [part for one in _statements_at(path, line) for part in _operands(one, operator, output)]
    if not asked:
        return None
    tensors = _Tensors(function)
    asked = [one for one in asked if not tensors.hold(one)] or asked
    near = [one for one in asked if not isinstance(one, ast.BinOp)]
    far = [one for one in asked if isinstance(one, ast.BinOp)]
    found = [[_span(one) for one in near], [_span(one) for one in far]]
    wanted, later = {name for one in near for name in _named(one)}, {name for one in far for name in _named(one)}
    seen = set[str]()
    read: list[ast.AST] = [*near, *far]
    while wanted or later:
        seen |= wanted
        setting = [one for one in _setting(function, wanted) if one.lineno < line]
        read += setting
        found.append([_span(one) for one in setting])
        wanted, later = {name for one in setting for name in _names(one, ast.Load)} | later, set()
        wanted -= seen
    return [*found, *_called(path, read, {function})]


def _called(path: str, read: Sequence[ast.AST], known: set[ast.AST]) -> Iterator[list[Span]]:
    """The functions of the same file that are called there, properties too, then those that these call."""
    calls = [node.func for one in read for node in ast.walk(one) if isinstance(node, ast.Call)]
    named = {one.id for one in calls if isinstance(one, ast.Name)} | {one.attr for one in calls if _is_of_self(one)}
    attributes = {
        node.attr for one in read for node in ast.walk(one) if isinstance(node, ast.expr) and _is_of_self(node)
    }
    functions = [
        one
        for one in _functions(path)
        if one not in known and (one.name in named or (one.name in attributes and _is_property(one)))
    ]
    if functions:
        yield [_whole(one) for one in functions]
        yield from _called(path, functions, known | {*functions})


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(one).endswith("property") for one in function.decorator_list)


def _is_of_self(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _whole(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
    return Span(function.lineno, 1, function.end_lineno or function.lineno, (function.end_col_offset or 0) + 1)


_NUMBERS = frozenset({
    "id", "hash", "len", "int", "float", "bool", "str", "repr", "round", "type", "ord", "item", "tolist", "size", "dim",
    "numel", "stride", "data_ptr",
})  # fmt: skip
_OF_TENSORS = frozenset({"shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "layout", "names"})


class _Tensors:
    """Which expressions of a function are computed from its arguments as tensors: not by `id(x)`, nor `x.shape`."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        self.parameters = {one.arg for one in given} - {"self"}
        self.values: dict[str, list[ast.expr]] = {}
        for one in ast.walk(function):
            if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign) and one.value is not None:
                for name in _names(one, ast.Store):
                    self.values.setdefault(name, []).append(one.value)

    def hold(self, node: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
        match node:
            case ast.Name(id=name):
                known = () if name in asked else self.values.get(name, ())
                return name in self.parameters or any(self.hold(one, asked | {name}) for one in known)
            case ast.Attribute(value=owner, attr=attr):
                return attr not in _OF_TENSORS and self.hold(owner, asked)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in _NUMBERS:
                return False
            case ast.Call(func=func, args=args):
                return any(self.hold(one, asked) for one in (func, *args))
        inner = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
        return any(self.hold(one, asked) for one in inner)


def _setting(function: ast.AST, names: set[str]) -> list[ast.stmt]:
    statements = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and one is not function]
    return [one for one in statements if names & set(_names(one, ast.Store))]


def _operands(statement: ast.stmt, operator: str, output: tuple[int, int]) -> Iterator[ast.expr]:
    """What the operation is given in the statement."""
    name = operator.split(".")[1].strip("_") if "." in operator else operator
    if name == OUTPUT:
        yield from _returned(statement, *output)
        return
    for node in ast.walk(statement):
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _WRITTEN.get(name, ())):
                yield from (left, right)
            case ast.AugAssign(op=op, value=value) if isinstance(op, _WRITTEN.get(name, ())):
                yield value
            case ast.Compare(left=left, comparators=others) if name in _COMPARED:
                yield from (left, *others)
            case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called)) if called.rstrip("_") == name:
                yield from (*node.args, *(one.value for one in node.keywords))


def _returned(statement: ast.stmt, number: int, count: int) -> Iterator[ast.expr]:
    match statement:
        case ast.Return(value=ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts)) if (
            len(parts) == count
        ):
            yield parts[number]
        case ast.Return(value=ast.expr() as value):
            yield value


def _named(node: ast.AST) -> Iterator[str]:
    return (ast.unparse(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute)))


def _span(node: ast.expr | ast.stmt) -> Span:
    """Of a compound statement without its body."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        return Span(node.lineno, node.col_offset + 1, body[0].lineno, body[0].col_offset + 1)
    return Span(node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1)

"""The functions that an operator is given, where they stand in the file, and changes of what they return."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rule.branches.branch_function import Branch, Touch
from exportlint.rule.editing.repair import Beside, Elsewhere, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.rule.code import Code


_SHARED = frozenset({Touch.ARGUMENT, Touch.VIEW, Touch.MAYBE_ARGUMENT, Touch.OUTSIDE})
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript)


@dataclass(frozen=True)
class RunFunction:
    """A lambda, a function or a method of the code's file. `is_local`: it can see the variables around the call."""

    code: Code
    node: ast.Lambda | ast.FunctionDef
    branch: Branch
    is_local: bool

    @classmethod
    def given(cls, code: Code, place: cst.BaseExpression) -> RunFunction | None:
        """The function that an argument of an operator is; None for one of another file, or that nobody knows."""
        local = _local(code, place)
        if local is not None:
            return cls._of(code, local, method=False, is_local=True)
        known = code.value(place)
        if known.kind is Kind.MODULE:
            function, method = known.cls.method("forward") if known.cls else None, True
        else:
            function, method = known.function, isinstance(place, cst.Attribute)
        if function is None or function.module is not code.module:
            return None
        return cls._of(code, function.node, method=method, is_local=False)

    @classmethod
    def _of(cls, code: Code, node: ast.AST, *, method: bool, is_local: bool) -> RunFunction | None:
        branch = Branch.of(node, method=method)
        if branch is None or not isinstance(node, ast.Lambda | ast.FunctionDef):
            return None
        return cls(code, node, branch, is_local)

    def source(self, node: ast.AST) -> str:
        """The text of a node as it stands in the file."""
        return ast.get_source_segment(self.code.module.parsed.text, node) or ast.unparse(node)

    def results(self) -> Iterator[list[ast.expr]]:
        """The parts of what each of its returns gives."""
        yield from map(self.branch.results, self.branch.returns)

    def cloned_results(self) -> Iterator[Elsewhere]:
        """What it returns that is not its own, or twice the same, as a clone."""
        for parts in self.results():
            seen: set[str] = set()
            for part in parts:
                again = isinstance(part, ast.Name) and part.id in seen
                if again or self.branch.touched(part) in _SHARED:
                    yield from cloned(part)
                seen.update([part.id] if isinstance(part, ast.Name) else [])

    def cloned_arguments(self) -> Iterator[Elsewhere | Beside]:
        """It writes into clones of its arguments."""
        effects = [node for touch, node in self.branch.effects() if touch is Touch.WRITES_ARGUMENT]
        written = {name for node in effects for name in self._params(node)}
        if isinstance(self.node, ast.FunctionDef):
            lines = "\n".join(f"{name} = {name}.clone()" for name in self.branch.params if name in written)
            if lines:
                yield Beside(_first_statement(self.node), lines, Where.BEFORE)
            return
        for name in written:
            uses = [one for one in ast.walk(self.node.body) if isinstance(one, ast.Name) and one.id == name]
            if len(uses) == 1:
                yield from cloned(uses[0])

    def without_lists(self) -> Iterator[Elsewhere]:
        """It returns tuples where it returns lists."""
        for whole in map(self.branch.resolved, self.branch.returns):
            if isinstance(whole, ast.List):
                yield Elsewhere(_edge(whole, last=False), "(")
                yield Elsewhere(_edge(whole, last=True), ",)" if len(whole.elts) == 1 else ")")

    def with_tensors(self) -> Iterator[Elsewhere]:
        """It returns tensors where it returns floats or bools."""
        for part in (part for parts in self.results() for part in parts):
            if isinstance(part, ast.Constant) and isinstance(part.value, bool | float):
                yield Elsewhere(part, f"torch.full((), {self.source(part)})")

    def without_parameters(self, texts: Mapping[int, str]) -> Iterator[Elsewhere]:
        """A lambda that has other expressions in the place of the parameters at these places."""
        if not isinstance(self.node, ast.Lambda):
            return
        arguments = self.node.args.args
        kept = ", ".join(self.source(one) for place, one in enumerate(arguments) if place not in texts)
        start = arguments[0] if kept else self.node
        column = start.col_offset + (0 if kept else len("lambda"))
        yield Elsewhere(_span((start.lineno, column), _end(arguments[-1])), kept)
        names = {arguments[place].arg: text for place, text in texts.items()}
        for one in ast.walk(self.node.body):
            if isinstance(one, ast.Name) and one.id in names:
                yield Elsewhere(one, names[one.id])

    def _params(self, node: ast.AST) -> Iterator[str]:
        yield from (
            one.id for one in ast.walk(_written(node)) if isinstance(one, ast.Name) and one.id in self.branch.params
        )


def _written(node: ast.AST) -> ast.AST:
    match node:
        case ast.Call(func=ast.Attribute(value=owner)) | ast.Assign(targets=[ast.Subscript(value=owner)]):
            return owner
        case ast.AugAssign(target=ast.Subscript(value=owner) | owner):
            return owner
    return node


def _first_statement(node: ast.FunctionDef) -> ast.stmt:
    has_text = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    return node.body[1 if has_text else 0]


def cloned(node: ast.expr) -> Iterator[Elsewhere]:
    """`.clone()` behind an expression, which other changes may be inside of."""
    is_atom = isinstance(node, _ATOMS)
    if not is_atom:
        yield Elsewhere(_span(_start(node), _start(node)), "(")
    yield Elsewhere(_span(_end(node), _end(node)), ".clone()" if is_atom else ").clone()")


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.arg) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _edge(node: ast.expr, *, last: bool) -> ast.expr:
    """The first or the last character."""
    (line, column), (end_line, end) = _start(node), _end(node)
    return _span((end_line, end - 1), (end_line, end)) if last else _span((line, column), (line, column + 1))


def _span(start: tuple[int, int], end: tuple[int, int]) -> ast.expr:
    """A node that stands for so much of the file."""
    return ast.Name("", ast.Load(), lineno=start[0], col_offset=start[1], end_lineno=end[0], end_col_offset=end[1])


def _local(code: Code, place: cst.BaseExpression) -> ast.Lambda | ast.FunctionDef | None:
    """A lambda or a function of the piece of code itself."""
    around = code.function.node if code.function else code.module.tree
    if isinstance(place, cst.Lambda):
        found = node_at(code, place, around)
        return found if isinstance(found, ast.Lambda) else None
    if not isinstance(place, cst.Name):
        return None
    made: list[ast.Lambda | ast.FunctionDef] = []
    for node in ast.walk(around):
        match node:
            case ast.FunctionDef(name=name) if name == place.value and node is not around:
                made.append(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value) if name == place.value:
                made.append(value)
    return made[0] if len(made) == 1 else None


def node_at(code: Code, node: cst.CSTNode, around: ast.AST) -> ast.AST | None:
    """The node of `ast` that stands where this one does."""
    place, kind = code.place(node), ast.expr if isinstance(node, cst.BaseExpression) else ast.stmt
    for one in ast.walk(around):
        if isinstance(one, kind) and (one.lineno, one.end_lineno) == (place.line, place.end_line):
            columns = _column(code, one.lineno, one.col_offset), _column(code, place.end_line, one.end_col_offset or 0)
            if columns == (place.column, place.end_column):
                return one
    return None


def _column(code: Code, line: int, before: int) -> int:
    """The column of a finding for one of ast, which counts bytes."""
    return len(code.module.parsed.lines[line - 1].encode()[:before].decode()) + 1

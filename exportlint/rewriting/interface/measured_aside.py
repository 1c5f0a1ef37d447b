"""Leave a measurement out of the export: a number that statements hand on until one prints, logs or keeps it."""

from __future__ import annotations

import ast
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite
from exportlint.rule.patterns import flat_targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


_TEST = "if not torch.compiler.is_exporting():"
_LEAVING = (cst.Return, cst.Raise, cst.Break, cst.Continue, cst.Yield, cst.Await, cst.FunctionDef, cst.With, cst.Try)


def measured_aside(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """All statements that the number which `node` gives goes through run in eager only; None where it gets out."""
    first = _line_of(code, node)
    lines = _lines(whole_function(code, node))
    found, names = [first] if first is not None else [], set[str]()
    for line in found:
        if any(isinstance(one, _LEAVING) for one in every(line)):
            return None
        names |= (new := set(_set_by(line)))
        found += (one for one in lines if one not in found and _reads(one, new) and not _is_within(code, one, found))
    simple = (one for one in lines if isinstance(one, cst.SimpleStatementLine))
    settings = [one for one in simple if names & set(_set_by(one))]
    if not found or any(not _is_within(code, one, found) for one in settings) or _reaches(code, found, names):
        return None
    if _is_kept_and_read(code, found):
        return None
    changes = tuple(_guarded(code, _outermost(code, found)))
    return Rewrite("measure in eager only", (*changes, ModuleImport("torch"))) if changes else None


def _outermost(code: Code, lines: list[cst.BaseStatement]) -> Sequence[cst.CSTNode]:
    """With the `if`s of which all statements are among them, and without what stands in one of these."""
    for line in lines:
        above = _only_within(code, line)
        if above is not None and above not in lines and all(one in lines for one in above.body.body):
            lines.append(above)
    return [one for one in lines if not _is_within(code, one, [other for other in lines if other is not one])]


def _only_within(code: Code, line: cst.CSTNode) -> cst.If | None:
    """The `if` without an `else` that the line is in."""
    block = code.parent(line)
    above = code.parent(block) if isinstance(block, cst.IndentedBlock) else None
    return above if isinstance(above, cst.If) and above.orelse is None else None


def _line_of(code: Code, node: cst.CSTNode) -> cst.BaseStatement | None:
    now: cst.CSTNode | None = node
    while now is not None and not isinstance(now, cst.BaseStatement):
        now = code.parent(now)
    return now if isinstance(now, cst.SimpleStatementLine | cst.If) else None


def _lines(function: cst.CSTNode) -> list[cst.SimpleStatementLine | cst.If]:
    return [one for one in every(function) if isinstance(one, cst.SimpleStatementLine | cst.If)]


def _set_by(line: cst.CSTNode) -> Iterator[str]:
    settings = (one for one in every(line) if isinstance(one, cst.Assign | cst.AugAssign | cst.AnnAssign))
    yield from (target.value for one in settings for target in flat_targets(one) if isinstance(target, cst.Name))


def _reads(line: cst.SimpleStatementLine | cst.If, names: set[str]) -> bool:
    """Is one of the names in the line, or in the test of the `if`?"""
    part = line.test if isinstance(line, cst.If) else line
    return any(isinstance(one, cst.Name) and one.value in names for one in every(part))


def _is_within(code: Code, line: cst.CSTNode, lines: Sequence[cst.CSTNode]) -> bool:
    now: cst.CSTNode | None = line
    while now is not None:
        if any(now is one for one in lines):
            return True
        now = code.parent(now)
    return False


def _reaches(code: Code, lines: Sequence[cst.CSTNode], names: set[str]) -> bool:
    """Is a name read elsewhere: by a `return`, a `with`, a loop or a nested function?"""
    used = [one for one in every(whole_function(code, lines[0])) if isinstance(one, cst.Name) and one.value in names]
    return any(not _is_within(code, one, lines) for one in used)


def _is_kept_and_read(code: Code, lines: Sequence[cst.CSTNode]) -> bool:
    """Does the class read an attribute that one of the lines sets?"""
    stored = [
        target for line in lines for one in every(line) for target in flat_targets(one) if _is_setting(code, target)
    ]
    kept = {target.attr.value for target in stored if isinstance(target, cst.Attribute)}
    nodes = [node for cls in (code.cls.lineage if code.cls else ()) for node in ast.walk(cls.node)]
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in kept for node in nodes
    )


def _is_setting(code: Code, target: cst.CSTNode) -> bool:
    return isinstance(code.parent(target), cst.AssignTarget | cst.AugAssign | cst.AnnAssign)


def _guarded(code: Code, lines: Sequence[cst.CSTNode]) -> Iterator[Change]:
    """Neighbours go under one test."""
    ordered = sorted(lines, key=lambda one: code.place(one).line)
    runs: list[list[cst.CSTNode]] = [[ordered[0]]]
    for before, line in pairwise(ordered):
        block = code.parent(line)
        body: list[cst.CSTNode] = list(block.body) if isinstance(block, cst.IndentedBlock) else []
        near = before in body and body.index(line) == body.index(before) + 1
        runs = [*runs[:-1], [*runs[-1], line]] if near else [*runs, [line]]
    for run in runs:
        yield Change(run[0], "\n".join([_TEST, *(textwrap.indent(_dedented(code, line), "    ") for line in run)]))
        yield from (Change(line, "") for line in run[1:])


def _dedented(code: Code, line: cst.CSTNode) -> str:
    first, *more = code.source_of(line).split("\n")
    column = code.place(line).column - 1
    return "\n".join([first, *(text[column:] if text[:column].isspace() else text for text in more)])

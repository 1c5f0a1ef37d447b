"""Rewrites of what only a trial found: the rule whose failure it is suspected nothing there, so the engine knows
nothing of the values. What may be a tensor by its syntax is taken for one; a trial tells whether that was right.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.parsed import Parsed
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import SCALAR, SIZE, TENSOR, Belief, Instance, Value, exactly, span_of
from exportlint.finding import Evidence
from exportlint.registry import all_rules
from exportlint.rewrite.transformation import proposed_rewrites
from exportlint.rule.code import CodePiece, SourceText
from exportlint.rule.editing.edits import suspected_rewrites
from exportlint.rule.patterns import called
from exportlint.static.merging import fix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Span
    from exportlint.finding import Finding
    from exportlint.rule.editing.repair import Repair
    from exportlint.rule.suspicion import SuspectedRewrite


_DISTRIBUTIONS = "torch.distributions."
_SIZES = frozenset({"size", "numel", "nelement"})
_OF_PYTHON = frozenset({
    "dim", "ndim", "ndimension", "is_floating_point", "is_complex", "is_contiguous", "shape", "dtype", "device",
    "is_cuda", "requires_grad", "training", "type", "get", "keys", "values", "items", "startswith", "endswith",
})  # fmt: skip


# Tried where no rule knows what a trial met, or what the rule's own ways make of the line is nothing.
_GENERAL = ("templates", "decide-in-data", "loop-in-data", "numbers-stay-tensors", "state-in-buffers", "interface")
_MOST = 4


def with_rewrites(finding: Finding, path: Path, text: str) -> Finding:
    """The finding; one that a trial alone found at a line, with what general rewrites make of that."""
    if finding.evidence is not Evidence.DISCOVERED or finding.rewrites or not finding.line:
        return finding
    rule = all_rules().get(finding.rule)
    try:
        piece = _piece(path, text, finding.line) if rule is not None and rule.repair is not None else None
        ways = list(_ways(rule.repair(piece), piece, finding.line)) if rule and rule.repair and piece else []
        site = _site(path, text, finding.line)
        own = rule.cls.mended_by if rule is not None else ()
        ways += site.proposed(own) if site is not None else ()
        if site is not None and not ways:
            ways += islice(site.proposed([one for one in _GENERAL if one not in own]), _MOST)
    except (SyntaxError, ValueError, RecursionError):
        return finding
    return replace(finding, rewrites=tuple(fix_of(way, finding.path) for way in ways))


@dataclass(frozen=True)
class _Line:
    """The innermost statement at a line of a file, of which the engine says what it can."""

    module: ModuleInfo
    belief: Belief
    span: Span

    def proposed(self, names: Iterable[str]) -> Iterator[SuspectedRewrite]:
        yield from proposed_rewrites(names, self.module, self.belief, None, self.span)


def _site(path: Path, text: str, line: int) -> _Line | None:
    engine = Engine(Project())
    module = engine.project.add(path, Parsed(ast.parse(text), text))
    at_line = [node for node in ast.walk(module.tree) if isinstance(node, ast.stmt) and _begins(node, line)]
    span = span_of(at_line[-1]) if at_line else None
    if span is None:
        return None
    with suppress(Exception):  # what it did not reach is guessed
        engine.run(module, ())
    return _Line(module, engine.beliefs.get(path, Belief()), span)


def _begins(node: ast.stmt, line: int) -> bool:
    """Does the line belong to the statement, and to none of its blocks?"""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return node.lineno <= line <= max(last, node.lineno)


def _piece(path: Path, text: str, line: int) -> _Guessed | None:
    """The outermost function around the line."""
    parsed = Parsed(ast.parse(text), text)
    module = Project().add(path, parsed)
    for function in _functions(module):
        if function.node.lineno <= line <= (function.node.end_lineno or 0):
            return _Guessed(SourceText(parsed), module, Belief(), str(path), function)
    return None


def _functions(module: ModuleInfo) -> Iterator[FunctionInfo]:
    yield from module.functions.values()
    for cls in module.classes.values():
        yield from cls.methods.values()


def _ways(repair: Repair, piece: CodePiece, line: int) -> Iterator[SuspectedRewrite]:
    for node, case in repair.unforeseen(line):
        yield from suspected_rewrites(repair, piece, node, case)


class _Guessed(CodePiece):
    """Code of which nothing but the syntax is known."""

    def value(self, node: cst.CSTNode) -> Value:
        match node:
            case cst.BaseNumber() | cst.BaseString() | cst.Lambda() | cst.BaseDict() | cst.List() | cst.Tuple():
                return SCALAR
            case cst.Comparison(left=left, comparisons=parts):
                sides = (left, *(part.comparator for part in parts))
                identity = any(isinstance(p.operator, cst.Is | cst.IsNot | cst.In | cst.NotIn) for p in parts)
                return SCALAR if identity or not any(map(self._may_be_tensor, sides)) else TENSOR
            case cst.Call():
                return self._called(node)
            case cst.Subscript(value=owner):
                return SIZE if isinstance(owner, cst.Attribute) and owner.attr.value == "shape" else TENSOR
            case cst.Name(value="None" | "True" | "False" | "self" | "cls"):
                return SCALAR
            case cst.Name() | cst.Attribute():
                return self._named(node)
            case cst.UnaryOperation(operator=cst.Not()) | cst.BooleanOperation():
                return SCALAR
            case cst.BinaryOperation() | cst.UnaryOperation():
                return TENSOR
        return super().value(node)

    def name(self, node: cst.CSTNode) -> str | None:
        """Nothing of what the function binds itself."""
        if isinstance(node, cst.Name) and node.value in self.sketch.bound:
            return None
        return super().name(node)

    def _may_be_tensor(self, node: cst.BaseExpression) -> bool:
        return self.value(node).may_be_data

    def _called(self, node: cst.Call) -> Value:
        name = self.name(node.func) or ""
        if name.startswith(_DISTRIBUTIONS):
            return exactly(Instance(name=name))
        if called(node) in _SIZES:
            return SIZE
        return SCALAR if name.startswith("builtins.") or called(node) in _OF_PYTHON or "is_" in name else TENSOR

    def _named(self, node: cst.Name | cst.Attribute) -> Value:
        """A tensor, where it is computed with; as a test by itself it may be a flag as well."""
        last = node.value if isinstance(node, cst.Name) else node.attr.value
        if last in _OF_PYTHON or (name := self.name(node) or "").startswith("builtins."):
            return SCALAR
        if name and not name.startswith("torch."):
            return SCALAR
        above = self.parent(node)
        alone = isinstance(above, cst.BooleanOperation | cst.If | cst.IfExp | cst.Assert | cst.UnaryOperation)
        return Value((*TENSOR.options, *SCALAR.options)) if alone else TENSOR

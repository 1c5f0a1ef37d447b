"""One piece of source as a rule sees it: a libcst tree, and what the engine knows about every place in it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import libcst as cst

from exportlint.engine.values.abstract_value import UNKNOWN, Value
from exportlint.rule.sketch import Sketch
from exportlint.rule.suspicion import Place
from exportlint.rule.syntax.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Belief, ExportCall, Span


class Code(Protocol):
    """The piece of source a rule looks at, and what the engine knows about it.

    path       as findings name it
    module     the file that it stands in
    function   None where the piece is a whole file; `cls` the function's class, if it has one

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch.nn.functional as F
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         return F.relu(x)
    ... ''', "forward")
    >>> code.cls.name, sorted(code.sketch.origins)
    ('Net', ['torch.nn.functional.relu'])
    """

    path: str
    module: ModuleInfo
    function: FunctionInfo | None
    cls: ClassInfo | None

    @property
    def sketch(self) -> Sketch:
        """The syntax of the piece, before libcst parses it."""

    @property
    def sampled(self) -> bool:
        """Is the class judged by what samples of the file give it, and by no guess?"""

    @property
    def declares_dims(self) -> bool:
        """Does a sample that leads here say by `dynamic_shapes` which dims are dynamic?"""

    @property
    def exports(self) -> Sequence[ExportCall]:
        """What the file exports, or keeps for an exporter elsewhere, where the engine knows the inputs."""

    def value(self, node: cst.CSTNode) -> Value:
        """What the expression is; UNKNOWN where the engine has no belief."""

    def name(self, node: cst.CSTNode) -> str | None:
        """The dotted origin of a name or attribute: "torch.cond", "numpy.random.rand", "builtins.id"; else None."""

    def place(self, node: cst.CSTNode) -> Place:
        """Where the node stands in the file."""

    def text(self, node: cst.CSTNode) -> str:
        """The node's source, on one line and cut to a readable length."""

    def source_of(self, node: cst.CSTNode) -> str:
        """The node's source as it stands in the file, without the parentheses around it."""

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that this one is a part of; None of the whole piece."""

    def sweep(self, visitor: cst.CSTVisitor) -> None:
        """Run another visitor over the same piece of code; much cheaper than the tree's own `visit`."""

    def reached(self, node: cst.CSTNode) -> bool:
        """Can export run this node (False behind `is_exporting()`, a TYPE_CHECKING test, after a return …)?"""

    def in_operator(self, node: cst.CSTNode) -> bool:
        """Does the node run only where an operator runs a function, as `torch.cond` does its branches?"""


_READABLE = 60


class SourceText:
    """The text of a file, by lines; turns libcst's columns (characters) into ast's (bytes)."""

    def __init__(self, parsed: Parsed) -> None:
        self.text = parsed.text
        self.lines = parsed.lines

    def bytes_before(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return column if text.isascii() else len(text[:column].encode())


class Syntax:
    """What libcst makes of a text. `shift` is what its line numbers lack; `is_indented`: it stands under an `if`."""

    def __init__(self, text: str, shift: int, *, is_indented: bool = False) -> None:
        self.shift = shift
        self._is_indented = is_indented
        self.tree = cst.parse_module(text)

    @classmethod
    def of_function(cls, text: str, first_line: int) -> Syntax:
        """A function is parsed alone, under an `if` that stands where the line before it stood."""
        is_indented = text[:1] in {" ", "\t"}
        return cls(("if True:\n" if is_indented else "\n") + text + "\n", first_line - 2, is_indented=is_indented)

    @cached_property
    def walk(self) -> Walk:
        return Walk(self.tree, self.tree.body[0] if self._is_indented else None)

    @cached_property
    def positions(self) -> Mapping[int, Span]:
        from exportlint.rule.syntax.positions import positions  # noqa: PLC0415 (libcst, only where something is parsed)

        return positions(self.tree)


class CodePiece:
    """Implements `exportlint.rule.Code` for a function, or for a whole file (`function` is None)."""

    def __init__(
        self, source: SourceText, module: ModuleInfo, belief: Belief, path: str, function: FunctionInfo | None = None
    ) -> None:
        self.source = source
        self.module = module
        self.path = path
        self.function = function
        self.cls: ClassInfo | None = function.cls if function else None
        self.belief = belief

    @cached_property
    def sketch(self) -> Sketch:
        return Sketch(self.module, self.belief, self.function)

    @property
    def sampled(self) -> bool:
        return self.cls is not None and self.cls in self.belief.sampled

    @property
    def declares_dims(self) -> bool:
        return self.belief.declares_dims

    @property
    def exports(self) -> Sequence[ExportCall]:
        return self.belief.exports

    @cached_property
    def text_of_piece(self) -> str:
        """What rules' `words` are matched against."""
        if self.function is None:
            return self.source.text
        first, last = _lines_of(self.function)
        return "\n".join(self.source.lines[first - 1 : last])

    @cached_property
    def _syntax(self) -> Syntax:
        """Kept with the file where the function is another file's, which other files run too."""
        if self.function is None:
            return Syntax(self.text_of_piece, 0)
        kept = self.module.parts.syntax
        if self.function.node not in kept:
            first, _ = _lines_of(self.function)
            kept[self.function.node] = Syntax.of_function(self.text_of_piece, first)
        return cast("Syntax", kept[self.function.node])

    @property
    def tree(self) -> cst.Module:
        return self._syntax.tree

    @property
    def walk(self) -> Walk:
        return self._syntax.walk

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return {child: node for node in _every(self.tree) for child in node.children}

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def place(self, node: cst.CSTNode) -> Place:
        line, column, end_line, end_column = self._syntax.positions[id(node)]
        shift = self._syntax.shift
        return Place(line + shift, column + 1, end_line + shift, end_column + 1)

    def span(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        p = self.place(node)
        before = self.source.bytes_before
        return (p.line, before(p.line, p.column - 1), p.end_line, before(p.end_line, p.end_column - 1))

    def value(self, node: cst.CSTNode) -> Value:
        if id(node) not in self._syntax.positions:
            return UNKNOWN
        span = self.span(node)
        found = self.belief.values.get(span)
        if found is None and isinstance(node, cst.Tuple | cst.GeneratorExp) and node.lpar:
            line, column, end_line, end_column = span  # ast counts the parentheses of these two
            found = self.belief.values.get((line, column - 1, end_line, end_column + 1))
        return found or UNKNOWN

    def name(self, node: cst.CSTNode) -> str | None:
        match node:
            case cst.Name(value=name):
                return self.sketch.origin(name, self.value(node) if name in self.sketch.bound else UNKNOWN)
            case cst.Attribute(value=owner, attr=cst.Name(value=attr)):
                inner = self.name(owner)
                return f"{inner}.{attr}" if inner else None
        return None

    def text(self, node: cst.CSTNode) -> str:
        whole = " ".join(self.tree.code_for_node(node).split())
        return whole if len(whole) <= _READABLE else whole[: _READABLE - 1] + "…"

    def source_of(self, node: cst.CSTNode) -> str:
        p = self.place(node)
        lines = self.source.lines[p.line - 1 : p.end_line]
        lines[-1] = lines[-1][: p.end_column - 1]
        lines[0] = lines[0][p.column - 1 :]
        return "\n".join(lines)

    def sweep(self, visitor: cst.CSTVisitor) -> None:
        self.walk.run(visitor)

    def reached(self, node: cst.CSTNode) -> bool:
        if self.function is None:
            return True
        p = self.span(node)
        position = (p[0], p[1])
        return not any(span[:2] <= position < span[2:] for span in self._dead)

    def in_operator(self, node: cst.CSTNode) -> bool:
        span = self.span(node)
        return any(run[:2] <= span[:2] and span[2:] <= run[2:] for run in self.belief.runs.keys() - self.belief.called)

    @cached_property
    def _dead(self) -> list[tuple[int, int, int, int]]:
        """Spans of this function that no context ran."""
        if self.function is None:
            return []
        n = self.function.node
        whole = (n.lineno, n.col_offset, n.end_lineno or 0, n.end_col_offset or 0)
        runs = self.belief.runs.get(whole, 1)
        return [s for s, times in self.belief.dead.items() if times >= runs and whole[:2] <= s[:2] <= whole[2:]]


def _lines_of(function: FunctionInfo) -> tuple[int, int]:
    """First (decorators included) and last line."""
    node = function.node
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return first, node.end_lineno or node.lineno


def _every(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _every(child)

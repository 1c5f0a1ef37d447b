"""Where the nodes of a libcst tree stand, as libcst's PositionProvider says, in half of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libcst._nodes.internal import CodegenState

if TYPE_CHECKING:
    import libcst as cst

    from exportlint.engine.values.abstract_value import Span


def positions(tree: cst.Module) -> dict[int, Span]:
    """The `id` of each node -> its first line and column, and those after its end; lines from 1, columns from 0."""
    writer = _PlaceWriter(tree.default_indent, tree.default_newline)
    tree._codegen(writer)  # noqa: SLF001 (libcst has no other way to learn a place than to write the code)
    return writer.spans


class _PlaceWriter(CodegenState):
    """Follows the code that libcst writes for a tree, and keeps nothing of it but the place."""

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.tokens = [""]  # some code was written: libcst asks at the end of the file
        self.spans: dict[int, Span] = {}
        self.line, self.column = 1, 0
        self._starts: list[tuple[int, int]] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        if "\n" in value:
            self.line += value.count("\n")
            self.column = len(value) - value.rindex("\n") - 1
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        del node
        self._starts.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        """What `record_syntactic_position` has noted, without the blanks around the node, stands."""
        start = self._starts.pop()
        self.spans.setdefault(id(node), (*start, self.line, self.column))

    def record_syntactic_position(  # type: ignore[override] # a context manager as well, and no generator
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recorded:
        return _Recorded(self, node, start_node, end_node)


class _Recorded:
    """Notes where a node begins and ends; its parts say so where `start_node` and `end_node` are given."""

    __slots__ = ("_end_node", "_node", "_start", "_start_node", "_writer")

    def __init__(
        self, writer: _PlaceWriter, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self._writer, self._node = writer, node
        self._start_node, self._end_node = start_node, end_node

    def __enter__(self) -> None:
        self._start = (self._writer.line, self._writer.column)

    def __exit__(self, *_error: object) -> None:
        spans = self._writer.spans
        start = self._start if self._start_node is None else spans[id(self._start_node)][:2]
        end = (self._writer.line, self._writer.column) if self._end_node is None else spans[id(self._end_node)][2:]
        spans[id(self._node)] = (*start, *end)

"""The base of visitors that are defined without libcst, whose import takes longer than judging a small file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.rule.syntax.walk import Walk

if TYPE_CHECKING:
    from libcst import CSTNode, CSTVisitor

    Visitor = CSTVisitor
else:

    class Visitor:
        """A libcst visitor: `node.visit(visitor)` calls its methods `visit_…` and `leave_…` on the node and all below.

        Take it in place of `libcst.CSTVisitor`, so that a rule can be loaded without libcst.

        >>> import libcst as cst
        >>> class Names(Visitor):
        ...     def visit_Name(self, node):
        ...         print(node.value)
        >>> _ = cst.parse_expression("x + f(y)").visit(Names())
        x
        f
        y
        """

        def on_visit(self, node: CSTNode) -> bool:
            """What libcst's `visit` asks first. The whole visit is done here; libcst goes no deeper, and is slower."""
            Walk(node).run(self)
            return False

        def on_leave(self, node: CSTNode, _rebuilt: CSTNode | None = None) -> CSTNode:
            """What libcst's `visit` asks last: what stands in the node's place, which is the node."""
            return node

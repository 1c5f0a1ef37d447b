"""One numbering of a libcst tree, for many visitors.

libcst's own `visit` rebuilds every node on the way, for each visitor anew: most of the time of a static pass. Here the
tree is numbered once; a visitor then meets only nodes of the types it has methods for, in the same order. `Visitor` is
the base of visitors that are defined without libcst, whose import takes longer than judging a small file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Visit = tuple[int, int, Callable[[cst.CSTNode], object], cst.CSTNode, bool]


_HOOK = re.compile(r"(visit|leave)_([A-Z]\w*?)(?:_([a-z]\w*))?$")
# Where the fields of a node do not stand in the order of the source.
_SOURCE_ORDER: dict[str, tuple[str, ...]] = {
    "Arg": ("keyword", "value"),
    "ClassDef": ("decorators", "name", "type_parameters", "bases", "keywords", "body"),
    "ExceptHandler": ("type", "name", "body"),
    "ExceptStarHandler": ("type", "name", "body"),
    "FunctionDef": ("decorators", "name", "type_parameters", "params", "returns", "body"),
    "IfExp": ("body", "test", "orelse"),
    "MatchCase": ("pattern", "guard", "body"),
}
_LAYOUT = re.compile(r"white|lines|_par$|^[lr]par$|comma|semicolon|header|footer|^eol|indent|newline|bracket|brace")


class Walk:
    """The nodes of a tree by type, each with the numbers at which it is entered and left. Layout is left out.

    `hidden` is a node that no visitor meets; what is in it, they do.
    """

    def __init__(self, tree: cst.CSTNode, hidden: cst.CSTNode | None = None) -> None:
        self._clock = 0
        self._hidden = hidden
        self._by_type: dict[str, list[cst.CSTNode]] = defaultdict(list)
        self._times: dict[int, tuple[int, int]] = {}  # by id, which is hashed faster than a node
        self._number(tree)

    def _number(self, node: cst.CSTNode) -> None:
        enter = self._clock
        self._clock += 1
        if node is not self._hidden:
            self._by_type[type(node).__name__].append(node)
        for name in _children_of(type(node)):
            for child in _nodes(getattr(node, name)):
                self._number(child)
        self._times[id(node)] = (enter, self._clock)
        self._clock += 1

    def run(self, visitor: cst.CSTVisitor) -> None:
        """Call the visitor's `visit_…` and `leave_…` methods; a visit that returns False leaves out the children."""
        skip_until = -1
        for when, _, method, node, entering in sorted(self._visits(visitor), key=lambda e: e[:2]):
            if when < skip_until:
                continue
            if method(node) is False and entering:
                skip_until = self._times[id(node)][1]

    def _visits(self, visitor: cst.CSTVisitor) -> Iterator[Visit]:
        for hook, kind, type_name, attribute in _hooks(type(visitor)):
            method = getattr(visitor, hook)
            for node in self._by_type.get(type_name, ()):
                times = self._times[id(node)] if attribute is None else self._span(node, attribute)
                if times:
                    entering = kind == "visit"
                    # An attribute's own hook runs before the first node in it, and after the last.
                    order = (-1 if entering else 1) if attribute else 0
                    yield times[0 if entering else 1], order, method, node, entering and attribute is None

    def _span(self, node: cst.CSTNode, attribute: str) -> tuple[int, int] | None:
        inside = [self._times[id(n)] for n in _nodes(getattr(node, attribute)) if id(n) in self._times]
        return (inside[0][0], inside[-1][1]) if inside else None


@cache
def _hooks(visitor: type[cst.CSTVisitor]) -> tuple[tuple[str, str, str, str | None], ...]:
    """The methods that the visitor's classes define themselves, as (method, visit or leave, node type, attribute)."""
    own = {n for c in visitor.__mro__ if not c.__module__.startswith("libcst") for n in vars(c)}
    found = (_HOOK.match(n) for n in sorted(own))
    return tuple((m.group(0), m.group(1), m.group(2), m.group(3)) for m in found if m)


@cache
def _children_of(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    names = [f.name for f in fields(node_type) if not _LAYOUT.search(f.name)]
    first = [name for name in _SOURCE_ORDER.get(node_type.__name__, ()) if name in names]
    return (*first, *(name for name in names if name not in first))


def _nodes(value: object) -> Iterator[cst.CSTNode]:
    if isinstance(value, cst.CSTNode):
        yield value
    elif isinstance(value, list | tuple):
        yield from (v for v in value if isinstance(v, cst.CSTNode))


if TYPE_CHECKING:
    Visitor = cst.CSTVisitor
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

        def on_visit(self, node: cst.CSTNode) -> bool:
            """What libcst's `visit` asks first. The whole visit is done here; libcst goes no deeper, and is slower."""
            Walk(node).run(self)
            return False

        def on_leave(self, node: cst.CSTNode, _rebuilt: cst.CSTNode | None = None) -> cst.CSTNode:
            """What libcst's `visit` asks last: what stands in the node's place, which is the node."""
            return node

"""A function or property with a cache gives a tensor.

Why: the first call may be the tracer's. What it computes then is a traced value, and the cache keeps it: in
non-strict mode the program is right and the eager model fails or computes with leftovers of the export afterwards. A
`cached_property` is refused in strict mode, whatever it gives; `lru_cache` of numbers is fine.

Only the eager model is harmed, and only if nobody filled the cache before: hence a note.

Instead: make the tensor in `__init__` and register it as a buffer, or compute it in every call.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Kind, Rule, Severity

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_CACHES = frozenset({"functools.lru_cache", "functools.cache", "functools.cached_property"})


class CachedTensor(Rule):
    mended_by = ("templates", "state-in-buffers", "made-once")
    cases: ClassVar = {
        "BadCachedFunction": Case(
            "`{code}` comes from a cache, and the tracer's tensor would stay in it",
            "register the tensor as a buffer in `__init__`, or compute it in every call",
        ),
        "BadCachedProperty": Case(
            "`{code}` is a cached property, and the tracer's tensor would stay in it",
            "register the tensor as a buffer in `__init__`, or compute it in every call",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is something called, or an attribute read, that comes from a cache?"""
        sketch = code.sketch
        called = (sketch.value(call.node.func).function for call in sketch.calls)
        read = ((sketch.value(node.value).cls, node.attr) for node in sketch.nodes(ast.Attribute))
        found = (*called, *(cls.method(name) for cls, name in read if cls))
        return any(function and not _CACHES.isdisjoint(function.decorators) for function in found)

    def visit_Call(self, node: cst.Call) -> None:
        function = self.code.value(node.func).function
        if function and _CACHES & set(function.decorators) and self.code.value(node).kind is Kind.TENSOR:
            self.report(node, "BadCachedFunction", at_most=Severity.NOTE)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        cls = self.code.value(node.value).cls
        found = cls.method(node.attr.value) if cls else None
        if found and "functools.cached_property" in found.decorators and self.code.value(node).kind is Kind.TENSOR:
            self.report(node, "BadCachedProperty", at_most=Severity.WARNING)

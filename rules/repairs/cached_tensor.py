"""What gives a tensor is computed in every call: the cache goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Elsewhere, Repair, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import FunctionInfo


_CACHES = frozenset({"functools.lru_cache", "functools.cache"})


class WithoutCache(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        function = self._function(node)
        if function is None or function.module is not self.code.module:
            return
        for decorator, origin in zip(getattr(function.node, "decorator_list", ()), function.decorators, strict=True):
            if origin in _CACHES:
                yield Rewrite("compute it in every call", (Elsewhere(decorator, ""),))
            elif origin == "functools.cached_property":
                yield Rewrite("compute it in every call", (Elsewhere(decorator, "property"),))

    def _function(self, node: cst.CSTNode) -> FunctionInfo | None:
        match node:
            case cst.Call(func=function):
                return self.code.value(function).function
            case cst.Attribute(value=owner, attr=cst.Name(value=name)):
                cls = self.code.value(owner).cls
                return cls.method(name) if cls else None
        return None

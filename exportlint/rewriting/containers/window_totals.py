"""The last few values on self, of which there are none at first, and which are only summed, averaged or counted."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.rewriting.containers.running_totals import COUNT, LAST, TOTAL, RunningTotals
from exportlint.rewriting.state.registered import buffer_line, sizes
from exportlint.rule.editing.repair import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.editing.repair import AnyChange


@dataclass
class WindowTotals(RunningTotals):
    """`self.last = deque(maxlen=8)`; or a list, of which `if len(self.last) > 8: self.last.pop(0)` drops the first."""

    def changes(self) -> tuple[AnyChange, ...] | None:
        if self._length is None:
            return None
        changes = super().changes()
        dropped = (Elsewhere(self._drop, ""),) if self._drop is not None else ()
        return changes and (*changes, *dropped)

    def begins_empty(self) -> bool:
        return self._length is not None

    def all_mentions(self) -> list[ast.Attribute]:
        dropped = {id(one) for one in ast.walk(self._drop)} if self._drop is not None else set()
        return [one for one in super().all_mentions() if id(one) not in dropped]

    @property
    def buffers(self) -> list[str]:
        return [*super().buffers, "window"]

    @cached_property
    def _length(self) -> str | None:
        """How many there are at most, as `__init__` can say it."""
        match self.own.defined:
            case ast.Call(func=function, args=[], keywords=[ast.keyword(arg="maxlen", value=length)]):
                return ast.unparse(length) if last_name(function) == "deque" else None
            case ast.List(elts=[]) if self._drop is not None:
                test = self._drop.test
                return self.own.as_in_init(test.comparators[0]) if isinstance(test, ast.Compare) else None
        return None

    @cached_property
    def _drop(self) -> ast.If | None:
        nodes = [one for method in self.own.run for one in ast.walk(method) if isinstance(one, ast.If)]
        found = [one for one in nodes if self._drops(one)]
        return found[0] if len(found) == 1 else None

    def _drops(self, node: ast.If) -> bool:
        """Behind the append where it asks for more than there may be, before it where it asks for as many."""
        match node:
            case ast.If(
                test=ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[counted]), ops=[order]),
                body=[ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="pop"), args=[first]))],
                orelse=[],
            ) if isinstance(order, ast.Gt | ast.GtE) and ast.unparse(first) == "0" and self.append is not None:
                in_order = (self.append.lineno < node.lineno) is isinstance(order, ast.Gt)
                return in_order and self.own.is_own(counted) and self.own.is_own(owner)
        return False

    def lines(self, append: ast.Expr) -> Iterator[str]:
        """Nothing where one of them has no known size."""
        value = self.added_value(append)
        dims = sizes(self.code.sketch.value(value)) if value is not None else None
        if dims is not None and self.needed <= {TOTAL, COUNT, LAST}:
            yield from super().lines(append)

    def beside(self, append: ast.Expr) -> list[str]:
        value = self.added_value(append)
        dims = sizes(self.code.sketch.value(value)) if value is not None else None
        size = ", ".join([str(self._length), *map(str, dims or ())])
        return [buffer_line(f"{self.own.name}_window", f"torch.zeros({size})")]

    def added(self, append: ast.Expr) -> Iterator[str]:
        value = self.added_value(append)
        name, text = f"self.{self.own.name}", self.source(value) if value is not None else ""
        window = f"{name}_window"
        yield f"{window}.copy_(torch.cat([{window}[1:], torch.unsqueeze({text}, 0)]))"
        lines = {
            TOTAL: f"{name}_total.copy_({window}.sum(0))",
            COUNT: f"{name}_count.add_(1).clamp_(max={window}.shape[0])",
            LAST: f"{name}_last.copy_({window}[-1])",
        }
        yield from (line for which, line in lines.items() if which in self.needed)

"""A list on self that grows with every call and is only summed, averaged or counted: a running total in a buffer."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.state.registered import Registered, buffer_line, sizes
from exportlint.rule.editing.repair import Elsewhere, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewriting.state.own_attribute import OwnAttribute
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


TOTAL, COUNT, LAST = "total", "count", "last"
SUM, ROWS = "sum", "rows"  # over the first dim, of what is joined by `torch.cat`


@dataclass
class RunningTotals:
    """`self.aux.append(loss)`, and `torch.stack(self.aux).sum()` anywhere in the file.

    needed   which of the buffers something reads
    """

    code: Code
    own: OwnAttribute
    needed: set[str] = field(default_factory=set)

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where the list begins with something, shrinks, or is read in another way."""
        definition, append = self.own.definition, self.append
        if definition is None or append is None or not self.begins_empty() or self._taken():
            return None
        others = [node for node in self.mentions if not self._is_of(append, node)]
        reads, resets = [self._read(node) for node in others], set(map(id, self._resets))
        if any(one is None and id(node) not in resets for one, node in zip(reads, others, strict=True)):
            return None
        lines = list(self.lines(append))
        if not self.needed or len(lines) != len(self.needed):
            return None
        return (
            Elsewhere(definition, "\n".join([*self.beside(append), *lines])),
            Elsewhere(append, "\n".join(self.added(append))),
            *(one for one in reads if one is not None),
            *self._emptied(),
            ModuleImport("torch"),
        )

    def beside(self, append: ast.Expr) -> list[str]:  # noqa: ARG002 - for those that keep more
        """Further buffers, which nothing reads but what fills the others."""
        return []

    @property
    def buffers(self) -> list[str]:
        return sorted(self.needed)

    def begins_empty(self) -> bool:
        return _is_empty(self.own.defined)

    @cached_property
    def append(self) -> ast.Expr | None:
        """The only statement that makes it longer."""
        found = [
            node
            for methods in self.own.methods.values()
            for method in methods
            for node in ast.walk(method)
            if isinstance(node, ast.Expr) and self.added_value(node) is not None
        ]
        return found[0] if len(found) == 1 else None

    def added_value(self, node: ast.Expr) -> ast.expr | None:
        match node.value:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[value], keywords=[]):
                return value if self.own.is_own(owner) and not self.own.mentions(value) else None
        return None

    @cached_property
    def mentions(self) -> list[ast.Attribute]:
        return self.all_mentions()

    def all_mentions(self) -> list[ast.Attribute]:
        """All reads of it in the file, but those of other classes on their own self."""
        lineage = {id(one) for cls in self.own.cls.lineage for one in ast.walk(cls.node)}
        definition = {id(one) for one in ast.walk(self.own.definition)} if self.own.definition else set()
        return [
            node
            for node in ast.walk(self.own.module.tree)
            if isinstance(node, ast.Attribute) and node.attr == self.own.name and id(node) not in definition
            if id(node) in lineage or ast.unparse(node.value) != "self"
        ]

    def _is_of(self, append: ast.Expr, node: ast.Attribute) -> bool:
        return isinstance(append.value, ast.Call) and node in ast.walk(append.value.func)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.own.module.tree) for child in ast.iter_child_nodes(node)}

    def _read(self, node: ast.Attribute) -> Elsewhere | None:
        """What reads it, of the buffers; None where these do not tell, or a decision asks."""
        owner = self.code.sketch.value(node.value)
        is_other = owner.cls is not None and owner.cls.node not in [cls.node for cls in self.own.cls.lineage]
        if not isinstance(node.ctx, ast.Load) or is_other or self._decides(node):
            return None
        whole, read = self.source(node), self._as_list(node)
        match self.parents.get(read):
            case ast.Call(func=ast.Name(id="len"), args=[_]) as call:
                return Elsewhere(call, self._named(whole, COUNT))
            case ast.Call(func=ast.Name(id="sum"), args=[_]) as call:
                return Elsewhere(call, f"{self._named(whole, TOTAL)}.clone()")
            case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))) as last:
                return Elsewhere(last, f"{self._named(whole, LAST)}.clone()")
            case ast.Call(func=func, args=[first, *rest]) as joined if first is read:
                dim = _dim([*rest, *(one.value for one in joined.keywords if one.arg == "dim")])
                name = self.own.module.dotted(func)
                return self._reduced(joined, whole, name or "", dim)
        return None

    def _as_list(self, node: ast.expr) -> ast.expr:
        """`list(self.aux)`"""
        match self.parents.get(node):
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[_]) as call:
                return call
        return node

    def _reduced(self, joined: ast.Call, whole: str, name: str, dim: str | None) -> Elsewhere | None:
        """`torch.stack(self.aux).sum()`."""
        method = self.parents.get(joined)
        call = self.parents.get(method) if isinstance(method, ast.Attribute) else None
        if not isinstance(method, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not method:
            return None
        over = _dim([*call.args, *(one.value for one in call.keywords if one.arg == "dim")], "all")
        plain = len(call.args) + len(call.keywords) <= 1 and dim == "0" and over in {"all", "0"}
        if not plain or method.attr not in {"sum", "mean"} or name not in {"torch.stack", "torch.cat"}:
            return None
        stacked = name == "torch.stack"
        total = self._named(whole, TOTAL if stacked else SUM)
        text = total if over == "0" else f"{total}.{method.attr}()"
        if method.attr == "sum":
            return Elsewhere(call, f"{text}.clone()" if over == "0" else text)
        return Elsewhere(call, f"({text} / {self._named(whole, COUNT if stacked else ROWS)})")

    def _named(self, whole: str, which: str) -> str:
        self.needed.add(which)
        return f"{whole}_{which}"

    def _decides(self, node: ast.AST) -> bool:
        now: ast.AST | None = node
        while now is not None and not isinstance(now, ast.stmt):
            above = self.parents.get(now)
            if isinstance(above, ast.If | ast.IfExp | ast.While | ast.Assert) and above.test is now:
                return True
            now = above
        return False

    @cached_property
    def _resets(self) -> list[ast.Attribute]:
        """Where a method that forward does not run empties it."""
        run = {id(one) for method in self.own.run for one in ast.walk(method)}
        return [node for node in self.mentions if id(node) not in run and self._emptying(node) is not None]

    def _emptying(self, node: ast.Attribute) -> ast.stmt | None:
        match self.parents.get(node):
            case ast.Assign(targets=[_], value=value) as store if _is_empty(value) and self.own.is_own(node):
                return store
            case ast.Attribute(attr="clear") as method if self.own.is_own(node):
                call = self.parents.get(method)
                line = self.parents.get(call) if call is not None else None
                return line if isinstance(line, ast.Expr) else None
        return None

    def _emptied(self) -> Iterator[Elsewhere]:
        for node in self._resets:
            if (line := self._emptying(node)) is not None:
                yield Elsewhere(line, "\n".join(f"self.{self.own.name}_{one}.zero_()" for one in self.buffers))

    def lines(self, append: ast.Expr) -> Iterator[str]:
        """The buffers; fewer than are needed where their size is not known."""
        value = self.added_value(append)
        believed = self.code.sketch.value(value) if value is not None else None
        dims = sizes(believed) if believed is not None and believed.kind is Kind.TENSOR else None
        for which in sorted(self.needed):
            kept = dims[1:] if dims is not None and which == SUM else dims
            if which in {COUNT, ROWS}:
                yield buffer_line(f"{self.own.name}_{which}", "torch.tensor(0)")
            elif kept is not None and (which != SUM or dims):
                size = ", ".join(map(str, kept)) or "()"
                yield buffer_line(f"{self.own.name}_{which}", f"torch.zeros({size})")

    def added(self, append: ast.Expr) -> Iterator[str]:
        value = self.added_value(append)
        text = self.source(value) if value is not None else ""
        name = f"self.{self.own.name}"
        if LAST in self.needed:
            yield f"{name}_last.copy_({text})"
            text = f"{name}_last"
        elif len(self.needed - {COUNT}) > 1 and not isinstance(value, ast.Name):
            new = FreshNames(self.code).of(f"new_{self.own.name.lstrip('_')}")
            yield f"{new} = {text}"
            text = new
        whole = _as_operand(ast.parse(text, mode="eval").body, text)
        lines = {
            TOTAL: f"{name}_total.add_({text})",
            SUM: f"{name}_sum.add_({whole}.sum(0))",
            COUNT: f"{name}_count.add_(1)",
            ROWS: f"{name}_rows.add_({whole}.shape[0])",
        }
        yield from (line for which, line in lines.items() if which in self.needed)

    def _taken(self) -> bool:
        names = {f"{self.own.name}_{one}" for one in (TOTAL, COUNT, LAST, SUM, ROWS)}
        nodes = (one for cls in self.own.cls.lineage for one in ast.walk(cls.node))
        return any(isinstance(one, ast.Attribute) and one.attr in names for one in nodes)

    def source(self, node: ast.AST) -> str:
        return Registered(self.code, self.own).source(node)


def _as_operand(node: ast.expr, text: str) -> str:
    """In parentheses where a method of it could not be named otherwise."""
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"


def _is_empty(value: ast.expr | None) -> bool:
    match value:
        case ast.List(elts=[]):
            return True
        case ast.Call(func=function, args=[], keywords=[]):
            return last_name(function) in {"list", "deque"}
    return False


def _dim(given: list[ast.expr], default: str = "0") -> str | None:
    match given:
        case []:
            return default
        case [one]:
            return ast.unparse(one)
    return None

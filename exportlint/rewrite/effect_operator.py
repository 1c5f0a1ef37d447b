"""An operator for an effect: what forward tells the world (a log record, a line of a file, a warning when a value is
too large) is told by an operator of the file, in each call of the program.

Python runs the statement once, while torch traces, and torch refuses it where it needs values. So the statement moves
into the operator as it is, and what it reads of the function becomes the operator's arguments: tensors, numbers, texts.
It is registered as one with an effect, by a name that torch 2.13 keeps private: it has no public one.

It moves alone where the world is told numbers and texts. A tensor that somebody keeps would lose its gradient, and its
memory may be used again; one that is printed whole would be printed without the function that made it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import expression
from exportlint.rewrite.file_operator import NOTHING, OF_FILE, put_operator
from exportlint.rewrite.interface import is_effect_alone, is_kept_and_read
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_MOVES_ELSEWHERE = (
    ast.Return, ast.Raise, ast.Assert, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global,
    ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.NamedExpr,
    ast.Try, ast.Delete, ast.AsyncWith, ast.AsyncFor,
)  # fmt: skip
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
_SAVES = frozenset({"torch.save", "numpy.save", "numpy.savetxt"})
# What these make of a tensor is a number, a text or a tensor that nobody else holds.
_NUMBERS = frozenset(f"builtins.{one}" for one in ("int", "float", "bool", "str", "len", "round", "isinstance"))
_WHOLE = re.compile(r"%[-+ #0]*[\d.]*[srab]|\{[^{}:]*\}")
_TYPES = {"bool": "bool", "int": "int", "float": "float", "str": "str"}


class EffectOperator:
    """`if peak > self.limit: log.warning("peak %.2f", peak)`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None or site.view.is_unseen:
            return
        for one in _around(site, site.view):
            try:
                yield _Moved(site, site.view, site.draft(), [one]).proposed()
            except CannotError:
                continue
            return


def _around(site: Site, view: View) -> list[ast.stmt]:
    """The statements that the place stands in, the innermost first; none inside of a decision that data makes."""
    draft = site.draft()
    now, found = draft.statement_of(site.node), list[ast.stmt]()
    while now is not None and now is not view.node:
        if isinstance(now, ast.If) and view.is_data(now.test):
            found = []
        found.append(now)
        above = draft.parent(now)
        now = above if isinstance(above, ast.stmt) else None
    return found


@dataclass
class _Moved:
    """Statements of one block, one below the other, which become the operator's body.

    arguments   by the operator's name for it: the type, and what the function gives
    renamed     by the identity of a node: what the operator calls it
    """

    site: Site
    view: View
    draft: Draft
    lines: list[ast.stmt]
    arguments: dict[str, tuple[str, ast.expr]] = field(default_factory=dict)
    renamed: dict[int, str] = field(default_factory=dict)

    def proposed(self) -> Proposal:
        self._extend()
        if any(isinstance(one, _MOVES_ELSEWHERE) for one in self._nodes()):
            raise CannotError("it does more than to tell")
        if self._stored() & {one.id for one in self._names_outside()}:
            raise CannotError("what it sets is read elsewhere")
        if not all(is_effect_alone(self.view, one, self.lines) for one in self.lines):
            raise CannotError("it changes what the model computes")
        self._tells_numbers()
        for one in self.lines:
            self._take(one)
        self._written()
        return Proposal(f"tell it with {OF_FILE}", self.draft, needs_python=True)

    # What moves.

    def _extend(self) -> None:
        """With the lines above that set what these alone read, and that is neither a tensor nor a constant."""
        while True:
            local = self._set_around - self._stored()
            wanted = [one for one in self._names() if one.id in local and self._kind(one) is None]
            values = {one.id: self.view.only_value(one.id) for one in wanted}
            above = self._above()
            match above:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if values.get(name) is value:
                    outside = [one for one in self._names_outside() if one.id == name]
                    if len(outside) == 1:
                        self.lines.insert(0, above)
                        continue
            return

    def _above(self) -> ast.stmt | None:
        parent = self.draft.parent(self.lines[0])
        for _, block in ast.iter_fields(parent) if parent is not None else ():
            if isinstance(block, list) and any(one is self.lines[0] for one in block):
                place = next(n for n, one in enumerate(block) if one is self.lines[0])
                return block[place - 1] if place else None
        return None

    def _nodes(self) -> Iterator[ast.AST]:
        for one in self.lines:
            yield from walked(one)

    def _names(self) -> list[ast.Name]:
        return [one for one in self._nodes() if isinstance(one, ast.Name)]

    def _names_outside(self) -> Iterator[ast.Name]:
        inside = {id(one) for one in self._nodes()}
        return (one for one in walked(self.view.node) if isinstance(one, ast.Name) and id(one) not in inside)

    def _stored(self) -> set[str]:
        return {one.id for one in self._names() if not isinstance(one.ctx, ast.Load)}

    @cached_property
    def _set_around(self) -> frozenset[str]:
        """The names that the function sets, or is given."""
        names = (one for one in walked(self.view.node) if isinstance(one, ast.Name))
        return frozenset({*(one.id for one in names if not isinstance(one.ctx, ast.Load)), *self.view.flow.parameters})

    def _is_local(self, node: ast.Name) -> bool:
        return node.id in self._set_around and node.id not in self._stored()

    # Whether only numbers and texts are told.

    def _tells_numbers(self) -> None:
        """Raises CannotError where somebody may keep a tensor, or where the file's state comes back to the model."""
        told, runs = False, list(self.lines)
        for call in (one for one in self._nodes() if isinstance(one, ast.Call)):
            name = self.view.origin(call.func) or ""
            given = [*call.args, *(word.value for word in call.keywords)]
            is_effect = isinstance(self.draft.parent(call), ast.Expr)
            told |= is_effect
            if name in _SAVES or self._is_of_tensors(call, name):
                if is_effect and name not in _SAVES:
                    raise CannotError("torch itself is told")
                continue
            function = self.site.module.functions.get(name.rpartition(".")[2] or ast.unparse(call.func))
            if function is not None and isinstance(call.func, ast.Name):
                runs += function.node.body if isinstance(function.node, ast.FunctionDef) else []
                inner = [one for line in runs[len(self.lines) :] for one in walked(line)]
                calls = {one.func.id for one in inner if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
                if calls & {*self.site.module.functions, *self.site.module.classes}:
                    raise CannotError("what it calls calls others")
            if name == "builtins.print" or self._logs(call):
                if any(map(self._is_whole, given)) or self._says_whole(call):
                    raise CannotError("a tensor is shown as it is")
            elif any(map(self._holds_tensor, given)):
                raise CannotError("somebody may keep a tensor")
        if not told:
            raise CannotError("nobody is told")
        if is_kept_and_read(self.site, runs):
            raise CannotError("the model reads what is kept")

    def _is_of_tensors(self, call: ast.Call, name: str) -> bool:
        if name in _NUMBERS or name.startswith(("torch.", "math.", "builtins.abs", "builtins.m", "builtins.sum")):
            return True
        return isinstance(call.func, ast.Attribute) and self.view.is_data(call.func.value)

    def _logs(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Attribute) and call.func.attr in _LOGS

    def _is_whole(self, node: ast.expr) -> bool:
        """Is it, or does its text show, a tensor that the operator makes itself?"""
        if isinstance(node, ast.JoinedStr):
            values = (one for one in node.values if isinstance(one, ast.FormattedValue) and one.format_spec is None)
            return any(self._is_whole(one.value) for one in values)
        return self._holds_tensor(node) and not isinstance(node, ast.Name | ast.Attribute) and not self._is_given(node)

    def _is_given(self, node: ast.expr) -> bool:
        """Does a format say how a number is shown?"""
        above = self.draft.parent(node)
        return isinstance(above, ast.Call) and self._logs(above) and node is not above.args[0]

    def _says_whole(self, call: ast.Call) -> bool:
        """Does the format of a log record show a tensor whole that the operator makes itself?"""
        match call.args:
            case [ast.Constant(value=str(text)), *given] if self._logs(call):
                made = (one for one in given if not isinstance(one, ast.Name | ast.Attribute))
                return bool(_WHOLE.search(text)) and any(map(self._holds_tensor, made))
        return self._logs(call) and any(map(self._holds_tensor, call.args[1:]))

    def _holds_tensor(self, node: ast.expr) -> bool:
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return any(map(self._holds_tensor, parts))
            case ast.Dict(values=parts):
                return any(map(self._holds_tensor, parts))
            case ast.Starred(value=inner) | ast.Await(value=inner):
                return self._holds_tensor(inner)
            case ast.JoinedStr() | ast.Constant():
                return False
            case ast.Call(func=ast.Attribute(attr="item" | "tolist")):
                return False
            case ast.Call(func=function) if self.view.origin(function) in _NUMBERS:
                return False
        value = self.view.value(node)
        if value.certain and value.kind in {Kind.UNBACKED, Kind.SCALAR, Kind.SIZE, Kind.SHAPE, Kind.NONE}:
            return False
        return value.kind is Kind.CONTAINER or self.view.is_data(node)

    # What the operator is given.

    def _take(self, node: ast.AST) -> None:
        """Puts the operator's arguments in the place of what the function has."""
        match node:
            case ast.Name(ctx=ast.Load()) if self._is_local(node):
                self._given(node, node.id)
            case ast.Attribute(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()) if self._is_own(node):
                wanted = node.attr if isinstance(node, ast.Attribute) else self._word(node)
                self._given(node, wanted.strip("_") or "value")
            case _:
                for one in ast.iter_child_nodes(node):
                    self._take(one)
                if isinstance(node, ast.JoinedStr) and any(id(one) in self.renamed for one in walked(node)):
                    self.draft.swap(node, self._copy(node))  # its parts have no text of their own

    def _copy(self, node: Any) -> Any:
        if not isinstance(node, ast.AST):
            return node
        if id(node) in self.renamed:
            return ast.Name(self.renamed[id(node)], ast.Load())
        new = type(node)()
        for name, value in ast.iter_fields(node):
            setattr(new, name, [*map(self._copy, value)] if isinstance(value, list) else self._copy(value))
        return new

    def _is_own(self, node: ast.Attribute | ast.Subscript) -> bool:
        """Of the module, or an item of a container of the function: something that an operator can be given."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        own = isinstance(root, ast.Name) and self._is_local(root)
        return own and self._kind(node) is not None and self._kind(node.value) is None and not self._is_shape(node)

    def _is_shape(self, node: ast.expr) -> bool:
        """A size is read from the tensor, in the operator, too."""
        return self.view.value(node).kind is Kind.SIZE

    def _word(self, node: ast.Subscript) -> str:
        match node.slice:
            case ast.Constant(value=str(text)) if text.isidentifier():
                return text
        return "value"

    def _given(self, node: ast.expr, wanted: str) -> None:
        kind = self._kind(node)
        if kind is None:
            raise CannotError("an operator cannot be given it")
        text = ast.unparse(node)
        taken = {one.id for one in self._names()} - ({node.id} if isinstance(node, ast.Name) else set())
        name, number = wanted, 2
        while name in taken or (name in self.arguments and ast.unparse(self.arguments[name][1]) != text):
            name, number = f"{wanted}_{number}", number + 1
        self.arguments[name] = kind, ast.parse(text, mode="eval").body
        if text != name:
            self.renamed[id(node)] = name
            self.draft.swap(node, ast.Name(name, ast.Load()))

    def _kind(self, node: ast.expr) -> str | None:
        """The type of an operator's argument that can hold it."""
        value = self.view.value(node)
        if not value.certain or value.maybe_none:
            return None
        if value.is_tensor:
            return "torch.Tensor"
        if value.kind is Kind.SIZE:
            return "int"
        return _TYPES.get(value.container or "") if value.kind is Kind.SCALAR else None

    # What is written.

    def _written(self) -> None:
        typed = {name: kind for name, (kind, _) in self.arguments.items()}
        name = put_operator(self.draft, self.view, "tell", typed, self.lines, NOTHING)
        call = ast.Call(expression(name), [value for _, value in self.arguments.values()], [])
        self.draft.move(self.lines[0], [ast.Expr(call)])
        for one in self.lines[1:]:
            self.draft.move(one, [])

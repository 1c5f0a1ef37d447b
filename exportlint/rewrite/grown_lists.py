"""Lists that grow as data says: `kept.append(row)` where data decides becomes one entry a step, with a mask beside.

A list in Python has as many entries as the steps of a loop that were taken, and while torch traces all of them are. So
each list gets a second one of the same length, which says of every entry whether it is there: `torch.stack(kept)`
becomes `torch.stack(kept)[torch.stack(is_in_kept)]`, whose size is an unbacked symbol. What the mask says under a
decision is for whoever writes decisions in tensors: here every entry begins as one that is there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.control_flow import blocks, statements
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import Copying, changed_copy, expression, stands_for
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exportlint.rewrite.view import View

    Finish = Callable[[Iterable[ast.AST]], None]

_LOOPS = (ast.For, ast.While)
# Whose first size is the length of the list, and which take an empty one.
_JOINING = ("torch.stack", "torch.cat", "torch.concat", "torch.vstack", "torch.tensor", "torch.as_tensor")
_THERE = "torch.tensor(True)"  # of an entry, until somebody decides that it is not


def masked_entry(node: ast.stmt, test: ast.expr) -> ast.stmt:
    """`is_in_kept.append(…)`, where the entry is there only where the test holds, too."""
    match node:
        case ast.Expr(value=ast.Call(args=[there]) as call):
            both = test if ast.unparse(there) == _THERE else ast.BinOp(there, ast.BitAnd(), test)
            return changed_copy(node, value=changed_copy(call, args=[both]))
    return node


def appended(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """The list that the statement appends one entry to, and the entry."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[entry])):
            return name, entry
    return None


class GrownLists:
    """The lists of a function that data makes grow. `masks`: name of each -> name of the list that says what is there.

    body      its statements
    decides   does data answer the test?
    finish    takes nodes that were made here: they are in tensors already
    """

    def __init__(self, view: View, body: list[ast.stmt], decides: Callable[[ast.expr], bool], finish: Finish) -> None:
        self.view = view
        self.body = body
        self.decides = decides
        self.finish = finish
        self.masks: dict[str, str] = {}
        self.left_out = 0  # the line of a special case for an empty list that is left out

    def add(self, name: str, mask: str) -> None:
        """Raises CannotError where the list is no local one, or is read in a way that a mask cannot answer."""
        begun = [one for one in statements(self.body) if _begins(one, name) is not None]
        sets = [one for one in self._nodes() if isinstance(one, ast.Name) and one.id == name
                and not isinstance(one.ctx, ast.Load)]  # fmt: skip
        if len(begun) != 1 or len(sets) != 1 or name in self.view.flow.parameters:
            raise CannotError("a list that grows is begun in several ways")
        if any(isinstance(entry, ast.Tuple | ast.List | ast.Dict) for _, entry in self._entries(name)):
            raise CannotError("the entries of a list that grows are no tensors")
        self.masks[name] = mask
        self.view.data.add(mask)
        self.view.booleans.add(mask)
        self.marked(self.body)

    def _nodes(self) -> Iterator[ast.AST]:
        for one in self.body:
            yield from walked(one)

    def _entries(self, name: str) -> Iterator[tuple[ast.stmt, ast.expr]]:
        for one in statements(self.body):
            if (found := appended(one)) is not None and found[0] == name:
                yield one, found[1]

    def marked(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body with the masks, and with what reads the lists behind the loops reading both."""
        if not self.masks:
            return body
        inside = {name: self._growing(name) for name in self.masks}
        return [new for node in body for new in self._statement(node, inside)]

    def _growing(self, name: str) -> set[int]:
        """What runs while the list grows: the outermost loops in which it does, by the identity of the nodes."""
        grows = {id(one) for one, _ in self._entries(name)}
        found = set[int]()
        for loop in (one for one in self._nodes() if isinstance(one, _LOOPS)):
            within = list(statements([loop]))
            if any(id(one) in grows for one in within) and not any(_begins(one, name) is not None for one in within):
                found |= {id(part) for part in walked(loop)}
        return found

    def is_plain(self, name: str, inside: set[int]) -> bool:
        """Does every step append, until data ends the loop? Then the list is in the loop what it was."""
        for one in self._nodes():
            if id(one) in inside and isinstance(one, ast.If) and self.decides(one.test):
                below = list(statements([*one.body, *one.orelse]))
                if any(isinstance(inner, ast.Continue) for inner in below):
                    return False
                ends = any(side and isinstance(side[-1], ast.Break | ast.Return) for side in (one.body, one.orelse))
                if not ends and any((found := appended(inner)) and found[0] == name for inner in below):
                    return False
        return True

    def _statement(self, node: ast.stmt, inside: Mapping[str, set[int]]) -> list[ast.stmt]:
        for name, mask in self.masks.items():
            if (count := _begins(node, name)) is not None:
                there = f"[{_THERE}]" if count == 1 else f"[{_THERE}] * COUNT" if count else "[]"
                return [node, *written(f"MASK = {there}", MASK=mask, COUNT=ast.Constant(count))]
        found = appended(node)
        if found is not None and found[0] in self.masks:
            read = self._read(node, inside)
            return [read, *written(f"MASK.append({_THERE})", MASK=self.masks[found[0]])]
        if isinstance(node, ast.If) and (general := self._without_empty(node)) is not None:
            self.left_out = node.lineno
            return [new for one in general for new in self._statement(one, inside)]
        changes: dict[str, object] = {}
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if block:
                new = [one for inner in block for one in self._statement(inner, inside)]
                if len(new) != len(block) or any(a is not b for a, b in zip(new, block, strict=True)):
                    changes[field] = new
        if changes:
            node = changed_copy(node, **changes)
        return [self._read(node, inside)]

    def _without_empty(self, node: ast.If) -> list[ast.stmt] | None:
        """What follows where an empty list is given back as a tensor of no rows: the selection of none is just that."""
        match node.test:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
                empty, other = node.body, node.orelse
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ):  # fmt: skip
                empty, other = node.body, node.orelse
            case ast.Name(id=name) if node.orelse:
                empty, other = node.orelse, node.body
            case _:
                return None
        match empty:
            case [ast.Return(value=ast.expr() as value) | ast.Assign(value=value)] if name in self.masks:
                return list(other) if has_no_rows(value) else None
        return None

    def _read(self, node: ast.stmt, inside: Mapping[str, set[int]]) -> ast.stmt:
        """The statement with its own reads of the lists answered; those of its blocks are answered already."""
        own = {id(part) for block in blocks(node) for one in block for part in walked(one)}
        if (found := appended(node)) is not None:  # the list itself is no read
            own |= {id(part) for part in walked(node)} - {id(part) for part in walked(found[1])}
            own.discard(id(node))
            own -= {id(part) for part in walked(node) if isinstance(part, ast.Call) and found[1] in part.args}
        reading = _Reading(self, inside, own)
        new = reading.visit(node)
        assert isinstance(new, ast.stmt)  # noqa: S101 - a statement is visited by its fields
        return stands_for(new, node) if new is not node and not hasattr(new, "origin") else new

    def answer(self, node: ast.AST, inside: Mapping[str, set[int]]) -> ast.expr | None:
        """What stands instead of an expression that reads a list as a whole; None where it is no such expression."""
        made = self._answered(node, inside)
        if made is not None:
            self.finish(walked(made))
        return made

    def _answered(self, node: ast.AST, inside: Mapping[str, set[int]]) -> ast.expr | None:
        match node:
            case ast.Call(func=function, args=[ast.Name(id=name), *rest], keywords=words) if name in self.masks:
                if id(node) in inside[name]:
                    asks = self.view.origin(function) == "builtins.len" and not self.is_plain(name, inside[name])
                    return expression("sum(MASK)", MASK=self.masks[name]) if asks else None
                mask = expression("torch.stack(MASK)", MASK=self.masks[name])
                origin = self.view.origin(function)
                if origin in _JOINING:
                    dim = rest[0] if rest else next((one.value for one in words if one.arg in {"dim", "axis"}), None)
                    return self._joined(name, origin, dim, mask)
                if origin == "builtins.sum" and not rest:
                    there = expression("torch.stack(LIST)[MASK]", LIST=name, MASK=mask)
                    return put_together(there, origin, None)
                if origin == "builtins.len":
                    return expression("MASK.sum()", MASK=mask)
        return None

    def _joined(self, name: str, origin: str, dim: ast.expr | None, mask: ast.expr) -> ast.expr:
        data = any(self.view.is_data(entry) for _, entry in self._entries(name))
        joins = "torch.stack" if data or origin not in {"torch.tensor", "torch.as_tensor"} else "torch.tensor"
        there = expression(f"{joins}(LIST)[MASK]", LIST=name, MASK=mask)
        return put_together(there, origin, dim)

    def truth(self, node: ast.AST, inside: Mapping[str, set[int]]) -> ast.expr | None:
        """`if kept:` and `if not kept:` ask whether any entry is there."""
        if isinstance(node, ast.Name) and node.id in self.masks and id(node) not in inside[node.id]:
            return expression("torch.stack(MASK).any()", MASK=self.masks[node.id])
        return None


def put_together(entries: ast.expr, origin: str, dim: ast.expr | None) -> ast.expr:
    """What `torch.stack`, `torch.cat` or `sum` gives of entries that are stacked along the first dim already. Raises
    CannotError where the dim is not written there."""
    match dim:
        case None:
            number = 0
        case ast.Constant(value=int(number)):
            pass
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            number = -number
        case _:
            raise CannotError("the dim in which a list is put together is not written there")
    if origin == "builtins.sum":
        return expression("ENTRIES.sum(0)", ENTRIES=entries)
    if origin in {"torch.cat", "torch.concat", "torch.vstack"}:
        if number == 0:
            return expression("ENTRIES.flatten(0, 1)", ENTRIES=entries)
        first, second = (number, number + 1) if number > 0 else (number - 1, number)
        return expression("ENTRIES.movedim(0, FIRST).flatten(FIRST, SECOND)", ENTRIES=entries,
                          FIRST=_integer(first), SECOND=_integer(second))  # fmt: skip
    return entries if number == 0 else expression("ENTRIES.movedim(0, DIM)", ENTRIES=entries, DIM=_integer(number))


class _Reading(Copying):
    """Answers the reads of lists. Raises CannotError at a read of a list that a mask cannot answer."""

    def __init__(self, lists: GrownLists, inside: Mapping[str, set[int]], skipped: set[int]) -> None:
        self.lists, self.inside, self.skipped = lists, inside, skipped

    def other(self, node: ast.AST) -> ast.AST | None:
        if id(node) in self.skipped:
            return node
        if (answer := self.lists.answer(node, self.inside)) is not None:
            return answer
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) if (asked := self.lists.truth(test, self.inside)) is not None:
                return self.with_parts(node, test=asked)
            case ast.UnaryOp(op=ast.Not(), operand=operand) if (
                asked := self.lists.truth(operand, self.inside)
            ) is not None:
                return changed_copy(node, operand=asked)
            case ast.Name(id=name, ctx=ast.Load()) if name in self.lists.masks:
                if id(node) not in self.inside[name] or not self.lists.is_plain(name, self.inside[name]):
                    raise CannotError("a list that grows is read in another way")
                return node
        return None


def _begins(node: ast.stmt, name: str) -> int | None:
    """With how many entries the statement begins the list; None where it does not begin it."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            found = [_begins(ast.Assign([t], v), name) for t, v in zip(targets, values, strict=True)]
            return next((count for count in found if count is not None), None)
        case (
            ast.Assign(targets=[ast.Name(id=own)], value=ast.List(elts=entries))
            | ast.AnnAssign(target=ast.Name(id=own), value=ast.List(elts=entries))
        ) if own == name and not any(isinstance(one, ast.Starred) for one in entries):
            return len(entries)
    return None


def has_no_rows(node: ast.expr) -> bool:
    """`torch.zeros(0, 4)`, `x.new_zeros((0, 4))`, `torch.tensor([])`?"""
    match node:
        case ast.Call(func=ast.Attribute(attr=made), args=[first, *_]) if made.endswith(
            ("zeros", "ones", "empty", "full")
        ):
            first = first.elts[0] if isinstance(first, ast.Tuple | ast.List) and first.elts else first
            return isinstance(first, ast.Constant) and first.value == 0
        case ast.Call(func=ast.Attribute(attr="tensor" | "new_tensor"), args=[ast.List(elts=[])]):
            return True
    return False


def _integer(number: int) -> ast.expr:
    return ast.Constant(number) if number >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-number))

"""Worklists: a loop that takes the first of what is left, and keeps of the rest what a mask chooses.

    while order.numel() > 0:
        best = order[0]
        kept.append(best)
        order = order[1:][overlap(boxes[best], boxes[order[1:]]) <= limit]

How many are left is known only when the program runs. But whoever is taken is the next one of the first order that is
still left, so the loop goes through all of them in that order, with a mask that says who is left:

    left = order.new_ones(order.shape[0], dtype=torch.bool)
    for step in range(order.shape[0]):
        if left[step]:
            best = order[step]
            kept.append(best)
            left[step + 1:] = left[step + 1:] & (overlap(boxes[best], boxes[order[step + 1:]]) <= limit)

A row's part of the mask has to be made of that row, and of the one that is taken, since the rows that are gone are
computed, too. Where a step reads them for anything else, or asks how many are left, the loop stays as it is.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import Copying, changed_copy, expression, stands_for
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.row_wise import puts_rows_together
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exportlint.rewrite.view import View


@dataclass(frozen=True)
class Steps:
    """What stands for the loop: `begun`, the mask; `loop`, which takes a step for each that there was, and in it the
    decision by the mask.  `mask`, `step`: their names."""

    begun: ast.stmt
    loop: ast.For
    mask: str
    step: str


def steps_of(
    view: View, node: ast.While, places_of: Callable[[ast.expr], ast.expr | None], fresh: Callable[[str], str]
) -> Steps | None:
    """For a loop over a worklist; None where it is another one. `places_of`: the mask that an expression tells the
    places of, as `torch.where(mask)[0]`."""
    listed = _asked(node.test)
    reads = (one for one in walked(node) if isinstance(one, ast.Name) and one.id == listed)
    if listed is None or node.orelse or not any(map(view.is_data, reads)):
        return None
    shrunk = _shrunk(node.body)
    shrinking = {name for one in node.body if (name := shrunk(one)) is not None}
    if listed not in shrinking or shrinking & view.flow.live_after(node):
        return None
    try:
        return _Worklist(view, node, listed, shrinking, places_of, fresh("left"), fresh("step")).steps()
    except CannotError:
        return None


@dataclass
class _Worklist:
    """The names of one loop that get shorter together. `taken`: those whose first row is gone, by alias or by name.
    `chosen`: of each name what was chosen of it at the end of the step. `of_rows`: what was made of those that are
    left, row by row."""

    view: View
    node: ast.While
    listed: str
    shrinking: set[str]
    places_of: Callable[[ast.expr], ast.expr | None]
    mask: str
    step: str
    taken: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, tuple[int, str]] = field(default_factory=dict)
    of_rows: set[str] = field(default_factory=set)

    def steps(self) -> Steps:
        self.taken = dict.fromkeys(self.shrinking, 0)
        self.backwards = self._takes_last()
        body = [new for place, one in enumerate(self.node.body) for new in self._statement(place, one)]
        ends = {self.chosen.get(name, (self.taken[name], "")) for name in self.shrinking}
        if len(ends) != 1 or ends == {(0, "")}:
            raise CannotError("lists get shorter in several ways")
        rows = expression("X.shape[0]", X=self.listed)
        begun = written("MASK = X.new_ones(ROWS, dtype=torch.bool)", MASK=self.mask, X=self.listed, ROWS=rows)
        over = "reversed(range(ROWS))" if self.backwards else "range(ROWS)"
        decided = ast.If(expression("MASK[STEP]", MASK=self.mask, STEP=self.step), body, [])
        loop = ast.For(ast.Name(self.step, ast.Store()), expression(over, ROWS=rows), [decided], [])
        return Steps(stands_for(begun[0], self.node), loop, self.mask, self.step)

    def _takes_last(self) -> bool:
        """Is it the last one that is taken, in each step?"""
        parts = {
            ast.unparse(one.slice) for inner in self.node.body for one in walked(inner)
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in self.shrinking
        }  # fmt: skip
        return bool(parts & {"-1", ":-1"}) and not parts & {"0", "1:"}

    def _statement(self, place: int, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If(test=test) if (asked := _last_asked(test)) is not None and asked[0] in self.shrinking:
                return self._without_last(place, node, *asked)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.shrinking:
                return self._shorter(node, name, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_rest(value):
                if name in self.taken or self.view.only_value(name) is None:
                    raise CannotError("a name holds the rest at times")
                self.taken[name] = 1
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.places_of(
                value
            ) is not None and self._only_chooses(name):
                return []  # the mask chooses
        names = (one for one in walked(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))
        if any(one.id in self.shrinking for one in names):
            raise CannotError("a list gets shorter in a part of a step")
        if self._reads_rows(node):
            self._made_of_rows(node)
        new = self._read(node)
        assert isinstance(new, ast.stmt)  # noqa: S101 - a statement is visited by its fields
        return [stands_for(new, node) if new is not node else node]

    def _reads_rows(self, node: ast.AST) -> bool:
        """Does it read rows of those that are left, or what was made of some, beside the one that is taken?"""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=part) if name in self.shrinking:
                first = part.elts[0] if isinstance(part, ast.Tuple) else part
                return ast.unparse(first) in {self._others, ":"} or self._reads_rows(part)
            case ast.Name(id=name, ctx=ast.Load()):
                return name in self.shrinking or name in self.taken or name in self.of_rows
        return any(map(self._reads_rows, ast.iter_child_nodes(node)))

    def _made_of_rows(self, node: ast.stmt) -> None:
        """Remember what is made of rows, for the mask alone: anything else would see those that are gone, too."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                self._by_row(value)
                self.of_rows.add(name)
                if name in self.view.flow.live_after(self.node):
                    raise CannotError("what is left is read behind the loop")
            case _:
                raise CannotError("what is left is read for something else than who stays")

    def _by_row(self, node: ast.expr) -> None:
        """Raises CannotError where rows are put together, as their mean and their softmax are, and where nothing says
        that they are not."""
        for one in walked(node):
            match one:
                case ast.Call() if self._reads_rows(one):
                    together = self.view.is_single(one) or not self._is_row_wise(one, self.view.is_data)
                case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                    together = self._reads_rows(left) and self._reads_rows(right)
                case _:
                    together = False
            if together:
                raise CannotError("rows are put together")

    def _is_row_wise(
        self, call: ast.Call, is_data: Callable[[ast.expr], bool], within: frozenset[str] = frozenset()
    ) -> bool:
        """Of torch's functions and methods of tensors, and of functions of the file that do nothing else; of others
        only the overlaps of boxes are known."""
        path, origin = path_of(call.func) or "", self.view.origin(call.func) or ""
        cls = self.view.cls
        function = self.view.module.functions.get(path)
        if function is None and cls is not None and path.startswith("self."):
            function = cls.method(path.removeprefix("self."))
        if path in within:
            return True  # it calls itself: the rest of it decides
        if function is not None:
            inner = [one for one in walked(function.node) if isinstance(one, ast.Call)]
            products = [
                one for one in walked(function.node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult)
            ]
            return not products and all(self._is_row_wise(one, lambda _: True, within | {path}) for one in inner)
        is_method = isinstance(call.func, ast.Attribute) and not origin and is_data(call.func.value)
        if origin.startswith(("torch.", "builtins.", "math.")) or (is_method and not path.startswith("self.")):
            return not puts_rows_together(call, of_one_dim=True)
        return origin.startswith("torchvision.ops.") and "iou" in origin

    def _is_rest(self, value: ast.expr) -> bool:
        match value:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice() as part):
                return name in self.shrinking and self.taken[name] == 0 and ast.unparse(part) == self._others
        return False

    @property
    def _others(self) -> str:
        return ":-1" if self.backwards else "1:"

    def _only_chooses(self, name: str) -> bool:
        """Is it read only as what the lists are to keep?"""
        reads = [one for one in walked(self.view.node) if isinstance(one, ast.Name) and one.id == name
                 and isinstance(one.ctx, ast.Load)]  # fmt: skip
        choosing = [
            one for inner in self.node.body if isinstance(inner, ast.Assign) and _names_one(inner, self.shrinking)
            and isinstance(inner.value, ast.Subscript) for one in walked(inner.value.slice)
        ]  # fmt: skip
        return bool(reads) and all(any(one is other for other in choosing) for one in reads)

    def _shorter(self, node: ast.Assign, name: str, value: ast.expr) -> list[ast.stmt]:
        """`order = order[1:]` takes the first; `order = order[1:][mask]` notes in the mask who goes."""
        if name in self.chosen:
            raise CannotError("a list gets shorter twice")
        if self._is_rest(value):
            self.taken[name] = 1
            return []
        match value:
            case ast.Subscript(value=ast.Name(id=base), slice=part) if base in self.taken:
                taken = self.taken[base]
            case ast.Subscript(value=ast.Subscript() as base_part, slice=part) if self._is_rest(base_part):
                taken, base = 1, name
            case _:
                raise CannotError("a list is made anew")
        part = self._value(part)
        match part:
            case ast.BinOp(left=places, op=ast.Add(), right=ast.Constant(value=1)) if taken == 0 and not self.backwards:
                mask, taken = self.places_of(self._value(places)), 1
            case _:
                mask = part if self.view.is_boolean(part) else self.places_of(part)
        if mask is None:
            raise CannotError("no mask says who is left")
        self._by_row(mask)
        known = next(iter(self.chosen.values()), None)
        self.chosen[name] = (taken, ast.dump(mask))
        if known is not None:  # of all lists the same goes; that they do is asked at the end
            return []
        rows = self._rows(ast.Name(self.mask, ast.Load()), taken)
        target = changed_copy(rows, ctx=ast.Store())
        kept = self._read(mask)
        assert isinstance(kept, ast.expr)  # noqa: S101 - an expression is visited by its fields
        return [stands_for(ast.Assign([target], ast.BinOp(rows, ast.BitAnd(), kept)), node)]

    def _value(self, node: ast.expr) -> ast.expr:
        """What a name of places was set to."""
        made = self.view.only_value(node.id) if isinstance(node, ast.Name) else None
        return made if made is not None and self.places_of(made) is not None else node

    def _without_last(self, place: int, node: ast.If, name: str, left: int) -> list[ast.stmt]:
        """`if order.numel() == 1: break` goes, where the rest of the step does nothing for no rows."""
        if left + self.taken[name] > 1 or name in self.chosen:
            raise CannotError("a step is not taken for the last one")
        match node.body:
            case [*before, ast.Break()]:
                pass
            case _:
                raise CannotError("something is done for the last one")
        rest = self.node.body[place + 1 :]
        live = self.view.flow.live_after(self.node)
        sets = [one for one in rest if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
        if len(sets) != len(rest) or any(one.targets[0].id in live for one in sets):  # type: ignore[attr-defined]  # `sets` are those of names
            raise CannotError("a step does something that nobody does for the last one")
        the_last = _OfOne(name, expression(f"{name}[{-1 if self.backwards else 0}]"))
        sides = [[ast.dump(the_last.visit(one)) for one in side] for side in (before, node.orelse)]
        if before and sides[0] != sides[1]:
            raise CannotError("something else is done for the last one")
        return [new for one in node.orelse for new in self._statement(place, one)]

    def _rows(self, owner: ast.expr, taken: int) -> ast.Subscript:
        """The rows that are left to decide on, the one that is taken among them or not."""
        text = (("X[STEP:]", "X[STEP + 1:]"), ("X[:STEP + 1]", "X[:STEP]"))[self.backwards][taken]
        made = expression(text, X=owner, STEP=self.step)
        assert isinstance(made, ast.Subscript)  # noqa: S101 - it was written so
        return made

    def _read(self, node: ast.AST) -> ast.AST:
        return _Rows(self).visit(node)

    def read(self, node: ast.AST) -> ast.AST | None:
        """What stands for a read of one of the lists; None of anything else. Raises CannotError where there is none."""
        match node:
            case ast.Subscript(value=ast.Name(id=name) as owner, slice=part, ctx=ast.Load()) if name in self.shrinking:
                parts: Sequence[ast.expr] = part.elts if isinstance(part, ast.Tuple) else [part]
                text = ast.unparse(parts[0])
                if self.taken[name] or name in self.chosen:
                    raise CannotError("a place of those that are left")
                if text == ("-1" if self.backwards else "0"):
                    place: ast.expr = ast.Name(self.step, ast.Load())
                elif text == self._others:
                    place = self._rows(owner, 1).slice
                elif text in {":1", "0:1"} and not self.backwards:
                    place = ast.Slice(ast.Name(self.step, ast.Load()), expression("STEP + 1", STEP=self.step))
                else:
                    raise CannotError("a place of those that are left")
                rest = [place, *parts[1:]]
                return ast.Subscript(owner, rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load()), ast.Load())
            case ast.Name(id=name, ctx=ast.Load()) if name in self.shrinking:
                if name in self.chosen:
                    raise CannotError("those that are left are read")
                return self._rows(node, self.taken[name])
            case ast.Call() if _size_of(node) in self.taken:
                raise CannotError("how many are left is asked")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]) if name in self.taken:
                raise CannotError("how many are left is asked")
            case ast.Attribute(value=ast.Name(id=name), attr="shape") if name in self.taken:
                raise CannotError("how many are left is asked")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item" | "tolist")) if name in self.taken:
                raise CannotError("how many are left has to be known")
        return None


class _OfOne(Copying):
    """`order[0].item()` for the `order.item()` of a tensor of one number."""

    def __init__(self, name: str, entry: ast.expr) -> None:
        self._name = name
        self._entry = entry

    def other(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="item") if name == self._name:
                return ast.Attribute(self._entry, "item", ast.Load())
        return None


def _names_one(node: ast.Assign, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in node.targets)


class _Rows(Copying):
    def __init__(self, worklist: _Worklist) -> None:
        self.worklist = worklist

    def other(self, node: ast.AST) -> ast.AST | None:
        return self.worklist.read(node)


def _shrunk(body: Sequence[ast.stmt]) -> Callable[[ast.stmt], str | None]:
    """Of a statement, the name that it sets to a part of what it held, or of another name that holds that."""
    held = {
        one.targets[0].id: one.value.value.id for one in body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Subscript)
        and isinstance(one.value.slice, ast.Slice) and isinstance(one.value.value, ast.Name)
    }  # fmt: skip

    def shrunk(node: ast.stmt) -> str | None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=owner)):
                own = owner.value if isinstance(owner, ast.Subscript) else owner
                is_own = isinstance(own, ast.Name) and name in {own.id, held.get(own.id)}
                return name if is_own else None
        return None

    return shrunk


def _size_of(node: ast.expr) -> str | None:
    """The name of the tensor whose number of rows, or of elements, it is."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel" | "nelement"), args=[]):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=0)]):
            return name
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return name
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=0)):
            return name
    return None


def _asked(test: ast.expr) -> str | None:
    """The name of which the test asks whether any are left."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int(number))]):
            return _size_of(left) if (type(op), number) in {(ast.Gt, 0), (ast.GtE, 1), (ast.NotEq, 0)} else None
    return _size_of(test)


def _last_asked(test: ast.expr) -> tuple[str, int] | None:
    """The name of which the test asks whether no more than so many, none or one, are left."""
    most = {(ast.Eq, 1): 1, (ast.LtE, 1): 1, (ast.Lt, 2): 1, (ast.Eq, 0): 0, (ast.LtE, 0): 0, (ast.Lt, 1): 0}
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int(number))]):
            name, left_over = _size_of(left), most.get((type(op), number))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            name, left_over = _size_of(inner), 0
        case _:
            return None
    return (name, left_over) if name is not None and left_over is not None else None

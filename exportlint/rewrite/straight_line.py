"""A function's statements in tensors: decisions and loops on data become straight-line code that selects.

Three steps, as compilers make them (AutoGraph and Pythran for Python, if-conversion for vector machines):

1. *Exits are structured.* What follows an `if` on data whose side returns, breaks or continues goes into the other
   side, so that an exit is the last thing that a block does.
2. *Every side is computed.* The two sides of a decision run one after the other, each on names of its own where
   they set what somebody reads later, and `torch.where` selects. A write in place writes what stands there already
   where its side was not taken.
3. *Steps of a loop are masked.* A loop that data ends goes on to the end that Python knows, and after data said so its
   steps change nothing. Where Python knows no end, the loop becomes the operator `while_loop`.

Liveness says which names have to be selected at all: those that somebody reads behind the decision, or in the next
step of the loop.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import blocks, statements
from exportlint.engine.flow.def_use import DefUse, changed, defined, path_of, root_of, used
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Array, Kind, Source
from exportlint.rewrite.choices import Choice
from exportlint.rewrite.draft import Copying, Swapped, as_target, as_value, changed_copy, expression, stands_for
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.grown_lists import GrownLists, appended, masked_entry
from exportlint.rewrite.masked_writes import filled_between
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import CannotError
from exportlint.rewrite.view import Nature, View, gone_through
from exportlint.rewrite.worklists import steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.engine.source.symbols import FunctionInfo

SELECTS = "compute both sides and select"
SELECTS_PADDED = "compute both sides on at least one row and select"
CHECKS = "check it while the program runs, which raises a RuntimeError"
CHOOSES = "run all of them and take one result"
SELECTS_MASKED = "select from the whole tensors with the mask"
GOES_ON = "go on with the tensor"
TELLS = "tell it in eager alone"
LEFT = "go through all that there are with a mask of those that are left"
STEPS = "take every step of the loop and change nothing after its end"
GROWS = "make every entry of the list and choose those that are there"
OPERATOR = "loop with the operator `while_loop`"
_EXITS = (ast.Return, ast.Break, ast.Continue)
_LOOPS = (ast.For, ast.While)
_DISPLAYS = (ast.Tuple, ast.List, ast.Dict, ast.Set)
_MOST_ROUNDS = 5
_DEEPEST = 16  # blocks in each other: the time that it takes grows with the third power
# Methods that only tell somebody something.
_TELLING = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "print", "write"})
# Functions of matrices that raise where there is no result, with those that tell it in a tensor instead.
_TELLING_INFO = {
    "torch.linalg.cholesky": "torch.linalg.cholesky_ex", "torch.linalg.inv": "torch.linalg.inv_ex",
    "torch.cholesky": "torch.linalg.cholesky_ex", "torch.inverse": "torch.linalg.inv_ex",
    "torch.linalg.solve": "torch.linalg.solve_ex",
}  # fmt: skip
_ERRORS_OF_LINALG = frozenset({"LinAlgError", "_LinAlgError", "RuntimeError", "Exception"})
_NUMBERS = frozenset({Kind.UNBACKED, Kind.SCALAR, Kind.SIZE})  # a tensor by 0 is infinite, and no error
_UNCERTAIN = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DIVIDING = (ast.Div, ast.FloorDiv, ast.Mod)
_NEUTRAL_OPERAND = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1, ast.FloorDiv: 1, ast.BitOr: 0}


@dataclass(frozen=True, slots=True)
class Style:
    """Which of several ways to write it is taken.

    loops      "masked": every step that Python allows is taken; "operator": `while_loop`
    padded     where a decision asks whether there are any rows, both sides are computed on at least one
    guarded    a place that data says is the first one where its side, or its step, is not taken: it may lie outside
    """

    loops: str = "masked"
    padded: bool = False
    guarded: bool = False


@dataclass
class StraightLine:
    """Rewrites the body of a view's function. `wanted`: the statements that decide, loop or read; None: all on data.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... from torch import Tensor, nn
    ... class Net(nn.Module):
    ...     def forward(self, x: Tensor):
    ...         if x.max() > 1:
    ...             return x / x.max()
    ...         return x
    ... ''', "forward")
    >>> body = StraightLine(View(code.module, code.function, code.belief)).body()
    >>> print(*(ast.unparse(ast.fix_missing_locations(one)) for one in body), sep="\\n")
    return torch.where(x.max() > 1, x / x.max(), x)
    """

    view: View
    style: Style = field(default_factory=Style)
    wanted: frozenset[int] | None = None
    # Names that were made here, so that none is made twice.
    made: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.form = TensorForm(self.view)
        self.flow = self.view.flow
        self.leaving: list[_Leaving] = []
        self.selected_on: set[str] = set()  # what a masked step selects from its last value
        self.done: dict[str, None] = {}  # what was done, as orders, in the order in which it was
        self.texts: set[str] = set()  # names of texts that export does not make
        self.nothing: set[str] = set()  # names that Python found to be None on the way to the statement
        self.flags_set: set[str] = set()  # flags of loops, which sides of decisions set
        self.copied: dict[int, ast.stmt] = {}  # copies, by identity, with what they were made of
        self.given: dict[str, None] = {}  # what was done before the first round
        self.data_given = frozenset(self.view.data)  # of parameters too, which held something else before
        self.begun = self._with_loops(list(self.view.body))
        self.lists = GrownLists(self.view, self.begun, self.decides, self.form.finish)
        self.flags: dict[int, str] = {}  # of loops that keep a result: the name of the flag that says so

    def body(self) -> list[ast.stmt]:
        """The new body; statements that stay are the author's nodes. Raises CannotError."""
        if _depth(self.view.body) > _DEEPEST:
            raise CannotError("nobody would read so many selections in each other")
        for _ in range(_MOST_ROUNDS):
            known, masks, lists = set(self.view.data), dict(self.form.masks), dict(self.lists.masks)
            self.made.clear()
            self.done.clear()
            self.done |= self.given
            self.form.choices.set_state(({}, {}, {}))
            body = self._structured(self.lists.marked(self.begun))
            self.flow = DefUse(body, self.view.flow.parameters, tuple(self.view.flow._live_at_end))  # noqa: SLF001
            new = self._block(body)
            if self.view.data <= known and self.form.masks == masks and self.lists.masks == lists:
                return self._without_unread(self._begun(new))
        raise CannotError("what its names hold has no end")

    def _begun(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """`best = None` before a loop that sets it in its first step is 0, which is never selected, and a tensor can
        stand beside. Where somebody asks whether it is None, it stays."""
        asked = {
            path_of(one.left) for one in walked(self.view.node)
            if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Is | ast.IsNot)
        }  # fmt: skip

        def nothing(value: ast.expr) -> bool:
            return isinstance(value, ast.Constant) and value.value is None

        def begun(node: ast.stmt) -> ast.stmt:
            pairs = _pairs(node) if isinstance(node, ast.Assign) else None
            if pairs is None or not isinstance(node, ast.Assign):
                return node
            values = [ast.Constant(0) if name in self.selected_on - asked and nothing(value) else value
                      for name, value in pairs]  # fmt: skip
            if _same(values, [value for _, value in pairs]):
                return node
            return changed_copy(node, value=values[0] if len(values) == 1 else ast.Tuple(values, ast.Load()))

        return [begun(one) for one in body]

    def _without_unread(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """What was read before and is read no more is not computed: `low = x[mask]`, once the mask is used instead."""
        read = {name for one in body for name in _reads_of(one)}
        before = {name for one in self.view.body for name in _reads_of(one)}

        unread = (before | self.made) - read

        def needed(block: list[ast.stmt]) -> list[ast.stmt]:
            kept: list[ast.stmt] = []
            for node in block:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)]) if name in unread and not _has_effects(node):
                        continue
                    case ast.For(body=inner) | ast.While(body=inner) if not _same(new := needed(inner), inner):
                        kept.append(changed_copy(node, body=new or [ast.Pass()]))
                        continue
                kept.append(node)
            return kept

        return needed(body)

    # -- 1. Exits are structured ------------------------------------------------------------------------------------

    def decides(self, test: ast.expr) -> bool:
        """Does data answer the test?"""
        return self.view.is_data(test)

    def _is_wanted(self, node: ast.stmt) -> bool:
        origin = getattr(node, "origin", node)
        return self.wanted is None or id(origin) in self.wanted or self._has_news_there(node)

    def _has_news(self, node: ast.AST) -> bool:
        """Does it use a name that holds something else than before?"""
        return bool(self.view.data) and any(path_of(one) in self.view.data for one in walked(node))

    def _has_news_there(self, node: ast.stmt) -> bool:
        """Likewise, where the name does: not above the statements that make it hold that."""
        return self._has_news(node) and any(
            path in self.view.data and not self._is_as_given(path, one)
            for one in statements([node])
            for path in map(path_of, walked(one))
            if path is not None
        )

    def _is_as_given(self, name: str, at: ast.stmt) -> bool:
        """Is it a parameter that nothing has set on the way to the statement?"""
        return (
            name in self.view.flow.parameters
            and name not in self.data_given
            and id(at) in self.flow.flow.step_of
            and not self.flow.definitions(name, at)
        )

    def _structured(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """The block, in which exits that data decides on are the last statements of the blocks that they stand in."""
        block = [new for node in block for plain in self._plainer(node) for new in self._appended_once(plain)]
        for place, node in enumerate(block):
            if isinstance(node, ast.If) and self._exits_by_data(node):
                rest = block[place + 1 :]
                body = self._structured([*node.body, *(rest if not _always_exits(node.body) else [])])
                orelse = self._structured([*node.orelse, *(rest if not _always_exits(node.orelse) else [])])
                return [*block[:place], changed_copy(node, body=body, orelse=orelse)]
            if isinstance(node, _LOOPS):
                body = self._structured(node.body)
                leaves = self._leaves_by_data(node if _same(body, node.body) else changed_copy(node, body=body))
                if not leaves:  # else the flag says it
                    body = self._ended(body)
                if leaves and any(isinstance(one, ast.Return) for one in _in_loop(body)):
                    return [*block[:place], *self._found(node, body, block[place + 1 :])]
                if not _same(body, node.body):
                    block = [*block[:place], changed_copy(node, body=body), *block[place + 1 :]]
            elif isinstance(node, ast.If | ast.With):
                changes = {name: new for name in ("body", "orelse") if (old := getattr(node, name, None))
                           and not _same(new := self._structured(old), old)}  # fmt: skip
                if changes:
                    block = [*block[:place], changed_copy(node, **changes), *block[place + 1 :]]
        return block

    def _ended(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The steps of a loop without the `continue` that ends a side of the decision that is its last statement."""
        match body:
            case [*before, ast.Continue()]:
                return before or [ast.Pass()]
            case [*before, ast.If(body=yes, orelse=no) as last] if self._exits_by_data(last):
                sides = (self._ended(yes), self._ended(no))
                if not all(map(_same, sides, (yes, no))):
                    return [*before, changed_copy(last, body=sides[0], orelse=sides[1])]
        return body

    def _plainer(self, node: ast.stmt) -> list[ast.stmt]:
        """`match` on data as `if`s, and `if flag and mask.any():` as one `if` in another, since the first guards; an
        `except` for matrices that cannot be decomposed as an `if`."""
        if isinstance(node, ast.Match) and self.decides(node.subject) and self._is_wanted(node):
            return [self._as_ifs(node)]
        if isinstance(node, ast.If) and self.decides(node.test) and self._is_wanted(node):
            return [self._split(node) or node]
        if isinstance(node, ast.For) and self.style.loops == "operator" and self._is_wanted(node):
            return self._as_while(node)
        if isinstance(node, ast.Try) and (self._is_wanted(node) or any(map(self._is_wanted, node.body))):
            return self._told_by_info(node) or self._told_by_values(node) or [node]
        return [node]

    def _appended_once(self, node: ast.stmt) -> list[ast.stmt]:
        """Where each side appends one entry to the same list, the entry is chosen, and appended behind: the list is as
        long as it was, and so is what is made of it."""
        if not isinstance(node, ast.If) or not self.decides(node.test) or not self._is_wanted(node):
            return [node]
        sides = [[new for one in side for new in self._appended_once(one)] for side in (node.body, node.orelse)]
        entries = [_entries_by_list(side) for side in sides]
        behind: list[ast.stmt] = []
        for name in (one for one in entries[0] if one in entries[1]):
            known = [found[name][1] for found in entries if path_of(found[name][1]) in self.made]
            chosen = ast.unparse(known[0]) if known else self.fresh(f"next_{name}")
            for number, found in enumerate(entries):
                line, entry = found[name]
                at = next(place for place, one in enumerate(sides[number]) if one is line)
                is_set = ast.unparse(entry) == chosen  # by a decision in this side
                news = [] if is_set else [stands_for(ast.Assign([ast.Name(chosen, ast.Store())], entry), line)]
                sides[number] = [*sides[number][:at], *news, *sides[number][at + 1 :]]
            behind.append(
                stands_for(ast.Expr(expression("LIST.append(ENTRY)", LIST=name, ENTRY=chosen)), entries[0][name][0])
            )
        if not behind:
            return [node]
        return [changed_copy(node, body=sides[0], orelse=sides[1]), *behind]

    def _with_loops(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """The block, in which lists that data filters are made by loops."""
        new: list[ast.stmt] = []
        for node in block:
            if isinstance(node, ast.Assign) and self._is_wanted(node) and (loop := self._filtered(node)) is not None:
                new += loop
                continue
            if isinstance(node, ast.While) and self._is_wanted(node) and (steps := self._in_steps(node)) is not None:
                new += steps
                continue
            changes: dict[str, object] = {}
            for name in ("body", "orelse") if isinstance(node, ast.If | ast.For | ast.With) else ():
                old = getattr(node, name, [])
                if not _same(inner := self._with_loops(old), old):
                    changes[name] = inner
            new.append(changed_copy(node, **changes) if changes else node)
        return new

    def _in_steps(self, node: ast.While) -> list[ast.stmt] | None:
        """A loop that ends when nothing is left of a list, as one over all of the list with a mask of what is left."""
        steps = steps_of(self.view, node, _places_of_mask, self.fresh)
        if steps is None:
            return None
        self.given[LEFT] = None
        self.view.data.add(steps.mask)
        self.view.booleans.add(steps.mask)
        self.view.python.add(steps.step)
        if self.wanted is not None:
            self.wanted |= {id(getattr(one, "origin", one)) for one in statements([steps.begun, steps.loop])}
        return [steps.begun, steps.loop]

    def _filtered(self, node: ast.Assign) -> list[ast.stmt] | None:
        """`kept = [f(row) for row in rows if row.sum() > 0]` as a loop that appends."""
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.ListComp(elt=entry, generators=[ast.comprehension(target=target, iter=over, ifs=[test])]),
            ) if self.decides(test):
                if set(defined(target)) & self.flow.live_after(node):
                    return None  # a loop would set what is only the comprehension's own
                begun, grows = written("NAME = []; NAME.append(ENTRY)", NAME=name, ENTRY=entry)
                decided = ast.If(test, [grows], [])
                loop = ast.For(as_target(target), over, [decided], [])
                if self.wanted is not None:
                    self.wanted |= {id(decided), id(loop)}
                return [stands_for(begun, node), loop]
        return None

    def _as_while(self, node: ast.For) -> list[ast.stmt]:
        """`for i in range(n):`, where data says `n`, as `i = 0` and `while i < n:`."""
        match node:
            case ast.For(
                target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count]), orelse=[]
            ) if self.decides(count):
                left = any(isinstance(one, ast.Continue) for one in _in_loop(node.body))
                if any(isinstance(self.view.value(one).lead, Array) for one in walked(count)):
                    return [node]  # NumPy knows it
                if left or index in {name for one in node.body for name in names_set(one)}:
                    return [node]
            case _:
                return [node]
        name = index if index != "_" else self.fresh("step")
        self.view.data.add(name)
        self.form.whole.add(name)
        begun, *_, further = written("I = torch.tensor(0)\nI = I + 1", I=name)
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [count])
        loop = ast.While(test, [*node.body, further], [])
        return [stands_for(begun, node), loop]

    def _told_by_info(self, node: ast.Try) -> list[ast.stmt] | None:
        """`try: f = torch.linalg.cholesky(x)` with its `except`, by what `cholesky_ex` tells: no error to wait for."""
        calls = [one for one in _calls(node.body) if (self.view.origin(one.func) or "") in _TELLING_INFO]
        if len(calls) != 1 or len(node.handlers) != 1 or node.finalbody:
            return None
        handler = node.handlers[0]
        caught = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in _types(handler)]
        is_read = handler.name is not None and any(handler.name in set(_reads(one)) for one in handler.body)
        if is_read or not set(caught) <= _ERRORS_OF_LINALG or any(isinstance(o, ast.Raise) for o in handler.body):
            return None
        place = next(at for at, one in enumerate(node.body) if _holds(one, calls[0]))
        # Behind a `continue` or a `break` the name may be read, as it was before.
        returns = _always_exits(handler.body) and not any(
            isinstance(one, ast.Break | ast.Continue) for one in _in_loop(handler.body)
        )
        match node.body[place]:
            case ast.Assign(targets=[ast.Name() as set_to], value=value) if (
                value is calls[0] and returns and set_to.id not in set(_reads_of(handler))
            ):
                result, tried = set_to.id, list[ast.stmt]()
            case plain:
                result = self.fresh("result")
                tried = [cast("ast.stmt", Swapped({id(calls[0]): ast.Name(result, ast.Load())}).visit(plain))]
        names = [result, self.fresh("info")]
        self.view.data |= set(names)
        telling = expression(_TELLING_INFO[self.view.origin(calls[0].func) or ""])
        told = changed_copy(calls[0], func=telling)
        target = ast.Tuple([ast.Name(one, ast.Store()) for one in names], ast.Store())
        test = expression("(INFO == 0).all()", INFO=names[1])
        decided = ast.If(test, [*tried, *node.body[place + 1 :], *node.orelse], list(handler.body))
        return [*node.body[:place], stands_for(ast.Assign([target], told), node), decided]

    def _told_by_values(self, node: ast.Try) -> list[ast.stmt] | None:
        """`try: share = 1 / n` with its `except ZeroDivisionError`, and `try: first = x.tolist().index(1)` with its
        `except ValueError`, as an `if` that asks the values what the error tells."""
        match node:
            case ast.Try(
                body=[ast.Return(value=ast.expr() as value) | ast.Assign(targets=[ast.Name()], value=value) as tried],
                handlers=[ast.ExceptHandler(name=None) as handler],
                finalbody=[],
            ):
                caught = {
                    one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in _types(handler)
                }
            case _:
                return None
        parts = [one for one in walked(value) if isinstance(one, ast.Call | ast.BinOp)]
        if any(isinstance(one, _UNCERTAIN) for one in walked(value)) or not all(map(self._raises_nothing, parts)):
            return None
        block: list[ast.stmt] = [tried]
        divided = [one for one in parts if isinstance(one, ast.BinOp) and isinstance(one.op, _DIVIDING)]
        sought = [found for one in parts if isinstance(one, ast.Call) and (found := self._sought(one)) is not None]
        match divided, sought:
            case [ast.BinOp(left=left, right=right)], [] if (
                caught
                and caught <= {"ZeroDivisionError", "ArithmeticError"}
                and self.view.value(right).is_unbacked
                and (isinstance(left, ast.Constant) or self.view.value(left).kind in _NUMBERS)
            ):
                test = expression("N != 0", N=right)
            case [], [(call, tensor, item)] if caught == {"ValueError"}:
                test = expression("(X == ITEM).any()", X=tensor, ITEM=item)
                # Where it is not there, place 0, since the place is read in any case.
                first = expression("(((X == ITEM).cumsum(0) == 0) & (X == ITEM).any()).sum()", X=tensor, ITEM=item)
                block = [cast("ast.stmt", Swapped({id(call): first}).visit(tried))]
            case _:
                return None
        if self.wanted is not None:
            self.wanted |= {id(node)}
        return [stands_for(ast.If(test, [*block, *node.orelse], list(handler.body)), node)]

    def _raises_nothing(self, node: ast.Call | ast.BinOp) -> bool:
        """A method, or a function of Python's or torch's own: a function of the project may raise what is caught."""
        if isinstance(node, ast.BinOp):
            return True
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        origin = self.view.origin(node.func) or ""
        if origin.startswith(("builtins.", "torch.", "math.")):
            return True
        return owner is not None and path_of(owner) != "self" and self.view.value(node.func).function is None

    def _sought(self, call: ast.Call) -> tuple[ast.Call, ast.expr, ast.expr] | None:
        """`x.tolist().index(item)` of a tensor of one dim: the call, the tensor and what is looked for."""
        match call:
            case ast.Call(func=ast.Attribute(value=listed, attr="index"), args=[item], keywords=[]):
                made = self.view.only_value(listed.id) if isinstance(listed, ast.Name) else listed
            case _:
                return None
        match made:
            case ast.Call(func=ast.Attribute(value=tensor, attr="tolist"), args=[]) if self.view.value(
                tensor
            ).is_tensor:
                dims = self.view.dims(tensor)
                return (call, tensor, item) if dims is None or len(dims) == 1 else None
        return None

    def _found(self, node: ast.For | ast.While, body: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
        """`return` inside of a loop keeps the result and breaks; what follows the loop is for where there is none."""
        if any(isinstance(one, ast.Break) for one in _in_loop(body)) or node.orelse:
            raise CannotError("a loop is left in more than one way")
        returns = [one for one in _in_loop(body) if isinstance(one, ast.Return)]
        values = [one.value for one in returns]
        if (plain := self._returned_behind(node, body, rest, values)) is not None:
            return plain
        forms = {_form_of(one.value) for one in returns if one.value is not None}
        if len(forms) != 1 or any(one.value is None for one in returns):
            raise CannotError("a loop returns other things on other ways")
        names = [self.fresh("result") for _ in _parts_returned(cast("ast.expr", values[0]))]
        flag = self.fresh("done")
        new = changed_copy(node, body=[_ReturnsToBreaks(names).visit(one) for one in body])
        self.flags[id(new)] = flag
        self.view.data |= {flag, *names}
        self.view.booleans.add(flag)
        result: ast.expr = ast.Name(names[0], ast.Load())
        match values[0]:
            case ast.Tuple():
                result = ast.Tuple([ast.Name(one, ast.Load()) for one in names], ast.Load())
            case ast.Dict(keys=keys):
                result = ast.Dict(keys, [ast.Name(one, ast.Load()) for one in names])
        begun = [ast.Assign([ast.Name(one, ast.Store())], ast.Constant(0)) for one in names]
        decided = ast.If(ast.Name(flag, ast.Load()), [ast.Return(result)], self._structured(rest))
        return [*begun, new, decided]

    def _returned_behind(
        self, node: ast.For | ast.While, body: list[ast.stmt], rest: list[ast.stmt], values: list[ast.expr | None]
    ) -> list[ast.stmt] | None:
        """`return` of one thing in the loop as `break`, and the return behind it: what it is made of stays as it was
        when the loop was left. Only where nothing but that return ends the loop, or the same one follows it."""
        value = values[0]
        if value is None or any(one is None or ast.dump(one) != ast.dump(value) for one in values):
            return None
        is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
        follows = rest and isinstance(rest[0], ast.Return) and rest[0].value is not None
        if not is_endless and not (follows and ast.dump(cast("ast.Return", rest[0]).value) == ast.dump(value)):  # type: ignore[arg-type]  # `follows` says that there is one
            return None
        leaving = [_LeavesByBreak().visit(one) for one in body]
        return [changed_copy(node, body=leaving), rest[0] if follows else ast.Return(value)]

    def _exits_by_data(self, node: ast.If) -> bool:
        """Does the `if` leave its block on a side that data chooses?"""
        own = self.decides(node.test) and self._is_wanted(node) and any(
            _has_exit(side) for side in (node.body, node.orelse)
        )  # fmt: skip
        inner = (one for side in (node.body, node.orelse) for one in side if isinstance(one, ast.If))
        return own or any(map(self._exits_by_data, inner))

    # -- 2. Every side is computed ----------------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [new for node in body for new in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If():
                return self._decision(node)
            case ast.For() | ast.While():
                return self._loop(node)
            case ast.With(body=body):
                new = self._block(body)
                return [node if _same(new, body) else changed_copy(node, body=new)]
            case ast.Try():
                return [self._try(node)]
            case ast.Assert(test=test, msg=message) if self.decides(test) and self._is_wanted(node):
                return self._asserted(node, test, message)
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
                return [node]
        if self._is_told(node):
            self.done[TELLS] = None
            return [stands_for(ast.If(expression("not torch.compiler.is_exporting()"), [node], []), node)]
        masked = isinstance(node, ast.Assign) and path_of(node.targets[0]) in self.form.masks
        if not self._is_wanted(node) and not masked:
            return [node]
        self.form.choices.met = False
        plain = self._plain(node)
        if plain is not node:
            decides = any(isinstance(one, ast.IfExp | ast.BoolOp) and self.decides(one) for one in walked(node))
            masks = isinstance(node, ast.Assign) and self.form.writes_masked(node.targets[0])
            how = CHOOSES if self.form.choices.met else SELECTS if decides else SELECTS_MASKED if masks else GOES_ON
            self.done[how] = None
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.form.masks:
                mask = self.form.masks[name]
                found = self.form.selection(value)
                if found is not None:
                    self.view.data.add(mask)
                    self.view.booleans.add(mask)
                    return [ast.Assign([ast.Name(mask, ast.Store())], found[1]), plain]
        return [plain]

    def _is_told(self, node: ast.stmt) -> bool:
        """Is it only there to tell somebody what data is: a text of data, or a call that prints it?"""
        if _only_tells(node):
            return bool(set(_reads(node)) & self.texts) or (self._is_wanted(node) and self.view.holds_data(node))
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.JoinedStr() as text) if self._is_wanted(node):
                readers = [one for one in statements(self.flow.body) if name in set(_reads_here(one))]
                if self.view.holds_data(text) and all(map(_only_tells, readers)):
                    self.texts.add(name)
                    return True
        return False

    def _try(self, node: ast.Try) -> ast.stmt:
        """A `try` stays; what it tries is written in tensors where no handler waits for what data decides."""
        if any(isinstance(one, ast.If | ast.Assert) and self.decides(one.test) for one in statements(node.body)):
            raise CannotError("a `try` waits for what data decides")
        body = self._block(node.body)
        return node if _same(body, node.body) else changed_copy(node, body=body)

    def _plain(self, node: ast.stmt) -> ast.stmt:
        """A statement without blocks, with its expressions in tensors."""
        match node:
            case ast.Assign(targets=[target], value=value) if (chosen := self._chosen(target, value)) is not None:
                return stands_for(chosen, node)
            case ast.Assign(targets=[ast.Subscript() as target], value=value) if (
                filled := filled_between(self.form, target, value)
            ) is not None:
                return stands_for(ast.Expr(filled), node)
            case ast.Assign(targets=targets, value=value):
                new = self.form.of(value)
                if isinstance(targets[0], ast.Subscript) and (whole := self.form.masked_write(targets[0], value)):
                    target, new = whole
                    if self.view.value(target).source is Source.COMPUTED and isinstance(target, ast.Name):
                        return changed_copy(node, targets=[as_target(target)], value=new)
                    return stands_for(written("X.copy_(NEW)", X=target, NEW=new)[0], node)
                if isinstance(targets[0], ast.Subscript) and self.view.holds_data(targets[0].slice):
                    target, new = self.form.written_place(targets[0], new)
                    return (
                        node
                        if new is value and target is targets[0]
                        else changed_copy(node, targets=[target], value=new)
                    )
                changed_targets = targets
                for target in targets:
                    self._note(target, value, new)
                if new is value and _same(changed_targets, targets):
                    return node
                return changed_copy(node, targets=changed_targets, value=new)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                new = self.form.of(value)
                self._note(target, value, new)
                if new is value:
                    return node
                return stands_for(ast.Assign([as_target(target)], new), node)
            case ast.AugAssign(target=target, value=value):
                new = self.form.of(value)
                if isinstance(target, ast.Subscript) and self.form.written_place(target, new)[0] is not target:
                    written_out = ast.BinOp(as_value(target), node.op, value)
                    return self._plain(stands_for(ast.Assign([target], written_out), node))
                if self.view.is_data(new) and (path := path_of(target)) and not self.view.is_data(as_value(target)):
                    self.view.data.add(path)
                return node if new is value else changed_copy(node, value=new)
            case ast.Assert(test=test):
                new = self.form.of(test)
                return node if new is test else changed_copy(node, test=new)
            case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
                new = self.form.of(value)
                return node if new is value else changed_copy(node, value=new)
        return node

    def _chosen(self, target: ast.expr, value: ast.expr) -> ast.stmt | None:
        """A name that is set to what data chooses, or to several things in an order that data says, holds its number,
        or theirs."""
        choices = self.form.choices
        names = [one.id for one in (target.elts if isinstance(target, ast.Tuple) else [target])
                 if isinstance(one, ast.Name)]  # fmt: skip
        for name in names:
            choices.forget(name)
        if not names or self.view.value(value).is_tensor:
            return None
        if isinstance(target, ast.Name):
            if (order := choices.order(value)) is not None:
                choices.met = True
                self.form.holds(target, order.index)
                choices.orders[target.id] = replace(order, index=as_value(target))
                return ast.Assign([as_target(target)], order.index)
            if (number := choices.number_of(target.id, value)) is not None:
                around = choices.texts[target.id]
                self.form.holds(target, number)
                choices.texts[target.id] = around
                return ast.Assign([as_target(target)], number)
            if choices.is_thing(value):
                choices.held[target.id] = value
        choice = choices.of(value)
        if choice is None:
            return None
        choices.met = True
        if isinstance(target, ast.Name):
            return self._numbered(target.id, choice)
        kept = self.fresh("chosen")
        for place, name in enumerate(names):
            part = expression("X[PLACE]", X=choice.made, PLACE=place)
            choices.named[name] = replace(choice, made=part, index=ast.Name(kept, ast.Load()))
        return ast.Assign([ast.Name(kept, ast.Store())], choice.index)

    def _numbered(self, name: str, choice: Choice) -> ast.stmt:
        """The statement that makes a name hold the number of what is chosen."""
        self.form.holds(ast.Name(name, ast.Load()), choice.index)
        self.form.choices.named[name] = replace(choice, index=ast.Name(name, ast.Load()))
        self.form.choices.numbers[id(choice.index)] = choice
        return ast.Assign([ast.Name(name, ast.Store())], choice.index)

    def _note(self, target: ast.expr, old: ast.expr, new: ast.expr) -> None:
        """Remember what the name holds now."""
        if isinstance(target, ast.Tuple | ast.List):
            if new is not old:
                parts = (
                    new.elts if isinstance(new, ast.Tuple | ast.List) and len(new.elts) == len(target.elts) else None
                )
                for place, one in enumerate(target.elts):
                    self.form.holds(one, parts[place] if parts else new)
            return
        path = path_of(target)
        if path is None or (id(old) in self.view.asked and self.view.nature(new) is Nature.SIZE):
            return
        if (
            new is not old
            or (self.view.is_data(new) and self.view.nature(old) is not Nature.DATA)
            or (self.view.is_data(new) and not self.view.value(target).may_be_data and self._has_news(old))
        ):
            self.form.holds(target, new)

    # Decisions.

    def _decision(self, node: ast.If) -> list[ast.stmt]:
        if _is_for_eager(self.view, node):
            return [node]
        if not self.decides(node.test) or not self._is_wanted(node):
            self.form.choices.refuse(node.test)
            body, orelse = self._block(node.body), self._block(node.orelse)
            if _same(body, node.body) and _same(orelse, node.orelse):
                return [node]
            return [changed_copy(node, body=body or [ast.Pass()], orelse=orelse)]
        raising = [side for side in (node.body, node.orelse) if side and isinstance(side[-1], ast.Raise)]
        if raising and len(raising[0]) == 1:
            return self._checked(node, raises_if=raising[0] is node.body)
        told = [one for one in (*node.body, *node.orelse) if not isinstance(one, ast.Pass)]
        if told and all(map(_only_tells, told)):
            self.done[TELLS] = None
            guard = expression("not torch.compiler.is_exporting()")
            return [stands_for(ast.If(guard, [node], []), node)]
        test = self.form.truth(node.test)
        name = self._rows_asked(node) if self.style.padded else None
        if name is None:
            return self._selected(node, test)
        hoisted, test = self._hoisted(test)
        row = "torch.cat([NAME, NAME.new_zeros(max(0, 1 - NAME.shape[0]), *NAME.shape[1:])])"
        selected = self._selected(node, test)
        self.done = {SELECTS_PADDED if done == SELECTS else done: None for done in self.done}
        return [*hoisted, *written(f"NAME = {row}", NAME=name), *selected]

    def _rows_asked(self, node: ast.If) -> str | None:
        """The name of the tensor of which the test asks whether it has any rows, where the side for none does not go on
        with it, nobody reads it later on, and the other side takes one of the rows, or the side for none makes one."""
        match node.test:
            case ast.Compare(left=asked, ops=[ast.Eq() | ast.LtE()], comparators=[ast.Constant(value=0)]):
                none, some = node.body, node.orelse
            case ast.Compare(left=asked, ops=[ast.NotEq() | ast.Gt()], comparators=[ast.Constant(value=0)]):
                none, some = node.orelse, node.body
            case ast.UnaryOp(op=ast.Not(), operand=asked):
                none, some = node.body, node.orelse
            case asked:
                none, some = node.orelse, node.body
        match asked:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel" | "nelement"), args=[]):
                pass
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                pass
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=0)):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=0)]):
                pass
            case _:
                return None
        makes = set[int]()  # its class, and the sizes of its rows, are the same with a row more
        for one in (one for line in none for one in walked(line)):
            match one:
                case ast.Call(func=ast.Attribute(value=owner, attr=made)) if made.startswith("new_"):
                    makes.add(id(owner))
                case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=int(dim))):
                    makes |= {id(owner)} if dim else set()
        reads = (one for line in none for one in walked(line) if id(one) not in makes)
        if any(isinstance(one, ast.Name) and one.id == name for one in reads):
            return None
        takes = any(_takes_one(one) for line in some for one in walked(line))
        if not takes and not any(_makes_one(one) for line in none for one in walked(line)):
            return None
        returns = all(_always_exits(side) for side in (node.body, node.orelse))
        return name if returns or name not in self._live_after(node) else None

    def _split(self, node: ast.If) -> ast.If | None:
        """`if flag and mask.any():` as `if flag:` around `if mask.any():`, since the first guards the second."""
        test = node.test
        if not isinstance(test, ast.BoolOp):
            return None
        python = [one for one in test.values if not self.decides(one)]
        data = [one for one in test.values if self.decides(one)]
        if not python or not data or test.values[: len(python)] != python:
            return None
        ours = python[0] if len(python) == 1 else changed_copy(test, values=python)
        theirs = data[0] if len(data) == 1 else changed_copy(test, values=data)
        if isinstance(test.op, ast.And):
            inner = stands_for(ast.If(theirs, node.body, node.orelse), node)
            return changed_copy(node, test=ours, body=[inner], orelse=node.orelse)
        inner = stands_for(ast.If(theirs, node.body, node.orelse), node)
        return changed_copy(node, test=ours, body=node.body, orelse=[inner])

    def _checked(self, node: ast.If, *, raises_if: bool) -> list[ast.stmt]:
        """An `if` that raises, as a check that the program makes; the other side follows."""
        side = node.body if raises_if else node.orelse
        message = _message(side[-1])
        test = self.form.truth(node.test)
        holds = self.form.negated(test) if raises_if else test
        check = stands_for(self.check(holds, message), node)
        return [check, *self._block(node.orelse if raises_if else node.body)]

    def check(self, test: ast.expr, message: ast.expr | None) -> ast.stmt:
        """A statement that raises where a tensor of one bool is False, while the program runs."""
        self.done[CHECKS] = None
        match message:
            case ast.Constant(value=str()):
                text = message
            case ast.JoinedStr(values=values):
                parts = [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                text = ast.Constant("".join(parts).strip() or "a check failed")
            case _:
                text = ast.Constant("a check failed")
        return written("torch._assert_async(TEST, MESSAGE)", TEST=test, MESSAGE=text)[0]

    def _asserted(self, node: ast.Assert, test: ast.expr, message: ast.expr | None) -> list[ast.stmt]:
        """An `assert` of data as a check that the program makes; what Python can answer it still asks Python."""
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        python = [one for one in parts if not self.decides(one)]
        joined = [one for one in parts if self.decides(one)]
        if not python or not isinstance(test, ast.BoolOp):
            return [stands_for(self.check(self.form.truth(test), message), node)]
        ours = python[0] if len(python) == 1 else changed_copy(test, values=python)
        theirs = joined[0] if len(joined) == 1 else changed_copy(test, values=joined)
        check = self.check(self.form.truth(theirs), message)
        if isinstance(test.op, ast.And):
            return [stands_for(ast.Assert(ours, message), node), check]
        return [stands_for(ast.If(ast.UnaryOp(ast.Not(), ours), [check], []), node)]

    def _selected(self, node: ast.If, test: ast.expr) -> list[ast.stmt]:
        """Both sides, and what they set selected."""
        self.done[SELECTS] = None
        test = self._surely_tensor(test)
        sides = (self._side(node.body), self._side(node.orelse))
        if any(_always_exits(side) for side in sides):
            return self._returned(node, test, sides)
        live = self._live_after(node)
        places = [
            place for place in dict.fromkeys(name for side in sides for one in side for name in names_set(one))
            if place in live or place.partition(".")[0] == "self"
        ]  # fmt: skip
        places.sort(key=self.flags_set.__contains__)
        if any("." in place and place not in self.view.data for place in places):
            raise CannotError("a side sets an attribute")  # state has to be in buffers first
        if (short := self._at_once(test, sides, places)) is not None:
            return [stands_for(short[0], node), *short[1:]] if short else []
        hoisted, test = self._hoisted(test)
        sides = (_one_by_one(sides[0]), _one_by_one(sides[1]))
        new, values = self._both(test, sides, places)
        merges = [self._merge(place, test, values[0][place], values[1][place]) for place in places]
        whole = [*hoisted, *new, *merges]
        return [stands_for(whole[0], node), *whole[1:]] if whole else []

    def _side(self, side: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Its statements; what they make names hold, others do not see."""
        before = self.form.choices.state()
        new = self._block(side)
        self.form.choices.set_state(before)
        return new

    def _surely_tensor(self, test: ast.expr) -> ast.expr:
        """`stale >= 2` as a tensor where the count begins as a number of Python, which `torch.where` does not take."""
        if not isinstance(test, ast.Compare):
            return test
        begun = self.view.begun_as_numbers
        data = [one for one in (test.left, *test.comparators) if self.view.is_data(one)]
        if not all(begun & set(_reads(one)) and isinstance(one, ast.Name | ast.BinOp) for one in data):
            return test
        return expression("torch.as_tensor(TEST)", TEST=test)

    def _live_after(self, node: ast.stmt) -> frozenset[str]:
        """What is read behind the statement, which has to be one of those that the data flow was made of."""
        node = self.copied.get(id(node), node)
        if id(node) not in self.flow.flow.step_of:
            raise CannotError("nothing is known of what is read behind it")
        return self.flow.live_after(node) | self.flags_set

    def _merge(self, place: str, test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.stmt:
        target = _place(place)
        if (choice := self.form.choices.selected(test, yes, no)) is not None:
            return self._numbered(place, choice)
        chosen = self.form.selected(test, yes, no)
        self.form.holds(target, chosen)
        return ast.Assign([as_target(target)], chosen)

    def _at_once(
        self, test: ast.expr, sides: tuple[list[ast.stmt], list[ast.stmt]], places: list[str]
    ) -> list[ast.stmt] | None:
        """One selection for each name, where no side needs what it set itself: `x = torch.where(test, a, x)`."""
        values: list[dict[str, ast.expr]] = []
        for side in sides:
            found: dict[str, ast.expr] = {}
            for one in side:
                if isinstance(one, ast.Pass):
                    continue
                if not isinstance(one, ast.Assign) or len(one.targets) != 1:
                    return None
                pairs = _pairs(one)
                if pairs is None or any(name in found for name, _ in pairs):
                    return None
                if any(set(_reads(value)) & found.keys() for _, value in pairs):
                    return None
                found.update(pairs)
            values.append(found)
        if any(name not in places for found in values for name in found):
            return None
        order = sorted(dict.fromkeys((*values[0], *values[1])), key=self.flags_set.__contains__)
        done: set[str] = set()
        for name in order:
            if any(set(_reads(found[name])) & done for found in values if name in found):
                return None
            done.add(name)
        hoisted: list[ast.stmt] = []
        if len(order) > 1 or self._is_long(test):
            hoisted, test = self._hoisted(test)
        olds = {name: as_value(_place(name)) for name in order}
        return [*hoisted, *(self._merge(n, test, values[0].get(n, olds[n]), values[1].get(n, olds[n])) for n in order)]

    def _outermost(self, node: ast.stmt) -> ast.stmt:
        """The outermost loop around the statement of the author's; itself where there is none."""
        origin = getattr(node, "origin", node)
        loops = [one for one in statements(self.flow.body) if isinstance(one, _LOOPS)]
        return next((one for one in loops if any(inner is origin for inner in walked(one))), node)

    @staticmethod
    def _is_long(test: ast.expr) -> bool:
        return sum(1 for _ in walked(test)) > 40  # noqa: PLR2004 - about half a line

    def _hoisted(self, test: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """The test under a name, where it is more than that."""
        inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Invert) else test
        if isinstance(inner, ast.Name):
            return [], test
        name = self.fresh("chosen")
        self.view.data.add(name)
        self.view.booleans.add(name)
        return [ast.Assign([ast.Name(name, ast.Store())], test)], ast.Name(name, ast.Load())

    def fresh(self, wanted: str) -> str:
        """A name that the function does not use."""
        name, number = wanted, 2
        while name in self.made or name in self.view.flow.names:
            name, number = f"{wanted}_{number}", number + 1
        self.made.add(name)
        return name

    def _both(
        self, test: ast.expr, sides: tuple[list[ast.stmt], list[ast.stmt]], places: list[str]
    ) -> tuple[list[ast.stmt], list[dict[str, ast.expr]]]:
        """The statements of both sides, one after the other, and what each leaves in the places."""
        new: list[ast.stmt] = []
        values: list[dict[str, ast.expr]] = []
        for number, side in enumerate(sides):
            own = {name for one in side for name in names_set(one)}
            other = {name for one in sides[1 - number] for name in used(one)} if number == 0 else set[str]()
            renamed = {
                name: ast.Name(self.fresh(f"{name.rpartition('.')[2]}_{('then', 'else')[number]}"), ast.Load())
                for name in dict.fromkeys(n for one in side for n in names_set(one))
                if name in places or name in other
            }
            for name in own & set(renamed):
                if self.view.is_data(as_value(_place(name))):
                    self.view.data.add(renamed[name].id)
            begun: set[str] = set()
            left = self._private(side)
            for plain in side:
                if isinstance(plain, ast.Pass):
                    continue
                taken = test if number == 0 else self.form.negated(test)
                one = self._guarded(plain, self.form.negated(taken))
                masked = self._masked_write(one, taken, left)
                sets = set(names_set(masked)) & renamed.keys()
                if not isinstance(masked, ast.Assign | ast.AnnAssign | ast.Expr):  # it may leave the name as it was
                    kept = sorted(name for name in sets - begun if not _surely_sets(masked, name))
                    new += [ast.Assign([as_target(renamed[name])], as_value(_place(name))) for name in kept]
                    begun |= sets
                loads = {name: renamed[name] for name in begun}
                new.append(_renamed(masked, loads, {name: renamed[name] for name in sets}))
                begun |= sets
            values.append({
                place: renamed[place] if place in renamed and place in own else as_value(_place(place))
                for place in places
            })  # fmt: skip
        return _inlined(new, values, places), values

    def _private(self, side: Sequence[ast.stmt]) -> set[str]:
        """Names that the side sets to something of its own, so that it may write there."""
        return {
            name for one in side if isinstance(one, ast.Assign) and _is_fresh(one.value) for name in names_set(one)
        }  # fmt: skip

    def _masked_write(self, node: ast.stmt, test: ast.expr, own: set[str]) -> ast.stmt:
        """A write in place that changes nothing where the test fails."""
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                if _viewed(target) in own:
                    return node
                return changed_copy(node, value=self.form.selected(test, value, as_value(target)))
            case ast.AugAssign(target=target, op=operator, value=value):
                return self._masked_sum(node, target, operator, value, test)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method)) as call) if method.endswith(
                "_"
            ) and not method.endswith("__"):
                if _viewed(owner) in own:
                    return node
                return changed_copy(node, value=self._masked_call(call, owner, method, test))
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assign() | ast.AnnAssign():
                return node
            case ast.If(test=asked, body=body) if _is_for_eager(self.view, node) and all(map(_only_tells, body)):
                return changed_copy(node, test=expression("ASKED and TEST", ASKED=asked, TEST=test))
            case ast.If(test=asked, body=body, orelse=orelse):
                new = [self._masked_write(one, test, own) for one in body]
                return changed_copy(
                    node, test=asked, body=new, orelse=[self._masked_write(o, test, own) for o in orelse]
                )
            case ast.For(body=body):
                return changed_copy(node, body=[self._masked_write(one, test, own) for one in body])
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="_assert_async"), args=[holds, *rest]) as call):
                either = ast.BinOp(self.form.negated(test), ast.BitOr(), holds)
                return changed_copy(node, value=changed_copy(call, args=[either, *rest]))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="append"))) if path_of(
                owner
            ) not in self.flow.live_after(self._outermost(node)):
                return node  # nobody reads it behind the loop
        if (found := appended(node)) is not None:
            return self._masked_entry(node, found[0], test)
        if _only_tells(node):  # eager tells it where it did
            return ast.If(expression("not torch.compiler.is_exporting() and TEST", TEST=test), [node], [])
        raise CannotError("a side does more than to set names")

    def _masked_entry(self, node: ast.stmt, name: str, test: ast.expr) -> ast.stmt:
        """An entry of a list is made in any case; the mask beside the list says whether it is there."""
        if name in self.lists.masks.values():
            return masked_entry(node, test)
        if name not in self.lists.masks:
            self.lists.add(name, f"is_in_{name}")  # the next round knows it
            self.done[GROWS] = None
        return node

    def _masked_sum(
        self, node: ast.AugAssign, target: ast.expr, operator: ast.operator, value: ast.expr, test: ast.expr
    ) -> ast.stmt:
        """`x += y` of a tensor that others may see stays in place; of anything else it is `x = …`."""
        seen = self.view.value(target)
        shared = isinstance(target, ast.Subscript) or (
            seen.is_tensor and seen.source is not Source.COMPUTED and path_of(target) not in self.view.data
        )
        neutral = _NEUTRAL_OPERAND.get(type(operator))
        if shared and neutral is not None:
            return changed_copy(node, value=self.form.selected(test, value, ast.Constant(neutral)))
        return stands_for(ast.Assign([target], ast.BinOp(as_value(target), operator, value)), node)

    def _masked_call(self, call: ast.Call, owner: ast.expr, method: str, test: ast.expr) -> ast.expr:
        """`x.add_(1)` as `x.copy_(torch.where(test, x.add(1), x))`."""
        match method:
            case "copy_" if len(call.args) == 1:
                new: ast.expr = call.args[0]
            case "zero_":
                new = ast.Constant(0)
            case "fill_" if len(call.args) == 1:
                new = call.args[0]
            case _:
                new = ast.Call(ast.Attribute(owner, method[:-1], ast.Load()), call.args, call.keywords)
        return expression("X.copy_(NEW)", X=owner, NEW=self.form.selected(test, new, owner))

    def _returned(self, node: ast.If, test: ast.expr, sides: tuple[list[ast.stmt], list[ast.stmt]]) -> list[ast.stmt]:
        """Both sides return: one `return` of what is selected."""
        raising = [place for place, side in enumerate(sides) if side and isinstance(side[-1], ast.Raise)]
        if len(raising) == 1:  # what raises is computed, and checked
            named, test = self._hoisted(test)
            check = self.check(self.form.negated(test) if raising[0] == 0 else test, _message(sides[raising[0]][-1]))
            before = (sides[0][:-1], sides[1][:-1])
            new, _ = self._both(test, (before[0], before[1]), [])
            whole = [*named, *new, check, *sides[1 - raising[0]][-1:]]
            return [stands_for(whole[0], node), *whole[1:]]
        if not all(side and isinstance(side[-1], ast.Return) for side in sides):
            raise CannotError("one side returns, and the other goes on" if not self.leaving else "a loop is left")
        results = [cast("ast.Return", side[-1]).value for side in sides]
        if any(one is None for one in results):
            raise CannotError("one side returns nothing")
        before = (sides[0][:-1], sides[1][:-1])
        hoisted: list[ast.stmt] = []
        if any(before) or self._is_long(test):
            hoisted, test = self._hoisted(test)
        given = cast("list[ast.expr]", results)
        if set(_reads(given[0])) & {name for one in before[1] for name in names_set(one)}:
            # The other side sets anew what the result of the first one is made of.
            kept = self.fresh("first")
            self.view.data.add(kept)
            before = ([*before[0], ast.Assign([ast.Name(kept, ast.Store())], given[0])], before[1])
            given[0] = ast.Name(kept, ast.Load())
        new, _ = self._both(test, before, [])
        last = ast.Return(self.form.selected(test, *given))
        whole = [*hoisted, *new, last]
        return [stands_for(whole[0], node), *whole[1:]]

    def _as_ifs(self, node: ast.Match) -> ast.stmt:
        """`match n:` with values and a default as `if n == 1:`, `elif n == 2:`, `else:`."""
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            match case.pattern:
                case ast.MatchAs(pattern=None, name=None) if case.guard is None:
                    rest = case.body
                    continue
                case ast.MatchValue(value=value):
                    tests: list[ast.expr] = [value]
                case ast.MatchOr(patterns=patterns) if all(isinstance(one, ast.MatchValue) for one in patterns):
                    tests = [cast("ast.MatchValue", one).value for one in patterns]
                case _:
                    raise CannotError("a pattern is no value")
            test: ast.expr = ast.Compare(node.subject, [ast.Eq()], [tests[0]])
            for one in tests[1:]:
                test = ast.BinOp(test, ast.BitOr(), ast.Compare(node.subject, [ast.Eq()], [one]))
            if case.guard is not None:
                test = ast.BoolOp(ast.And(), [test, case.guard])
            rest = [ast.If(test, case.body, rest)]
        return stands_for(rest[0], node)

    # -- 3. Steps of a loop are masked --------------------------------------------------------------------------------

    def _loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        if isinstance(node, ast.While):
            if self.decides(node.test) or self._leaves_by_data(node):
                return self._while(node)
        elif self._is_counted_by_data(node.iter):
            return self._counted(node)
        elif self._leaves_by_data(node):
            return self._broken(node)
        over = node.iter if isinstance(node, ast.For) else node.test
        if (order := self.form.choices.order(over)) is not None and isinstance(node, ast.For):
            self.done[CHOOSES] = None
            if (each := path_of(node.target)) is None:
                raise CannotError("parts of what data orders are gone through")
            self._numbered(each, replace(order, index=as_value(node.target)))
            return [changed_copy(node, iter=order.index, body=self._without_continue(self._block(node.body)))]
        if isinstance(node, ast.For) and (numbered := self._numbered_loop(node)) is not None:
            return numbered
        new_over = self._iterated(over) if isinstance(node, ast.For) and self._is_wanted(node) else over
        if isinstance(node, ast.For) and new_over is not over:
            self._note_rows(node.target)
        if isinstance(node, ast.For):
            for name in defined(node.target):  # rows of what was numbers for the engine
                through = gone_through(node.target, node.iter, name)
                self.view.data |= {name for given in through if self._has_news(given) and self._gives_rows(given)}
        body = self._without_continue(self._block(node.body))
        if _same(body, node.body) and new_over is over:
            return [node]
        if isinstance(node, ast.For):
            return [changed_copy(node, iter=new_over, body=body)]
        return [changed_copy(node, body=body)]

    def _numbered_loop(self, node: ast.For) -> list[ast.stmt] | None:
        """A loop through things one of which data chooses, `if score < least: best = head`: with their numbers."""
        choices, over = self.form.choices, node.iter
        parts = node.target.elts if isinstance(node.target, ast.Tuple) else []
        made = {one.id: expression("X[PLACE]", X=ast.Name(choices.each, ast.Load()), PLACE=place)
                for place, one in enumerate(parts) if isinstance(one, ast.Name)}  # fmt: skip
        if isinstance(node.target, ast.Name):
            made[node.target.id] = ast.Name(choices.each, ast.Load())
        kept = {
            name: made[value.id] for one in walked(node) if isinstance(one, ast.If) and self.decides(one.test)
            for inner in statements(one.body) if isinstance(inner, ast.Assign)
            for name, value in _pairs(inner) or () if isinstance(value, ast.Name) and value.id in made
        }  # fmt: skip
        if not kept or not self._is_wanted(node) or not choices.lists_things(over):
            return None
        number = self.fresh("number")
        for name, part in made.items():
            choices.counted[name] = Choice(part, over, ast.Name(number, ast.Load()))
        for name, part in kept.items():
            self._numbered(name, Choice(part, over, ast.Name(name, ast.Load())))
        self.selected_on |= kept.keys()
        target = ast.Tuple([ast.Name(number, ast.Store()), node.target], ast.Store())
        body = self._without_continue(self._block(node.body))
        return [changed_copy(node, target=target, iter=expression("enumerate(X)", X=over), body=body)]

    def _iterated(self, node: ast.expr) -> ast.expr:
        """What a loop goes through: the rows of the tensor that `tolist()` was made of."""
        match node:
            case ast.Call(func=ast.Name(id="enumerate" | "zip"), args=args):
                news = [self._iterated(one) for one in args]
                return node if _same(news, args) else changed_copy(node, args=news)
        return self.form.of(node)

    def _gives_rows(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unbind"

    def _note_rows(self, target: ast.expr) -> None:
        for one in walked(target):
            if isinstance(one, ast.Name) and self.view.value(one).may_be_data:
                self.view.data.add(one.id)
                self.view.singles.add(one.id)

    def _is_counted_by_data(self, over: ast.expr) -> bool:
        match over:
            case ast.Call(func=ast.Name(id="range"), args=args):
                return any(map(self.decides, args))
            case ast.Call(func=ast.Attribute(attr="unique"), args=[]):
                return self.decides(over)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
                return isinstance(inner, ast.Subscript) and self._is_counted_by_data(inner)
            case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as upper, step=None)):
                return self.decides(upper)
        return self.form.selection(over) is not None or _places_of_mask(over) is not None

    def _leaves_by_data(self, node: ast.For | ast.While) -> bool:
        """Is there a `break`, or a `return`, that data decides on?"""
        return any(
            isinstance(one, ast.If) and self.decides(one.test) and any(
                isinstance(inner, ast.Break | ast.Return) for side in (one.body, one.orelse) for inner in _in_loop(side)
            )
            for one in _in_loop(node.body)
        )  # fmt: skip

    def _without_continue(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A `continue` that ends a step ends nothing."""
        return body[:-1] if body and isinstance(body[-1], ast.Continue) else body

    def _broken(self, node: ast.For) -> list[ast.stmt]:
        """A loop with an end that Python knows, which data leaves before: the other steps change nothing."""
        self.done[STEPS] = None
        leaving = _Leaving(self.flags.get(id(node)) or self.fresh("done"))
        read = self.kept(node)
        first = self._first_values(node, read)
        counting, behind = self._last_step(node, leaving)
        body = self._without_continue([*counting, *self._masked(node.body, leaving, read)])
        new = changed_copy(node, iter=self._iterated(node.iter), body=body, orelse=[])
        begun = [self._false(leaving.name), *leaving.before, *first]
        return [stands_for(begun[0], node), *begun[1:], _plain_origin(new), *behind, *self._else(node, leaving)]

    def kept(self, node: ast.For | ast.While) -> set[str]:
        """What a step sets and somebody reads behind the loop: that stays as it was when data left the loop. What only
        the next step reads goes on, since nobody sees it."""
        inside = {name for one in statements(node.body) for name in _sets_here(one)}
        live = self.flow.live_after(node)
        given = {root for one in live if (root := one.partition(".")[0]) != one}  # of what is read by its parts
        by_calls = {name for one in node.body for name in self._set_by_calls(one)}
        by_calls = {name for name in by_calls if name in live or name.partition(".")[0] in live - given}
        return {name for name in inside if name in live or name.startswith("self.")} | by_calls

    def _set_by_calls(self, node: ast.stmt) -> dict[str, None]:
        """The attributes of the function's own objects that functions of the file set which the statement calls:
        `state.h` for `self.advance(state)`, and for `state.advance()`."""
        found: dict[str, None] = {}
        for call in _calls([node]):
            function, receiver = self._called(call)
            if function is None or isinstance(function.node, ast.Lambda):
                continue
            arguments = function.node.args
            names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
            given = [*([receiver] if receiver is not None else []), *map(path_of, call.args)]
            places: dict[str, str | None] = dict(zip(names, given, strict=False))
            places |= {one.arg: path_of(one.value) for one in call.keywords if one.arg}
            for path in (path for one in statements(function.node.body) for path in defined(one)):
                root, _, rest = path.partition(".")
                if rest and places.get(root) not in (None, "self"):
                    found[f"{places[root]}.{rest}"] = None
        return found

    def _called(self, call: ast.Call) -> tuple[FunctionInfo | None, str | None]:
        """The function of the file, and what it is called on."""
        match call.func:
            case ast.Name(id=name) if self.view.origin(call.func):
                return self.view.module.functions.get(name), None
            case ast.Attribute(value=ast.Name(id=owner) as node, attr=method):
                cls = self.view.cls if owner == "self" else self.view.value(node).cls
                made = self.view.only_value(owner)
                if cls is None and isinstance(made, ast.Call) and self.view.origin(made.func):
                    cls = self.view.module.classes.get(path_of(made.func) or "")
                return (cls.method(method), owner) if cls is not None else (None, None)
        return None, None

    def _first_values(self, node: ast.For | ast.While, read: set[str]) -> list[ast.stmt]:
        """0 for what only the steps set, so that the first one has something to select from; it is never selected."""
        own = {id(one) for one in walked(node)}
        late = sorted(
            name for name in read
            if "." not in name and name not in self.view.flow.parameters
            and all(id(one) in own for one in self.flow.definitions(name, node))
        )  # fmt: skip
        return [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0)) for name in late]

    def _last_step(self, node: ast.For, leaving: _Leaving) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Where somebody reads behind the loop which step was the last: what notes it in the loop, and what sets it."""
        inner: list[ast.stmt] = []
        behind: list[ast.stmt] = []
        for name in sorted(set(defined(node.target)) & self.flow.live_after(node)):
            last = self.fresh(f"last_{name}")
            self.view.data |= {last}
            leaving.before += written("LAST = 0", LAST=last)
            inner += written("LAST = torch.where(DONE, LAST, NAME)", LAST=last, NAME=name, DONE=leaving.name)
            behind += written("NAME = LAST", NAME=name, LAST=last)
        return inner, behind

    def _false(self, name: str) -> ast.stmt:
        """A flag on the device of the first tensor."""
        self.view.data.add(name)
        self.view.booleans.add(name)
        tensors = [
            p for p in self.view.flow.parameters if self.view.is_data(ast.Name(p, ast.Load())) or p in self._tensors
        ]
        if tensors:
            return written("NAME = X.new_zeros((), dtype=torch.bool)", NAME=name, X=tensors[0])[0]
        return written("NAME = torch.zeros((), dtype=torch.bool)", NAME=name)[0]

    @property
    def _tensors(self) -> set[str]:
        """Parameters that the engine takes for tensors."""
        names = (one for one in walked(self.view.node) if isinstance(one, ast.Name))
        return {one.id for one in names if self.view.value(one).is_tensor}

    def _else(self, node: ast.For | ast.While, leaving: _Leaving) -> list[ast.stmt]:
        """The `else` of a loop runs where nothing left it."""
        if node.orelse and any(True for _ in _python_breaks(node, self)):
            raise CannotError("Python leaves a loop, too, that does more when nothing left it")
        match node.orelse:
            case []:
                return []
            case [ast.Raise() as raised]:
                return [self.check(leaving.off(), _message(raised))]
        test = expression("~DONE", DONE=leaving.name)
        live = self.flow.live_after(node)
        sides = (self._block(node.orelse), list[ast.stmt]())
        places = [p for p in dict.fromkeys(n for one in sides[0] for n in names_set(one)) if p in live]
        new, values = self._both(test, sides, places)
        return [*new, *(self._merge(p, test, values[0][p], values[1][p]) for p in places)]

    def carried(self, node: ast.For | ast.While) -> set[str]:
        """What a step sets and somebody reads in a later step, or behind the loop."""
        inside = {name for one in statements(node.body) for step in [one] for name in _sets_here(step)}
        live = self.flow.live_after(node) | self.flow.live_before(node)
        own = {id(one) for one in walked(node)}
        begun = {
            name for name in inside
            if name in self.view.flow.parameters or any(id(one) not in own for one in self.flow.definitions(name, node))
        }  # fmt: skip
        return {name for name in inside if (name in live and name in begun) or name.startswith("self.")}

    def _masked(self, body: Sequence[ast.stmt], leaving: _Leaving, carried: set[str]) -> list[ast.stmt]:
        """A step that changes nothing once the flag is set."""
        new: list[ast.stmt] = []
        for node in body:
            match node:
                case ast.If(test=test) if self.decides(test) and _breaks(node):
                    new += self._leave(node, leaving, carried)
                case ast.If(test=test) if self.decides(test) and any(
                    isinstance(o, ast.Break) for o in _in_loop([node])
                ):
                    new += self._leave_within(node, leaving, carried)
                case ast.If(test=test, body=body, orelse=orelse) if not self.decides(test):
                    nothing = _is_nothing(test) - self.nothing
                    self.nothing |= nothing  # what is None cannot be selected
                    inner = self._masked(body, leaving, carried)
                    self.nothing -= nothing
                    other = self._masked(orelse, leaving, carried)
                    new.append(changed_copy(node, body=inner or [ast.Pass()], orelse=other))
                case ast.For() if not self._leaves_by_data(node) and not self._is_counted_by_data(node.iter):
                    inner = self._masked(node.body, leaving, carried)
                    new.append(changed_copy(node, body=inner))
                case ast.Continue() | ast.Break():
                    new.append(node)  # Python decides
                case ast.Pass():
                    pass
                case _:
                    by_calls = {one: self.fresh(f"last_{one.rpartition('.')[2]}") for one in self._set_by_calls(node)}
                    by_calls = {one: last for one, last in by_calls.items() if one in carried}
                    new += [ast.Assign([ast.Name(last, ast.Store())], _place(one)) for one, last in by_calls.items()]
                    for one in self._statement(node):
                        guarded = self._guarded(one, leaving.off())
                        is_call = isinstance(one, ast.Expr) and bool(by_calls)
                        new += [guarded] if is_call else self._kept(guarded, leaving.off(), carried)
                    for path, last in by_calls.items():
                        selected = self.form.selected(leaving.off(), ast.Name(last, ast.Load()), _place(path))
                        new.append(ast.Assign([as_target(_place(path))], selected))
        return new

    def _guarded(self, node: ast.stmt, off: ast.expr) -> ast.stmt:
        """The statement with 0 for places that data says, where it is off."""
        if not self.style.guarded:
            return node
        others: dict[int, ast.expr] = {}
        for one in walked(node):
            match one:
                case ast.Subscript(value=owner, slice=index, ctx=ast.Load()) if self.view.is_data(owner):
                    parts = index.elts if isinstance(index, ast.Tuple) else [index]
                case _:
                    continue
            for part in parts:
                if self.view.is_data(part) and not isinstance(part, ast.Slice) and not self.view.is_boolean(part):
                    others[id(part)] = expression("torch.where(OFF, 0, INDEX)", OFF=off, INDEX=part)
        return cast("ast.stmt", Swapped(others).visit(node)) if others else node

    def _kept(self, node: ast.stmt, off: ast.expr, carried: set[str]) -> list[ast.stmt]:
        """A statement that leaves what is carried as it is where `off` is true."""
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return [changed_copy(node, value=self.form.selected(off, as_value(target), value))]
            case ast.Assign(targets=[target], value=value):
                pairs = _pairs(node)
                if pairs is None:
                    names = set(names_set(node)) & carried
                    if not names:
                        return [node]
                    return self._kept_parts(node, off, names)
                if not any(name in carried for name, _ in pairs):
                    return [node]
                if len(pairs) == 1:
                    self.selected_on |= {name for name, _ in pairs}
                    self.form.holds(target, value)
                    last = ast.Constant(0) if pairs[0][0] in self.nothing else as_value(target)
                    return [changed_copy(node, value=self.form.selected(off, last, value))]
                return self._kept_parts(node, off, {name for name, _ in pairs} & carried)
            case ast.AugAssign(target=target, op=operator, value=value):
                if isinstance(target, ast.Name) and target.id not in carried:
                    return [node]
                if isinstance(target, ast.Subscript):
                    return [self._masked_sum(node, target, operator, value, self.form.negated(off))]
                plain = ast.Assign([target], ast.BinOp(as_value(target), operator, value))
                return self._kept(stands_for(plain, node), off, carried)
            case ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                return [node]
        return [self._masked_write(node, self.form.negated(off), set())]

    def _kept_parts(self, node: ast.Assign, off: ast.expr, names: set[str]) -> list[ast.stmt]:
        """`a, b = f(a, b)`: the results under other names, and each selected."""
        renamed = {name: ast.Name(self.fresh(f"new_{name.rpartition('.')[2]}"), ast.Load()) for name in names}
        for name in names:
            self.view.data.add(renamed[name].id)
        target = _renamed_target(node.targets[0], renamed)
        merges: list[ast.stmt] = []
        self.selected_on |= names
        for name in sorted(names):
            place = _place(name)
            self.form.holds(place, renamed[name])
            last = ast.Constant(0) if name in self.nothing else place
            merges.append(ast.Assign([as_target(place)], self.form.selected(off, last, renamed[name])))
        return [changed_copy(node, targets=[target]), *merges]

    def _leave(self, node: ast.If, leaving: _Leaving, carried: set[str]) -> list[ast.stmt]:
        """`if test: break` sets the flag; what the side does before is done in that step alone."""
        test = self.form.truth(node.test)
        then_breaks = bool(node.body) and isinstance(node.body[-1], ast.Break | ast.Return)
        last_side, other = (node.body, node.orelse) if then_breaks else (node.orelse, node.body)
        test = test if then_breaks else self.form.negated(test)
        if not last_side or not isinstance(last_side[-1], ast.Break | ast.Return):
            raise CannotError("a loop is left on a way that is not plain")
        hoisted: list[ast.stmt] = []
        before = last_side[:-1]
        if isinstance(last_side[-1], ast.Return):
            raise CannotError("a loop returns")
        if before:
            hoisted, test = self._hoisted(test)
            off = ast.BinOp(leaving.off(), ast.BitOr(), self.form.negated(test))
            for one in before:
                for new in self._statement(one):
                    hoisted += self._kept(new, off, carried)
        flag = written("DONE = DONE | TEST", DONE=leaving.name, TEST=test)
        rest = self._masked(other, leaving, carried)
        return [stands_for((hoisted or flag)[0], node), *(hoisted + flag)[1:], *rest]

    def _leave_within(self, node: ast.If, leaving: _Leaving, carried: set[str]) -> list[ast.stmt]:
        """An `if` with a `break` deeper inside: that sets the flag there, and the flag is selected like other names, as
        the last one."""
        self.flags_set.add(leaving.name)
        flagged = self._flagged(node, leaving.name)
        new: list[ast.stmt] = []
        for one in self._statement(flagged):
            sets = set(names_set(one))
            new += [one] if leaving.name in sets else self._kept(one, leaving.off(), carried)
        return new

    def _flagged(self, node: ast.If, flag: str) -> ast.If:
        """A copy in which `break` is `flag = True`; the flow knows it by the node that it is a copy of."""
        sides: list[list[ast.stmt]] = []
        for side in (node.body, node.orelse):
            new = [self._flagged(one, flag) if isinstance(one, ast.If) else one for one in side]
            if new and isinstance(new[-1], ast.Continue):
                new.pop()  # what follows is in the other side
            elif new and isinstance(new[-1], ast.Break):
                new[-1] = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True))
            sides.append(new)
        copy = changed_copy(node, body=sides[0], orelse=sides[1])
        self.copied[id(copy)] = node
        return copy

    def _counted(self, node: ast.For) -> list[ast.stmt]:
        """As many steps as data says: as many as there may be, of which those behind change nothing."""
        if self.style.loops == "operator":
            return self._counted_operator(node)
        target, over, off = self._bound(node)
        self.view.python |= set(defined(target))
        self.done[STEPS] = None
        leaving = _Leaving(self.fresh("past"))
        self.view.data.add(leaving.name)
        self.view.booleans.add(leaving.name)
        carried = self.carried(node)
        body = [ast.Assign([ast.Name(leaving.name, ast.Store())], off), *self._masked(node.body, leaving, carried)]
        return [changed_copy(node, target=target, iter=over, body=body)]

    def _counted_operator(self, node: ast.For) -> list[ast.stmt]:
        """`for i in range(n):` as `while_loop`, which carries the number of the step along."""
        match node:
            case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count]), orelse=[]):
                pass
            case _:
                raise CannotError("a loop over places")
        if any(isinstance(one, _EXITS) for one in _in_loop(node.body)) or index in self.flow.live_after(node):
            raise CannotError("a loop is left, or its last step is read behind it")
        if self.view.value(count).kind is Kind.ARRAY:
            raise CannotError("NumPy counts the loop")
        self.done[OPERATOR] = None
        counting = self.fresh("number") if index == "_" else index
        carried = sorted(self.carried(node) - {index})
        if not carried or any("." in name for name in carried):
            raise CannotError("a loop carries attributes, or nothing")
        end = self.form.of(count)
        for name in (*carried, counting):
            self.view.data.add(name)
        self.view.singles.add(counting)
        self.view.whole.add(counting)
        body = [*self._block(node.body), *written("NAME = NAME + 1", NAME=counting)]
        test: ast.expr = ast.Compare(ast.Name(counting, ast.Load()), [ast.Lt()], [end])
        first = [expression("torch.zeros_like(X)", X=end), *(self._as_tensor(name, node) for name in carried)]
        return self._looped(node, [], [counting, *carried], test, body, first)

    def _bound(self, node: ast.For) -> tuple[ast.expr, ast.expr, ast.expr]:
        """What counts, what it goes through at the most, and which steps are past the end that data says."""
        mask = _places_of_mask(node.iter)
        if mask is not None and isinstance(node.target, ast.Name):
            owner = self.form.truth(mask)
            hit = ast.Subscript(owner, as_value(node.target), ast.Load())
            return node.target, expression("range(MASK.shape[0])", MASK=owner), self.form.negated(hit)
        match node:
            case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[*starts, count])):
                counting = ast.Name(self.fresh("step") if index == "_" else index, ast.Store())
                size = self._indexed_by(node, index) or self._at_most(count)
                if size is None or len(starts) > 1 or _is_same_size(size, count):
                    raise CannotError("no size says how often the loop may run")
                off: ast.expr = ast.Compare(as_value(counting), [ast.GtE()], [self.form.of(count)])
                if starts and self.decides(starts[0]):
                    early = ast.Compare(as_value(counting), [ast.Lt()], [self.form.of(starts[0])])
                    off = ast.BinOp(early, ast.BitOr(), off) if self.decides(count) else early
                    return counting, expression("range(SIZE)", SIZE=size), off
                return counting, ast.Call(ast.Name("range", ast.Load()), [*starts, size], []), off
            case ast.For(
                target=ast.Name(id=index), iter=ast.Call(func=ast.Attribute(value=owner, attr="unique"), args=[])
            ):
                listed = self._list_indexed_by(node, index)
                if listed is None:
                    raise CannotError("no size says which values there may be")
                absent = expression("~(X == I).any()", X=self.form.of(owner), I=index)
                return node.target, expression("range(len(LISTED))", LISTED=listed), absent
        match node.iter:
            case ast.Call(
                func=ast.Name(id="enumerate"), args=[ast.Subscript(value=owner, slice=ast.Slice(None, upper, None))]
            ):
                counted = node.target.elts[0] if isinstance(node.target, ast.Tuple) else None
                if upper is not None and counted is not None:
                    off = ast.Compare(as_value(counted), [ast.GtE()], [self.form.of(upper)])
                    return node.target, expression("enumerate(OWNER)", OWNER=owner), off
            case ast.Subscript(value=owner, slice=ast.Slice(None, ast.expr() as upper, None)):
                counting = ast.Name(self.fresh("step"), ast.Store())
                off = ast.Compare(as_value(counting), [ast.GtE()], [self.form.of(upper)])
                return ast.Tuple([counting, node.target], ast.Store()), expression("enumerate(OWNER)", OWNER=owner), off
        raise CannotError("no size says how often the loop may run")

    def _at_most(self, count: ast.expr) -> ast.expr | None:
        """What Python knows that a number read from data is not above: the 8 of `min(8, n)`, of `t.clamp(max=8)`, also
        where a method of the class gives the number, or the count of a mask."""
        match count:
            case ast.Call(func=ast.Name(id="int" | "float" | "round" | "max"), args=[inner, *_]) if (
                len(count.args) == 1
            ):
                return self._at_most(inner)
            case ast.Call(func=ast.Name(id="min"), args=[*args]):
                return next((one for one in args if not self.decides(one)), None)
            case ast.Call(func=ast.Name(id="max"), args=[*args]):
                known = [self._at_most(one) if self.decides(one) else one for one in args]
                return ast.Call(count.func, cast("list[ast.expr]", known), []) if all(known) else None
            case ast.Call(func=ast.Attribute(value=owner, attr="item" | "long" | "int"), args=[]):
                return self._at_most(owner)
            case ast.Call(func=ast.Attribute(attr="clamp" | "clip"), args=args, keywords=words):
                word = next((one.value for one in words if one.arg == "max"), None)
                return word or (args[-1] if len(args) > 1 else None)
            case ast.Call(func=ast.Attribute(value=owner, attr="sum"), args=[]) if self.view.is_boolean(owner):
                return expression("MASK.numel()", MASK=owner)
            case ast.Call(func=function) if (called := self.view.value(function).function) is not None:
                returns = [one for one in walked(called.node) if isinstance(one, ast.Return)]
                found = self._at_most(returns[0].value) if len(returns) == 1 and returns[0].value else None
                outside = found is not None and all(name.partition(".")[0] == "self" for name in used(found))
                return found if outside else None
            case ast.Name(id=name):
                value = self.view.only_value(name)
                return self._at_most(value) if value is not None else None
        return None

    def _list_indexed_by(self, node: ast.For, index: str) -> ast.expr | None:
        """What Python knows the length of, and the counting name is an index of."""
        for one in walked(node):
            if not isinstance(one, ast.Subscript) or not isinstance(one.slice, ast.Name | ast.Call):
                continue
            if not self.view.is_data(one.value) and index in set(_reads(one.slice)):
                return one.value
        return None

    def _indexed_by(self, node: ast.For, index: str) -> ast.expr | None:
        """The size of a dim that the counting name is an index of, in the loop."""
        for one in walked(node):
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load) and self.view.is_data(one.value):
                parts = one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice]
                for place, part in enumerate(parts):
                    if isinstance(part, ast.Name) and part.id == index:
                        dim = expression("X.shape[DIM]", X=one.value, DIM=ast.Constant(place))
                        if not set(_reads(one.value)) & {n for s in statements(node.body) for n in _sets_here(s)}:
                            return dim
        return None

    def _while(self, node: ast.While) -> list[ast.stmt]:
        """`while test:` with an end that Python knows as masked steps, else as the operator."""
        python, data = _parted(node.test, self)
        if self.style.loops == "masked":
            if python is None and not _has_python_break(node, self):
                raise CannotError("Python knows no end of the loop")
            self.done[STEPS] = None
            leaving = _Leaving(self.flags.get(id(node)) or self.fresh("done"))
            counters = _counters(node, python)
            read = self.kept(node) - counters
            first = self._first_values(node, read)
            head: list[ast.stmt] = []
            if data is not None:
                head = written("DONE = DONE | END", DONE=leaving.name, END=self.form.negated(self.form.truth(data)))
            body, behind = self._last_counts(node, [*head, *self._masked(node.body, leaving, read)], leaving, counters)
            new = changed_copy(node, test=python or ast.Constant(True), body=body)
            begun = [self._false(leaving.name), *leaving.before, *first]
            return [stands_for(begun[0], node), *begun[1:], _plain_origin(new), *behind, *self._else(node, leaving)]
        return self._while_operator(node)

    def _last_counts(
        self, node: ast.While, body: list[ast.stmt], leaving: _Leaving, counters: set[str]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Where somebody reads behind the loop how often it ran: a second count beside the one of Python, which stays
        as it was when data ended the loop. The new body, and what sets the name to it behind the loop."""
        behind: list[ast.stmt] = []
        for name in sorted(counters & self.flow.live_after(node)):
            sets = [one for one in statements(node.body) if name in set(_sets_here(one))]
            place = None
            match sets:
                case [ast.AugAssign(target=ast.Name(), value=ast.Constant(value=int())) as counts]:
                    place = next((at for at, one in enumerate(body) if one is counts), None)
            if place is None:
                raise CannotError("how often the loop ran is read behind it")
            last = self.fresh(f"last_{name}")
            self.view.data.add(last)
            leaving.before += written("LAST = NAME", LAST=last, NAME=name)
            noted = written("LAST = torch.where(DONE, LAST, NAME)", LAST=last, NAME=name, DONE=leaving.name)
            body = [*body[: place + 1], *noted, *body[place + 1 :]]
            behind += written("NAME = LAST", NAME=name, LAST=last)
        return body, behind

    def _while_operator(self, node: ast.While) -> list[ast.stmt]:
        """`while_loop`, which carries what a step sets."""
        self.done[OPERATOR] = None
        if node.orelse or any(isinstance(one, ast.Return) for one in _in_loop(node.body)):
            raise CannotError("a loop does more when it ends")
        carried = sorted(self.carried(node) | self._written_in(node))
        leaves = self._leaves_by_data(node) or any(isinstance(one, ast.Break) for one in _in_loop(node.body))
        if not carried or any("." in name for name in carried):
            raise CannotError("a loop carries attributes, or nothing")
        for name in carried:
            self.view.data.add(name)
        begun: list[ast.stmt] = []
        test = self.form.truth(node.test) if not isinstance(node.test, ast.Constant) else None
        if leaves:
            leaving = _Leaving(self.flags.get(id(node)) or self.fresh("done"))
            begun.append(self._false(leaving.name))
            body = self._masked(node.body, leaving, set(carried))
            carried = [*carried, leaving.name]
            going = expression("~DONE", DONE=leaving.name)
            test = going if test is None else ast.BinOp(test, ast.BitAnd(), going)
        else:
            body = self._block(node.body)
        if test is None:
            raise CannotError("the loop has no end")
        first = [self._as_tensor(name, node) for name in carried]
        return self._looped(node, begun, carried, test, body, first)

    def _looped(
        self, node: ast.stmt, begun: list[ast.stmt], carried: list[str], test: ast.expr, body: list[ast.stmt],
        first: list[ast.expr],
    ) -> list[ast.stmt]:  # fmt: skip
        """The call of `while_loop`. `begun`: what stands above it; `first`: what it begins with."""
        copies = [one for name in sorted(self._written_in(node)) for one in written("X = X.clone()", X=name)]
        body = [*copies, *(_set_anew(one) for one in body)]
        made = {name for one in body for name in names_set(one)}
        if any(not path or path not in made for one in body for part in statements([one]) for path in changed(part)):
            raise CannotError("a step of `while_loop` may not write in place")
        arguments = ast.arguments([], [ast.arg(name) for name in carried], None, [], [], None, [])
        goes_on, step = self.fresh("goes_on"), self.fresh("step")
        set_in_body = {name for one in body for name in names_set(one)}
        values: list[ast.expr] = [
            ast.Name(name, ast.Load()) if name in set_in_body else expression("X.clone()", X=name) for name in carried
        ]
        result = ast.Tuple(values, ast.Load())
        functions: list[ast.stmt] = [
            ast.FunctionDef(name=goes_on, args=arguments, body=[ast.Return(test)], decorator_list=[]),
            ast.FunctionDef(name=step, args=arguments, body=[*body, ast.Return(result)], decorator_list=[]),
        ]
        call = expression("torch._higher_order_ops.while_loop(GOES_ON, STEP, FIRST)", GOES_ON=goes_on, STEP=step,
                          FIRST=ast.Tuple(first, ast.Load()))  # fmt: skip
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in carried], ast.Store())
        whole = [*begun, *functions, ast.Assign([target], call)]
        return [stands_for(whole[0], node), *whole[1:]]

    def _written_in(self, node: ast.stmt) -> set[str]:
        """The names of the function's own tensors in which the steps of a loop write: the operator hands a copy on from
        step to step. Raises CannotError where somebody else may see what is written."""
        inside = {id(one) for one in walked(node)}
        found: set[str] = set()
        parts = (one for one in statements([node]) if not any(blocks(one)))
        for path in (path for one in parts for path in _changed_within(one)):
            begun = [one for one in self.flow.definitions(path, node) if id(one) not in inside]
            if not begun and path in self.flow.names:
                continue  # each step makes it anew
            values = [dict(_pairs(one) or ()).get(path) if isinstance(one, ast.Assign) else None for one in begun]
            own = all(value is not None and _is_fresh(value) for value in values)
            if not own or not begun or path in self.view.flow.parameters:
                raise CannotError("a step of `while_loop` may not write in place")
            found.add(path)
        return found

    def _as_tensor(self, name: str, node: ast.stmt) -> ast.expr:
        """What a carried name begins with."""
        definitions = self.flow.definitions(name, node)
        plain = (one.value for one in definitions if isinstance(one, ast.Assign))
        numbers = [one for one in plain if isinstance(one, ast.Constant) and isinstance(one.value, int | float)]
        inside = {id(one) for one in walked(node)}
        outside = [one for one in definitions if id(one) not in inside]
        if numbers and len(outside) == 1:
            return expression("torch.tensor(X)", X=name)
        return ast.Name(name, ast.Load())


def _message(node: ast.stmt) -> ast.expr | None:
    raised = node.exc if isinstance(node, ast.Raise) else None
    return raised.args[0] if isinstance(raised, ast.Call) and raised.args else None


@dataclass
class _Leaving:
    """How a loop is left: the name of the flag, and what is kept for a `return` inside."""

    name: str
    before: list[ast.stmt] = field(default_factory=list)

    def off(self) -> ast.expr:
        return ast.Name(self.name, ast.Load())


def _plain_origin(node: ast.stmt) -> ast.stmt:
    """Its comments went with what stands above it."""
    if hasattr(node, "origin"):
        del node.origin
    return node


def _parted(test: ast.expr, line: StraightLine) -> tuple[ast.expr | None, ast.expr | None]:
    """What Python answers of a test, and what data does."""
    if isinstance(test, ast.Constant):
        return None, None
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    python = [one for one in parts if not line.decides(one)]
    data = [one for one in parts if line.decides(one)]

    def joined(some: list[ast.expr]) -> ast.expr | None:
        return None if not some else some[0] if len(some) == 1 else ast.BoolOp(ast.And(), some)

    return joined(python), joined(data)


def _depth(block: Iterable[ast.stmt]) -> int:
    """How many blocks stand in each other at the most."""
    deepest, todo = 0, [(one, 1) for one in block]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        todo += [(inner, depth + 1) for part in blocks(node) for inner in part]
    return deepest


def _is_for_eager(view: View, node: ast.If) -> bool:
    """`if not torch.compiler.is_exporting():`, or `is_compiling()`, which is true while torch exports too, or a flag
    that holds that? It keeps what is in it out of the program already."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    said = [view.only_value(one.id) or one if isinstance(one, ast.Name) else one for one in tests]
    asks = (one.operand for one in said if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not))
    names = {part.attr for one in asks for part in walked(one) if isinstance(part, ast.Attribute)}
    return not node.orelse and not names.isdisjoint(("is_exporting", "is_compiling"))


def _is_nothing(test: ast.expr) -> set[str]:
    """The names that are None where the test holds."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]) if path := path_of(left):
            return {path}
        case ast.BoolOp(op=ast.And(), values=values):
            return {name for one in values for name in _is_nothing(one)}
    return set()


def _has_python_break(node: ast.While, line: StraightLine) -> bool:
    """Does Python leave the loop, as `if step == 25: break` does? Where data alone ended it, Python has to count."""
    breaks = [*_python_breaks(node, line)]
    if isinstance(node.test, ast.Constant):
        return bool(breaks)
    counters = _counters(node, None)
    return any(counters & set(_reads(one.test)) for one in breaks)


def _python_breaks(node: ast.For | ast.While, line: StraightLine) -> Iterator[ast.If]:
    """The decisions of Python that end in a `break` of the loop."""
    for one in _in_loop(node.body):
        if not isinstance(one, ast.If) or line.decides(one.test):
            continue
        if any(side and isinstance(side[-1], ast.Break) for side in (one.body, one.orelse)):
            yield one


def _counters(node: ast.While, python: ast.expr | None) -> set[str]:
    """The names that Python counts by: they go on in every step."""
    asked = set(_reads(python)) if python is not None else {
        name for one in _in_loop(node.body) if isinstance(one, ast.If) for name in _reads(one.test)
    }  # fmt: skip
    return {
        path for one in statements(node.body) if isinstance(one, ast.AugAssign) and isinstance(one.value, ast.Constant)
        and (path := path_of(one.target)) in asked
    }  # fmt: skip


def _places_of_mask(node: ast.expr) -> ast.expr | None:
    """The mask of `mask.nonzero().flatten().tolist()`, `torch.where(mask)[0]` and so on; None of anything else."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="tolist" | "flatten" | "squeeze" | "view" | "reshape")):
                node = inner
            case ast.Subscript(value=inner, slice=ast.Constant(value=0)):
                node = inner
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="where" | "nonzero"), args=[mask]):
                return mask
            case ast.Call(func=ast.Attribute(value=mask, attr="nonzero")):
                return mask
            case _:
                return None


def _takes_one(node: ast.AST) -> bool:
    """Does it take the largest, the first, or another one of some rows, of which there has to be one?"""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in {"max", "min", "amax", "amin", "argmax", "argmin", "median", "aminmax"}
    return False


def _makes_one(node: ast.AST) -> bool:
    """Does it make a tensor of one row?"""
    match node:
        case ast.Call(func=ast.Attribute(attr=made), args=[first, *_]) if made.endswith(("zeros", "ones", "full")):
            first = first.elts[0] if isinstance(first, ast.Tuple | ast.List) and first.elts else first
            return isinstance(first, ast.Constant) and first.value == 1
    return False


def _has_exit(block: Iterable[ast.stmt]) -> bool:
    """Does the block return, or leave the loop that it stands in?"""
    return any(isinstance(one, _EXITS) for one in _in_loop(block))


def _in_loop(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of blocks whose `break` and `continue` mean the loop around; a `return` of inner loops too."""
    for node in block:
        yield node
        if isinstance(node, _LOOPS):
            yield from (one for one in statements(node.body) if isinstance(one, ast.Return))
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inner in blocks(node):
                yield from _in_loop(inner)


def _always_exits(block: Sequence[ast.stmt]) -> bool:
    if not block:
        return False
    match block[-1]:
        case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
            return True
        case ast.If(body=body, orelse=orelse):
            return _always_exits(body) and _always_exits(orelse)
    return False


def _breaks(node: ast.If) -> bool:
    return any(isinstance(one, ast.Break | ast.Return) for side in (node.body, node.orelse) for one in side[-1:])


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def _only_tells(node: ast.stmt) -> bool:
    """Does it only print, log or warn?"""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name))):
            root = owner
            while isinstance(root, ast.Attribute):
                root = root.value
            return name in _TELLING and not (isinstance(root, ast.Name) and root.id == "torch")
    return False


def _changed_within(node: ast.stmt) -> Iterator[str]:
    """The places of tensors that a statement writes in; a name that is set anew, as by `n += 1`, is none."""
    if not isinstance(node, ast.AugAssign) or isinstance(node.target, ast.Subscript):
        yield from changed(node)


def _set_anew(node: ast.stmt) -> ast.stmt:
    """`x = x + y` for `x += y`."""
    match node:
        case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
            return stands_for(ast.Assign([target], ast.BinOp(as_value(target), operator, value)), node)
    return node


def _has_effects(node: ast.stmt) -> bool:
    return any(isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for one in walked(node))


def _surely_sets(node: ast.stmt, name: str) -> bool:
    """Is the name set whichever way Python takes through the statement?"""
    match node:
        case ast.If(body=body, orelse=orelse):
            return all(any(_surely_sets(one, name) for one in side) for side in (body, orelse))
        case ast.With(body=body):
            return any(_surely_sets(one, name) for one in body)
        case ast.For() | ast.While() | ast.Try() | ast.AugAssign():
            return False
    return name in set(_sets_here(node))


def _entries_by_list(side: Sequence[ast.stmt]) -> dict[str, tuple[ast.stmt, ast.expr]]:
    """The lists to which the side appends one entry and with which it does nothing else: the statement, and the entry.

    An entry that is no value of its own, as a tuple is, is chosen by nobody.
    """
    found = [(one, *pair) for one in side if (pair := appended(one)) is not None]
    named = Counter(inner.id for one in side for inner in walked(one) if isinstance(inner, ast.Name))
    plain = (entry for entry in found if not isinstance(entry[2], _DISPLAYS) and named[entry[1]] == 1)
    return {name: (line, entry) for line, name, entry in plain}


def names_set(node: ast.stmt) -> Iterator[str]:
    """The places that a statement sets whole, blocks included."""
    for one in statements([node]):
        yield from _sets_here(one)


def _sets_here(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.For(target=target):
            yield from defined(target)
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target):
            yield from defined(target)
        case ast.If() | ast.While() | ast.Try() | ast.With():
            pass
        case _:
            yield from defined(node)


def _reads(node: ast.AST) -> Iterator[str]:
    """The names, and the attributes by their whole paths, that a node reads."""
    yield from used(node)


def _reads_here(node: ast.stmt) -> Iterator[str]:
    """What the statement reads, without the blocks that it holds."""
    inner = {id(part) for block in blocks(node) for one in block for part in walked(one)}
    for one in walked(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in inner:
            yield one.id


def _reads_of(node: ast.AST) -> Iterator[str]:
    for one in walked(node):
        if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load) and (path := path_of(one)):
            yield path
        if isinstance(one, ast.AugAssign) and (path := path_of(root_of(one.target))):
            yield path
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) and (path := path_of(root_of(one))):
            yield path


def _pairs(node: ast.Assign) -> list[tuple[str, ast.expr]] | None:
    """The places that it sets with the values of each: `a, b = 1, 2` are two; None where they are not plain."""
    target = node.targets[0]
    if len(node.targets) > 1:
        return None
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
        names = [path_of(one) for one in target.elts]
        if all(names) and not any(set(_reads(value)) & set(names) for value in node.value.elts):
            return list(zip(cast("list[str]", names), node.value.elts, strict=True))
        return None
    path = path_of(target)
    return [(path, node.value)] if path is not None else None


def _one_by_one(side: Iterable[ast.stmt]) -> list[ast.stmt]:
    """`a, b = x, y` as two statements, so that each name is selected by itself."""
    new: list[ast.stmt] = []
    for one in side:
        pairs = _pairs(one) if isinstance(one, ast.Assign) else None
        if pairs is None or len(pairs) == 1:
            new.append(one)
            continue
        singles = [ast.Assign([as_target(_place(name))], value) for name, value in pairs]
        new += [stands_for(singles[0], one), *singles[1:]]
    return new


def _place(path: str) -> ast.expr:
    """The expression that reads a place."""
    return ast.parse(path, mode="eval").body


def _viewed(node: ast.expr) -> str | None:
    """The place whose tensor an expression is a view of, as `x.diagonal()[0]` is of `x`."""
    while True:
        match node:
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case _:
                return path_of(node)


def _is_fresh(node: ast.expr) -> bool:
    """Does it make a tensor of its own, which nothing else sees?"""
    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in {
                "clone",
                "zeros_like",
                "ones_like",
                "zeros",
                "ones",
                "full",
                "where",
                "cat",
                "stack",
                "empty",
                "full_like",
                "empty_like",
                "new_zeros",
                "new_ones",
                "new_full",
                "new_empty",
            }
    return False


def _inlined(new: list[ast.stmt], values: list[dict[str, ast.expr]], places: list[str]) -> list[ast.stmt]:
    """A name that only the selection reads is not set: its value stands in the selection. A value that reads a place
    which is selected before it is set where it was."""
    for found in values:
        for place, value in list(found.items()):
            if not isinstance(value, ast.Name):
                continue
            setting = [one for one in new if value.id in set(names_set(one))]
            others = [one for side in values for one in side.values() if one is not value]
            reading = [one for one in (*new, *others) if value.id in set(_reads_of(one))]
            if len(setting) == 1 and not reading and isinstance(setting[0], ast.Assign) and _pairs(setting[0]):
                later = new[new.index(setting[0]) + 1 :]
                needs = set(_reads(setting[0].value))
                if needs & set(places[: places.index(place)]):
                    continue
                if len(setting[0].targets) == 1 and isinstance(setting[0].targets[0], ast.Name) and not any(
                    needs & {*names_set(one), *changed(one)} for one in later
                ):  # fmt: skip
                    found[place] = setting[0].value
                    new.remove(setting[0])
    return new


def _calls(body: Iterable[ast.stmt]) -> Iterator[ast.Call]:
    yield from (one for node in body for one in walked(node) if isinstance(one, ast.Call))


def _types(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return []
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def _parts_returned(value: ast.expr) -> list[ast.expr]:
    """The parts of a tuple, and of a dict, which are selected one by one; else the one thing itself."""
    match value:
        case ast.Tuple(elts=parts) | ast.Dict(values=parts) if parts:
            return parts
    return [value]


def _form_of(value: ast.expr) -> tuple[str, ...]:
    """What has to be the same of two values that are selected part by part: how many, and under which keys."""
    keys = [ast.dump(key) if key else "**" for key in value.keys] if isinstance(value, ast.Dict) else []
    return (type(value).__name__ if _parts_returned(value) != [value] else "", str(len(_parts_returned(value))), *keys)


class _ReturnsToBreaks(ast.NodeTransformer):
    """Copies what it changes: `return a, b` as `result = a; result_2 = b; break`. Inner functions stay."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _LOOPS) and any(isinstance(one, ast.Return) for one in statements(node.body)):
            raise CannotError("an inner loop returns")
        if not isinstance(node, ast.If | ast.With):
            return node
        changes = {name: self._block(block) for name in ("body", "orelse") if (block := getattr(node, name, None))}
        return changed_copy(node, **changes)

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        new = [cast("ast.stmt", self.visit(one)) for one in block]
        match new[-1] if new else None:
            case ast.Return(value=ast.expr() as value):
                pairs = zip(self.names, _parts_returned(value), strict=True)
                kept = [ast.Assign([ast.Name(name, ast.Store())], part) for name, part in pairs]
                return [*new[:-1], *kept, ast.Break()]
        return new


class _LeavesByBreak(ast.NodeTransformer):
    """Copies what it changes: `return` as `break`."""

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Return():
                return stands_for(ast.Break(), node)
            case ast.If() | ast.With():
                changes = {name: [self.visit(one) for one in block] for name in ("body", "orelse")
                           if (block := getattr(node, name, None))}  # fmt: skip
                return changed_copy(node, **changes)
            case ast.For() | ast.While() if any(isinstance(one, ast.Return) for one in statements(node.body)):
                raise CannotError("an inner loop returns")
        return node


class _Renaming(Copying):
    def __init__(self, loads: Mapping[str, ast.Name], stores: Mapping[str, ast.Name]) -> None:
        self.loads, self.stores = loads, stores

    def other(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Name | ast.Attribute) and (path := path_of(node)) is not None:
            names = self.loads if isinstance(node.ctx, ast.Load) else self.stores
            if path in names:
                return ast.Name(names[path].id, node.ctx)
        return None


def _renamed(node: ast.stmt, loads: Mapping[str, ast.Name], stores: Mapping[str, ast.Name]) -> ast.stmt:
    return cast("ast.stmt", _Renaming(loads, stores).visit(node)) if loads or stores else node


def _renamed_target(node: ast.expr, names: Mapping[str, ast.Name]) -> ast.expr:
    return cast("ast.expr", _Renaming(names, names).visit(node))


def wanted_at(view: View, node: ast.AST) -> frozenset[int]:
    """The statements that have to change where the node is to go: the one that it stands in, and those that set the
    names which it is made of to numbers read from tensors. By identity."""
    todo = [one for one in walked(view.node) if isinstance(one, ast.stmt) and _stands_in(node, one)]
    inner = todo[-1:]
    loops = [one for one in todo if isinstance(one, _LOOPS)]
    if loops:  # its steps go together
        inner = list(statements([loops[0]]))
    wanted = set(map(id, inner))
    todo = inner
    while todo:
        one = todo.pop()
        head = view.flow.flow.step_of.get(id(one))
        for part in head.parts if head is not None else (one,):
            for name in used(part):
                for definition in view.flow.definitions(name, one):
                    if id(definition) not in wanted and isinstance(definition, ast.stmt) and _is_read(view, definition):
                        wanted.add(id(definition))
                        todo.append(definition)
    return frozenset(wanted)


def sizes_asked(view: View, node: ast.AST) -> list[ast.expr]:
    """What Python asks of sizes where the node is: comparisons in a test, or `int(x.shape[0])`."""
    found: list[ast.expr] = []
    for one in walked(view.node):
        match one:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.Assert(test=test) if _holds(test, node):
                if not view.is_data(test):
                    compared = (inner for inner in walked(test) if isinstance(inner, ast.Compare))
                    found += [inner for inner in compared if _compares_sizes(view, inner)]
            case ast.Call(func=ast.Name(id="int"), args=[given]) if _holds(one, node):
                if view.nature(given) is Nature.SIZE and not isinstance(given, ast.BinOp):
                    found.append(one)
    return found


def _compares_sizes(view: View, node: ast.Compare) -> bool:
    sides = {view.nature(one) for one in (node.left, *node.comparators)}
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        listed = node.comparators[0]
        plain = isinstance(listed, ast.Tuple | ast.List | ast.Set) and bool(listed.elts)
        return plain and view.nature(node.left) is Nature.SIZE and not view.holds_data(listed)
    by_order = not any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in node.ops)
    return by_order and Nature.SIZE in sides and sides <= {Nature.SIZE, Nature.PYTHON}


def _holds(whole: ast.AST, node: ast.AST) -> bool:
    return any(one is node for one in walked(whole))


def _stands_in(node: ast.AST, statement: ast.stmt) -> bool:
    return _holds(statement, node)


def _is_read(view: View, node: ast.stmt) -> bool:
    """Does the statement set a name to a number that was read from a tensor, or to what was made of one?"""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
            listed = any(isinstance(one, ast.Attribute) and one.attr in {"tolist", "numpy"} for one in walked(value))
            return listed or (view.is_data(value) and not view.value(value).is_tensor)
    return False


def _is_same_size(one: ast.expr, other: ast.expr) -> bool:
    """`rows.shape[0]` and `len(rows)`?"""
    match other:
        case ast.Call(func=ast.Name(id="len"), args=[owner]):
            other = expression("X.shape[0]", X=owner)
        case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[dim]):
            other = expression("X.shape[DIM]", X=owner, DIM=dim)
    return ast.unparse(one) == ast.unparse(other)

"""Rows at once: a loop over the rows of a tensor, whose steps know nothing of each other, as one `torch.vmap`.

A loop that Python takes has as many steps as the sample has rows; what is mapped has as many as there are. Where vmap
itself counts the rows of the sample, as it does for what it cannot batch, the operator `map` takes one after another.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard, cast

from exportlint.engine.flow.control_flow import blocks, statements
from exportlint.engine.flow.def_use import path_of, root_of
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import Swapped, as_target, changed_copy, expression, stands_for
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.grown_lists import appended, put_together
from exportlint.rewrite.masked_writes import rows_filled
from exportlint.rewrite.straight_line import StraightLine, names_set
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import Nature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_HOW = "compute all rows at once with `torch.vmap`"
_ONE_BY_ONE = "compute one row after another with the operator `map`"
_PADS = "write all rows at once with a mask"
_FRESH = ("torch.nn.functional.", "torch.stack", "torch.cat", "torch.where")
_REPEATS = "repeat all rows at once with `torch.repeat_interleave`"
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@dataclass(frozen=True)
class _Rows:
    """Parameters of the function of one row, the tensors that they are rows of, and what they stand for in a step.

    before: statements that have to stand before the call
    """

    parameters: tuple[str, ...]
    tensors: tuple[ast.expr, ...]
    entries: dict[int, ast.expr] = field(default_factory=dict)
    before: tuple[ast.stmt, ...] = ()

    def called(self, function: ast.expr, steps: Sequence[ast.AST]) -> ast.expr:
        """`steps`: what it does. A layer may draw numbers where it is trained, for each row its own."""
        draws = any(isinstance(one, ast.Call) and (path_of(root_of(one.func)) or "").startswith("self.")
                    for step in steps for one in walked(step))  # fmt: skip
        text = 'torch.vmap(F, randomness="different")' if draws else "torch.vmap(F)"
        return ast.Call(expression(text, F=function), list(self.tensors), [])

    def in_turn(self, function: ast.FunctionDef) -> ast.expr:
        """The call of the operator `map`, which gives the function its rows as one argument."""
        tensors = self.tensors[0] if len(self.tensors) == 1 else ast.Tuple(list(self.tensors), ast.Load())
        if len(self.parameters) > 1:
            row = "row" if "row" not in self.parameters else "rows_of_one"
            parts = ast.Tuple([ast.Name(one, ast.Store()) for one in self.parameters], ast.Store())
            function.args = ast.arguments([], [ast.arg(row)], None, [], [], None, [])
            function.body = [ast.Assign([parts], ast.Name(row, ast.Load())), *function.body]
        return expression("torch._higher_order_ops.map(F, TENSORS)", F=function.name, TENSORS=tensors)

    def arguments(self) -> ast.arguments:
        return ast.arguments([], [ast.arg(one) for one in self.parameters], None, [], [], None, [])


def rows_at_once(site: Site) -> Iterator[Proposal]:
    """For the innermost comprehension, and the innermost loop, that the site is the head of or stands in."""
    if site.view is None:
        return
    view = site.fresh_view()
    around = [one for one in walked(view.node) if any(inner is site.node for inner in walked(one))]
    listed = [one for one in around if isinstance(one, _COMPREHENSIONS)]
    loops = [one for one in around if isinstance(one, ast.For)]
    draft = site.draft()
    mapped = [one for one in around if isinstance(one, ast.FunctionDef) and one is not view.node]
    if mapped and not listed and not any(inner is loop for loop in loops for inner in walked(mapped[-1])):
        _in_turn(view, draft, mapped[-1])
        yield Proposal(_ONE_BY_ONE, draft)
        return
    if listed:
        _comprehension(view, draft, listed[-1])
    elif loops:
        if _padded(view, draft, loops[-1]) or rows_filled(TensorForm(view), draft, loops[-1]):
            yield Proposal(_PADS, draft)
            return
        _loop(view, draft, loops[-1])
    else:
        return
    yield Proposal(_HOW, draft)
    if loops and not listed and (lists := _appended(loops[-1])):
        view, draft = site.fresh_view(), site.draft()
        _listed(view, draft, loops[-1], lists, one_by_one=True)
        yield Proposal(_ONE_BY_ONE, draft)


def several_at_once(site: Site) -> Iterator[Proposal]:
    """For the innermost loop likewise, where a step adds to several things, data says whether it does, or how often a
    row is repeated; for that, in a comprehension, too."""
    if site.view is None:
        return
    view, draft = site.fresh_view(), site.draft()
    loops = [one for one in walked(view.node) if isinstance(one, ast.For)
             and any(inner is site.node for inner in walked(one))]  # fmt: skip
    listed = [one for one in walked(view.node) if isinstance(one, _COMPREHENSIONS)
              and any(inner is site.node for inner in walked(one))]  # fmt: skip
    if (listed and _repeated_in(view, draft, listed[-1])) or (loops and _repeated(view, draft, loops[-1])):
        yield Proposal(_REPEATS, draft)
    elif loops:
        _several(view, draft, loops[-1])
        yield Proposal(_HOW, draft)


def _comprehension(view: View, draft: Draft, node: ast.ListComp | ast.GeneratorExp) -> None:
    if len(node.generators) > 1 or node.generators[0].ifs:
        raise CannotError("data says which rows there are")
    rows = rows_of(view, node.generators[0].target, node.generators[0].iter, [node.elt])
    step = ast.Lambda(rows.arguments(), _of_row(view, rows, node.elt))
    statement = draft.statement_of(node)
    if rows.before and statement is not None:
        draft.above(statement, rows.before)
    call = _joining(view, node)
    if call is not None:
        draft.swap(call, _joined(view, call, rows.called(step, [node.elt])))
        return
    name = next((
        one.targets[0].id for one in walked(view.node)
        if isinstance(one, ast.Assign) and one.value is node and isinstance(one.targets[0], ast.Name)
    ), None)  # fmt: skip
    if name is None:
        raise CannotError("it is not stacked")
    draft.swap(node, rows.called(step, [node.elt]))
    join_reads(view, draft, name, [])


def _loop(view: View, draft: Draft, node: ast.For) -> None:
    if lists := _appended(node):
        _listed(view, draft, node, lists)
        return
    *before, last = node.body
    match last:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as whole, slice=places)]) if (
            called := _distinct(view, node.iter)
        ) is not None:
            _filled_by_value(view, draft, node, before, last, whole, places, called)
            return
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as whole, slice=places)]):
            _filled(view, draft, node, before, last, whole, places)
            return
        case ast.Assign() | ast.AugAssign():
            _sum(view, draft, node, before, last)
            return
        case _:
            raise CannotError("a step gives nothing to a list")


def _in_turn(view: View, draft: Draft, function: ast.FunctionDef) -> None:
    """`torch.vmap(f)(x, y)`, where the site is in `f`, as the operator `map`."""
    reads = [one for one in walked(view.node) if isinstance(one, ast.Name) and one.id == function.name]
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    *before, last = function.body
    returns = [one for one in statements(function.body) if isinstance(one, ast.Return)]
    vmapped = draft.parent(reads[0]) if len(reads) == 1 else None
    call = draft.parent(vmapped) if vmapped is not None else None
    match vmapped, call, last:
        case ast.Call(func=maker, args=[_], keywords=words), ast.Call(args=given, keywords=[]), ast.Return(
            value=ast.expr() as value
        ) if view.origin(maker) in {"torch.vmap", "torch.func.vmap"} and call.func is vmapped:
            pass
        case _:
            raise CannotError("it is not mapped")
    plain = len(names) == len(given) and not _starred_or_more(arguments) and not any(
        isinstance(one, ast.Starred) for one in given
    )  # fmt: skip
    if not plain or returns != [last] or any(one.arg != "randomness" for one in words):
        raise CannotError("it is mapped in another way")
    result = changed_copy(last, value=_own_memory(view, value))
    new = changed_copy(function, body=[*before, result])
    called = _Rows(tuple(names), tuple(given)).in_turn(new)
    draft.replace(function, [new])
    draft.swap(call, called)


def _starred_or_more(arguments: ast.arguments) -> bool:
    return bool(arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults)


def _appended(node: ast.For) -> dict[str, tuple[ast.stmt, ast.expr]]:
    """The lists that a step gives one entry each, with the statement and the entry; nothing where what an entry is made
    of changes behind it."""
    found: dict[str, tuple[ast.stmt, ast.expr]] = {}
    for place, one in enumerate(node.body):
        if (entry := appended(one)) is None:
            continue
        later = {name for inner in node.body[place + 1 :] for name in names_set(inner)}
        if entry[0] in found or any(isinstance(part, ast.Name) and part.id in later for part in walked(entry[1])):
            return {}
        found[entry[0]] = (one, entry[1])
    return found


def _listed(
    view: View, draft: Draft, node: ast.For, lists: dict[str, tuple[ast.stmt, ast.expr]], *, one_by_one: bool = False
) -> None:
    """`a.append(f(row))`, `b.append(g(row))` as `a, b = torch.vmap(…)(x)`."""
    appending = [one for one, _ in lists.values()]
    before = [one for one in node.body if not any(one is other for other in appending)]
    begun = {name: _begun(view, name) for name in lists}
    values = [value for _, value in lists.values()]
    value = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    made, mapped = _mapped(view, node, before, value, set(), one_by_one=one_by_one)
    for one in {id(one): one for one in begun.values()}.values():
        _without(draft, one, {*lists})
    target = as_target(ast.Tuple([ast.Name(name, ast.Load()) for name in lists], ast.Load()))
    target = target if len(lists) > 1 else ast.Name(next(iter(lists)), ast.Store())
    draft.replace(node, [*made, ast.Assign([target], mapped)])
    for name, one in begun.items():
        join_reads(view, draft, name, [one, *appending])


def _begun(view: View, name: str) -> ast.Assign:
    """The statement that begins the list, which has to be empty, and may begin others. Raises CannotError."""
    for one in statements(view.body):
        match one:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.List(elts=[])) if own == name:
                return one
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                pairs = zip(targets, values, strict=True)
                if any(isinstance(t, ast.Name) and t.id == name and _is_empty(v) for t, v in pairs):
                    return one
    raise CannotError("the list is made elsewhere")


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts


def _without(draft: Draft, begun: ast.Assign, lists: set[str]) -> None:
    """Takes away what begins the lists; of `kept, size = [], 4` the size stays."""
    match begun:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            rest = [(t, v) for t, v in zip(targets, values, strict=True)
                    if not (isinstance(t, ast.Name) and t.id in lists and _is_empty(v))]  # fmt: skip
        case _:
            rest = []
    match rest:
        case []:
            draft.replace(begun, [])
        case [(one, value)]:
            draft.replace(begun, [changed_copy(begun, targets=[one], value=value)])
        case _:
            targets, values = ([pair[place] for pair in rest] for place in (0, 1))
            new = changed_copy(begun, targets=[ast.Tuple(targets, ast.Store())], value=ast.Tuple(values, ast.Load()))
            draft.replace(begun, [new])


def _filled(
    view: View, draft: Draft, node: ast.For, before: list[ast.stmt], last: ast.Assign, whole: ast.Name, places: ast.expr
) -> None:
    """`y[i] = f(i)` as `y[:] = torch.vmap(f)(…)`, where `y` was made with as many rows as there are steps."""
    match node.target, node.iter:
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[count]):
            lengths = {ast.dump(count)}
        case ast.Tuple(elts=[ast.Name(id=index), _]), ast.Call(func=ast.Name(id="enumerate"), args=[over]):
            lengths = {ast.dump(expression(text, X=over)) for text in ("len(X)", "X.shape[0]", "X.size(0)")}
        case _:
            raise CannotError("nothing says that each row is set")
    dim = _dim_of(index, places)
    match view.only_value(whole.id):
        case ast.Call(func=ast.Attribute(attr="zeros" | "new_zeros" | "empty" | "new_empty" | "full" | "new_full"),
                      args=[ast.Tuple(elts=sizes) | ast.List(elts=sizes), *_] | [*sizes]):  # fmt: skip
            counts = dim is not None and dim < len(sizes) and ast.dump(sizes[dim]) in lengths
        case _:
            counts = False
    if not counts or any(isinstance(one, ast.Name) and one.id == whole.id for b in before for one in walked(b)):
        raise CannotError("nothing says that each row is set")
    functions, mapped = _mapped(view, node, before, last.value, {whole.id})
    rows = put_together(mapped, "torch.stack", ast.Constant(dim))
    target = ast.Subscript(ast.Name(whole.id, ast.Load()), ast.Slice(), ast.Store())
    draft.replace(node, [*functions, changed_copy(last, targets=[target], value=rows)])


def _distinct(view: View, over: ast.expr) -> tuple[ast.expr, ast.Call] | None:
    """The tensor whose values a loop goes through, each once, and the call: `torch.unique(x)`, `x.unique()`."""
    match over:
        case ast.Name(id=name) if (made := view.only_value(name)) is not None and not isinstance(made, ast.Name):
            return _distinct(view, made)
        case ast.Call(func=ast.Attribute(value=inner, attr="tolist"), args=[]):
            return _distinct(view, inner)
        case ast.Call(args=[tensor], keywords=[]) if view.origin(over.func) == "torch.unique":
            return tensor, over
        case ast.Call(func=ast.Attribute(value=tensor, attr="unique"), args=[], keywords=[]) if view.is_data(tensor):
            return tensor, over
    return None


def _filled_by_value(
    view: View, draft: Draft, node: ast.For, before: list[ast.stmt], last: ast.Assign, whole: ast.Name,
    places: ast.expr, called: tuple[ast.expr, ast.Call],
) -> None:  # fmt: skip
    """`y[ids == c] = f(c)` for every `c` of `torch.unique(ids)`, which sets each row of `y` once: what `f` gives for
    all of them, taken for each row by the place of its value among them."""
    tensor, unique = called
    tested = next((
        one.value for one in before
        if isinstance(one, ast.Assign) and isinstance(places, ast.Name) and path_of(one.targets[0]) == places.id
    ), places)  # fmt: skip
    sides = {ast.unparse(tensor), path_of(node.target)}
    match tested:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if {*map(ast.unparse, (left, right))} == sides:
            pass
        case _:
            raise CannotError("nothing says that each row is set")
    steps = [inner for one in (*before, last.value) for inner in walked(one)]
    reads = any(isinstance(one, ast.Name) and one.id == whole.id for one in steps)
    if reads or TensorForm(view).selection(last.value) is not None:
        raise CannotError("a step sets each row to something else")
    names = [draft.free_name(one, view.flow.names) for one in ("distinct", "place")]
    found = changed_copy(unique, keywords=[ast.keyword("return_inverse", ast.Constant(value=True))])
    begun = written(f"{', '.join(names)} = FOUND", FOUND=found)
    functions, mapped = _mapped(view, node, before, last.value, {whole.id})
    all_rows = ast.Call(mapped.func, [ast.Name(names[0], ast.Load())], []) if isinstance(mapped, ast.Call) else mapped
    target = ast.Subscript(ast.Name(whole.id, ast.Load()), ast.Slice(), ast.Store())
    rows = ast.Subscript(all_rows, ast.Name(names[1], ast.Load()), ast.Load())
    draft.replace(node, [*begun, *functions, changed_copy(last, targets=[target], value=rows)])


def _repeated(view: View, draft: Draft, node: ast.For) -> bool:
    """`rows.append(row.expand(int(n), -1))` for the rows of a tensor and their numbers, where the list is joined."""
    counts = dict[str, ast.expr]()
    *sets, last = node.body
    for one in sets:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                counts[name] = value
            case _:
                return False
    asked: ast.expr | None = None
    match last:
        case ast.If(
            test=ast.Compare(left=asked, ops=[ast.Gt()], comparators=[ast.Constant(value=0)]), body=[last], orelse=[]
        ):
            pass
    match last:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[ast.Call() as made])
        ):
            pass
        case _:
            return False
    rows = rows_of(view, node.target, node.iter, node.body)
    repeated = _repetition(view, rows, counts, made, asked)
    if repeated is None:
        return False
    begun, joins = _begun(view, name), list[ast.Call]()
    for part in walked(view.node):
        match part:
            case ast.Call(args=[ast.Name(id=own), *_]) if own == name and _joins_first(view, part):
                joins.append(part)
    reads = [one for one in walked(view.node) if isinstance(one, ast.Name) and one.id == name]
    if len(reads) != len(joins) + 2:  # where it begins, and where it grows
        return False
    for join in joins:
        draft.swap(join, join.args[0])
    _without(draft, begun, {name})
    draft.replace(node, [*rows.before, *written("NAME = REPEATED", NAME=name, REPEATED=repeated)])
    return True


def _repeated_in(view: View, draft: Draft, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """`torch.cat([row.expand(n, -1) for row, n in zip(x, counts)])` likewise."""
    join = draft.parent(node)
    match node:
        case ast.ListComp(elt=ast.Call() as made, generators=[ast.comprehension(target=target, iter=over, ifs=[])]):
            pass
        case _:
            return False
    if not isinstance(join, ast.Call) or not _joins_first(view, join):
        return False
    rows = rows_of(view, target, over, [made])
    repeated = _repetition(view, rows, {}, made, None)
    if repeated is None or rows.before:
        return False
    draft.swap(join, repeated)
    return True


def _joins_first(view: View, call: ast.Call) -> bool:
    """`torch.cat(rows)`, along the first dim?"""
    places = [*call.args[1:], *(word.value for word in call.keywords)]
    return view.origin(call.func) == "torch.cat" and all(ast.unparse(place) == "0" for place in places)


def _repetition(
    view: View, rows: _Rows, counts: Mapping[str, ast.expr], made: ast.Call, asked: ast.expr | None
) -> ast.expr | None:
    """All rows that a step each makes several of, as one tensor. `counts`: what a step sets names to; `asked`: what has
    to be more than 0."""
    match made:
        case ast.Call(func=ast.Attribute(value=row, attr="expand" | "repeat" as how), args=[count, *rest]) if {
            ast.unparse(one) for one in rest
        } <= {"-1" if how == "expand" else "1"}:
            pass
        case _:
            return None
    given = dict(zip(rows.parameters, rows.tensors, strict=True))

    def tensor(part: ast.expr) -> ast.expr | None:
        """The tensor of which a step takes a row, or reads a number."""
        match rows.entries.get(id(part), part):
            case ast.Name(id=own):
                return tensor(counts[own]) if own in counts else given.get(own)
            case ast.Call(func=ast.Name(id="int"), args=[inner]):
                return tensor(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
                return tensor(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="unsqueeze"), args=[ast.Constant(value=0)]):
                return tensor(inner)
            case ast.Subscript(value=inner, slice=ast.Constant(value=None)):
                return tensor(inner)
        return None

    whole, numbers = tensor(row), tensor(count)
    if whole is None or numbers is None or whole is numbers or (asked is not None and tensor(asked) is not numbers):
        return None
    dims = view.dims(whole)
    if len(rest) != len(dims) - 1 if dims is not None else not rest:
        return None
    number = expression("N.long().clamp(min=0)" if asked is not None else "N.long()", N=numbers)
    return expression("torch.repeat_interleave(X, N, dim=0)", X=whole, N=number)


@dataclass(frozen=True)
class _Effect:
    """What a step adds to a name: to a number or tensor (`operator`), or to a list (None)."""

    name: str
    operator: ast.operator | None
    value: ast.expr
    line: ast.stmt


def _several(view: View, draft: Draft, node: ast.For) -> None:
    """`total += f(row)` and `n += 1` beside each other, and `if test(row): continue` before them: what is added is
    nothing where the test holds."""
    tests, before, effects = _taken_apart(node.body)
    names = {one.name for one in effects}
    inside = [inner for one in (*before, *tests, *(e.value for e in effects)) for inner in walked(one)]
    if len(names) != len(effects) or any(isinstance(one, ast.Name) and one.id in names for one in inside):
        raise CannotError("a step reads what the others added")
    skipped = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests) if tests else None
    values = [
        one for one in effects if one.operator is None or skipped is not None or not isinstance(one.value, ast.Constant)
    ]  # fmt: skip
    if not values or (len(effects) == 1 and skipped is None):
        raise CannotError("a step does nothing else")
    given = [one.value if skipped is None else _unless(skipped, one) for one in values]
    if skipped is not None and any(one.operator is None for one in values):
        given.append(ast.UnaryOp(ast.Not(), skipped))
    made, mapped = _mapped(view, node, before, given[0] if len(given) == 1 else ast.Tuple(given, ast.Load()), names)
    results = [one.name if one.operator is None else draft.free_name(f"{one.name}_of_rows", view.flow.names)
               for one in values]  # fmt: skip
    there = [draft.free_name("is_taken", view.flow.names)] if len(given) > len(values) else []
    lines = [*made, *written(f"{', '.join([*results, *there])} = MAPPED", MAPPED=mapped)]
    for one in effects:
        if one.operator is None:
            begun = _begun(view, one.name)
            _without(draft, begun, {two.name for two in effects if two.operator is None})
            join_reads(view, draft, one.name, [begun, one.line])
            lines += written(f"{one.name} = {one.name}[{there[0]}]") if there else []
            continue
        if one in values:
            method = _PUT_TOGETHER[type(one.operator)]
            whole = expression(f"ROWS.{method}(0)", ROWS=results[values.index(one)])
        else:
            whole = expression("ROWS.shape[0]", ROWS=results[0])
            if not (isinstance(one.value, ast.Constant) and one.value.value == 1):
                whole = ast.BinOp(one.value, ast.Mult(), whole)
        if isinstance(one.line, ast.AugAssign):  # a tensor is added to in place, as before
            lines.append(changed_copy(one.line, value=whole))
        else:
            total = ast.BinOp(ast.Name(one.name, ast.Load()), one.operator, whole)
            lines.append(changed_copy(one.line, value=total))
    draft.replace(node, lines)


def _unless(skipped: ast.expr, effect: _Effect) -> ast.expr:
    """What a step adds, and nothing where it is skipped."""
    if effect.operator is None:
        return effect.value
    nothing = ast.Constant(1 if isinstance(effect.operator, ast.Mult) else 0)
    return ast.IfExp(skipped, nothing, effect.value)


def _taken_apart(body: Sequence[ast.stmt]) -> tuple[list[ast.expr], list[ast.stmt], list[_Effect]]:
    """When a step is skipped, the names that it sets for itself, and what it adds. Raises CannotError."""
    tests, before, effects = list[ast.expr](), list[ast.stmt](), list[_Effect]()
    for place, one in enumerate(body):
        match one:
            case ast.If(test=test, body=[ast.Continue()], orelse=[]) if not effects:
                tests.append(test)
            case ast.If(test=test, body=inner, orelse=[]) if not effects and place == len(body) - 1:
                more, sets, added = _taken_apart(inner)
                tests += [ast.UnaryOp(ast.Not(), test), *more]
                before += sets
                effects += added
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])):
                effects.append(_Effect(name, None, value, one))
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value) if type(operator) in _PUT_TOGETHER:
                effects.append(_Effect(name, operator, value, one))
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=other), op=operator, right=value)
            ) if other == name and type(operator) in _PUT_TOGETHER:
                effects.append(_Effect(name, operator, value, one))
            case ast.Assign():
                before.append(one)
            case _:
                raise CannotError("a step does more than to add")
    if any(isinstance(one.value, ast.List | ast.ListComp | ast.Tuple | ast.JoinedStr) for one in effects):
        raise CannotError("a step makes a list longer")
    if any(isinstance(one.operator, ast.Mult) and isinstance(one.value, ast.Constant) for one in effects):
        raise CannotError("a step multiplies by the same number")
    return tests, before, effects


def _padded(view: View, draft: Draft, node: ast.For) -> bool:
    """`y[i, :n] = x[start : start + n]`, for all rows of `y` in turn, as the places of `y` that `x` goes to."""
    summed = _running_sum(view, node)
    if summed is None or len(node.body) != 2:  # noqa: PLR2004 - the write, and the sum
        return False
    match node.target, node.iter, node.body[0]:
        case (
            ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=each)]),
            ast.Call(func=ast.Name(id="enumerate"), args=[over]),
            ast.Assign(
                targets=[
                    ast.Subscript(ast.Name() as whole, ast.Tuple([ast.Name(id=own), ast.Slice(None, upper, None)]))
                ],
                value=ast.Subscript(value=flat, slice=ast.Slice() as part),
            ),
        ) if own == index and each == summed.each:
            lengths, ends = _tensor(view, over), ast.unparse(upper) if upper is not None else ""
        case _:
            return False
    dims, made = view.dims(flat), view.dims(whole)
    more = len(dims) - 1 if dims is not None else len(made) - 2 if made is not None else None
    if (
        ends != each
        or ast.unparse(part) != f"{summed.start}:{summed.start} + {each}"
        or lengths is None
        or more is None
    ):
        return False
    further = f"[{', '.join(['...', *['None'] * more])}]" if more else ""
    mask = f"(torch.arange(Y.shape[1], device=X.device) < LENGTHS[:, None]){further}"
    filled = expression(f"Y.masked_scatter({mask}, X)", Y=whole, LENGTHS=lengths, X=flat)
    draft.replace(node, [stands_for(ast.Assign([as_target(whole)], filled), node)])
    draft.replace(summed.begun, [])
    return True


@dataclass(frozen=True)
class _RunningSum:
    """`start`, where each step of a loop ends with `start += n` for an `n` that the loop goes through. `begun`: what
    sets it to 0."""

    start: str
    each: str
    begun: ast.stmt


def _running_sum(view: View, node: ast.For) -> _RunningSum | None:
    """The one of the loop; None where there is none, or somebody reads it behind the loop."""
    match node.body[-1]:
        case ast.AugAssign(target=ast.Name(id=start), op=ast.Add(), value=ast.Name(id=each)):
            pass
        case ast.Assign(targets=[ast.Name(id=start)], value=ast.BinOp(ast.Name(id=left), ast.Add(), ast.Name(id=each))):
            if left != start:
                return None
        case _:
            return None
    begun = [one for one in statements(view.body) if start in set(names_set(one)) and one is not node.body[-1]
             and not any(blocks(one))]  # fmt: skip
    through = {one.id for one in walked(node.target) if isinstance(one, ast.Name)}
    if each not in through or start in view.flow.live_after(node):
        return None
    match begun:
        case [ast.Assign(targets=[_], value=ast.Constant(value=0))]:
            return _RunningSum(start, each, begun[0])
    return None


# How the results of all rows are put together where each step adds, subtracts or multiplies its own.
_PUT_TOGETHER = {ast.Add: "sum", ast.Sub: "sum", ast.Mult: "prod"}


def _sum(view: View, draft: Draft, node: ast.For, before: list[ast.stmt], last: ast.Assign | ast.AugAssign) -> None:
    """`total = total + f(row)` as `total = total + torch.vmap(f)(x).sum(0)`."""
    match last:
        case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=other), op=operator, right=value)
        ) if other == name:
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=value, op=ast.Add() | ast.Mult() as operator, right=ast.Name(id=other)),
        ) if other == name:
            pass
        case _:
            raise CannotError("a step does more than to add")
    method = _PUT_TOGETHER.get(type(operator))
    steps = [inner for one in (*before, value) for inner in walked(one)]
    if isinstance(value, ast.List | ast.ListComp | ast.Tuple | ast.JoinedStr):
        raise CannotError("a step makes a list longer")
    if method is None or any(isinstance(one, ast.Name) and one.id == name for one in steps):
        raise CannotError("a step reads what the others added")
    made, mapped = _mapped(view, node, before, value, {name})
    whole = expression(f"ROWS.{method}(0)", ROWS=mapped)
    match last:
        case ast.AugAssign():
            draft.replace(node, [*made, changed_copy(last, value=whole)])
        case _:
            total = ast.Name(name, ast.Load())
            draft.replace(node, [*made, changed_copy(last, value=ast.BinOp(total, operator, whole))])


def _mapped(
    view: View,
    node: ast.For,
    before: Sequence[ast.stmt],
    value: ast.expr,
    carried: set[str],
    *,
    one_by_one: bool = False,
) -> tuple[list[ast.stmt], ast.expr]:
    """What has to stand before it, and what all steps of the loop give, as one call."""
    own = {one for step in before for one in names_set(step)}
    if node.orelse or any(not isinstance(one, ast.Assign) for one in before):
        raise CannotError("a step does more than to set names")
    if StraightLine(view).carried(node) - carried or own & view.flow.live_after(node) or any("." in one for one in own):
        raise CannotError("a step needs what another one left")
    rows = rows_of(view, node.target, node.iter, [*before, value])
    if one_by_one and any(isinstance(one, ast.Starred) for one in rows.tensors):
        raise CannotError("nothing says how many rows there are")
    if not before and not one_by_one:
        return [*rows.before], rows.called(ast.Lambda(rows.arguments(), _of_row(view, rows, value)), [value])
    step = "one_row"
    if step in view.flow.names:
        raise CannotError("a name is taken")
    form = TensorForm(view)
    news: list[tuple[ast.Assign, ast.expr]] = []
    for one in before:
        assert isinstance(one, ast.Assign)  # noqa: S101 - anything else was refused above
        news.append((one, _of_row(view, rows, one.value, form)))
    given = _of_row(view, rows, value, form)
    result = ast.Return(_own_memory(view, given) if one_by_one else given)
    body: list[ast.stmt] = []
    for one, new in news:
        name = one.targets[0].id if isinstance(one.targets[0], ast.Name) else ""
        if (mask := form.masks.get(name)) is None:
            body.append(changed_copy(one, value=new))
        elif (found := form.selection(new)) is not None:  # what is made of these rows is made of all, under the mask
            body += written("MASK = CHOSEN", MASK=mask, CHOSEN=found[1])
    made = ast.FunctionDef(name=step, args=rows.arguments(), body=[*body, result], decorator_list=[])
    if one_by_one:
        return [*rows.before, made], rows.in_turn(made)
    return [*rows.before, made], rows.called(ast.Name(step, ast.Load()), [*before, value])


def _own_memory(view: View, given: ast.expr) -> ast.expr:
    """What a step gives, as tensors that are no parts of its row, which the operator refuses."""
    match given:
        case ast.Tuple(elts=parts):
            return ast.Tuple([_own_memory(view, one) for one in parts], ast.Load())
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return given
        case ast.Call(func=function) if (view.origin(function) or "").startswith(_FRESH):
            return given
    return expression("X.clone()", X=given)


def _of_row(view: View, rows: _Rows, node: ast.expr, form: TensorForm | None = None) -> ast.expr:
    """What a step makes of its row, in tensors alone: what is mapped may read no number, and choose no rows."""
    new = cast("ast.expr", Swapped(rows.entries).visit(node))
    view.data |= set(rows.parameters)
    return (form or TensorForm(view)).of(new)


def rows_of(view: View, target: ast.expr, over: ast.expr, body: Sequence[ast.AST]) -> _Rows:
    """What the steps of a loop, or of a comprehension, go through. Raises CannotError where it is no tensor."""
    match target, over:
        case ast.Name(id=index), ast.Call() if (places := _places(over)) is not None:
            return _indexed(view, index, places, body)
        case ast.Tuple(elts=[ast.Name(id=index), rest]), ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
            return _counted(view, index, rows_of(view, rest, inner, body), body)
        case ast.Name(id=name), _ if (tensor := _tensor(view, over)) is not None:
            return _Rows((name,), (tensor,))
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=[ast.Starred() as given]):
            if all(isinstance(one, ast.Name) for one in names) and _is_tensors(view, given.value):
                return _Rows(tuple(cast("ast.Name", one).id for one in names), (given,))
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=given) if len(names) == len(given):
            tensors = [tensor for one in given if (tensor := _tensor(view, one)) is not None]
            if all(isinstance(one, ast.Name) for one in names) and len(tensors) == len(names):
                return _Rows(tuple(cast("ast.Name", one).id for one in names), tuple(tensors))
    raise CannotError("no rows of tensors")


def _tensor(view: View, over: ast.expr) -> ast.expr | None:
    """The tensor whose rows a loop goes through: `x`, `list(x)`, `x.unbind(0)`, `x.tolist()`."""
    match over:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "iter"), args=[inner], keywords=[]):
            return _tensor(view, inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="unbind" | "tolist"), args=args, keywords=[]) if (
            not view.origin(over.func)
        ):
            return _rows_along(inner, args) if _is_tensor(view, inner) else None
        case ast.Call(args=[inner, *args], keywords=words) if view.origin(over.func) == "torch.unbind":
            given = [*args, *(one.value for one in words if one.arg == "dim")]
            return _rows_along(inner, given) if _is_tensor(view, inner) else None
        case ast.Name(id=name) if isinstance(made := view.only_value(name), ast.Call):
            listed = isinstance(made.func, ast.Attribute) and made.func.attr == "tolist"
            return _tensor(view, made) if listed else over if _is_tensor(view, over) else None
    return over if _is_tensor(view, over) else None


def _rows_along(tensor: ast.expr, args: Sequence[ast.expr]) -> ast.expr | None:
    """`x` of `x.unbind(0)`, `x.movedim(1, 0)` of `x.unbind(1)`."""
    match args:
        case [] | [ast.Constant(value=0)]:
            return tensor
        case [ast.Constant(value=int(dim))]:
            return expression("X.movedim(DIM, 0)", X=tensor, DIM=ast.Constant(dim))
    return None


def _is_tensors(view: View, node: ast.expr) -> bool:
    """Are they several tensors, as `torch.where(mask)` gives them?"""
    match node:
        case ast.Call(args=[_], keywords=[]):
            return view.origin(node.func) == "torch.where"
    return False


def _counted(view: View, index: str, rows: _Rows, body: Sequence[ast.AST]) -> _Rows:
    """The rows with the number of each, where a step reads it."""
    if not any(isinstance(one, ast.Name) and one.id == index for part in body for one in walked(part)):
        return rows
    if isinstance(rows.tensors[0], ast.Starred):
        raise CannotError("nothing says how many rows there are")
    first, before = rows.tensors[0], rows.before
    if not isinstance(first, ast.Name | ast.Attribute):  # it would be computed twice
        name = "rows"
        if name in view.flow.names:
            raise CannotError("a name is taken")
        before = (*before, *written("NAME = FIRST", NAME=name, FIRST=first))
        first = ast.Name(name, ast.Load())
    numbers = expression("torch.arange(X.shape[0])", X=first)
    tensors = (numbers, first, *rows.tensors[1:])
    return _Rows((index, *rows.parameters), tensors, rows.entries, before)


def _indexed(view: View, index: str, places: _Places, body: Sequence[ast.AST]) -> _Rows:
    """`x[i]` and `y[i]` of `for i in range(len(x))` as rows, with the index where it is read besides."""
    parameters: dict[str, tuple[str, ast.expr]] = {}
    entries: dict[int, ast.expr] = {}
    for part in body:
        for one in walked(part):
            match one:
                case ast.Subscript(value=owner, slice=place) if (
                    dim := _dim_of(index, place)
                ) is not None and _is_tensor(view, owner):
                    owner = owner if dim == 0 else expression("X.movedim(DIM, 0)", X=owner, DIM=ast.Constant(dim))
                    text = ast.dump(owner)
                    taken = {parameter for parameter, _ in parameters.values()} | view.flow.names
                    free = next(f"row{end}" for end in ("", *map(str, range(2, 99))) if f"row{end}" not in taken)
                    parameters.setdefault(text, (free, owner))
                    entries[id(one)] = ast.Name(parameters[text][0], ast.Load())
    inside = {id(inner) for part in body for one in walked(part) if id(one) in entries for inner in walked(one)}
    if not parameters:
        count = places.numbers[0]
        if len(places.numbers) > 1 or not view.is_data(count):
            raise CannotError("no rows of tensors")
        read = next((one for part in body for one in walked(part) if _holds_tensor(one, view)), None)
        counted: dict[str, ast.expr] = {"COUNT": TensorForm(view).number(count)}
        if read is None:
            return _Rows((index,), (expression("torch.arange(COUNT)", **counted),))
        return _Rows((index,), (expression("torch.arange(COUNT, device=X.device)", X=read, **counted),))
    names = tuple(name for name, _ in parameters.values())
    tensors = tuple(places.of(tensor) for _, tensor in parameters.values())
    outside = (one for part in body for one in walked(part) if id(one) not in inside)
    if any(isinstance(one, ast.Name) and one.id == index for one in outside):
        given = [TensorForm(view).symbolic(one) for one in places.numbers]
        numbers = ast.Call(expression("torch.arange"), given, [])
        return _Rows((index, *names), (numbers, *tensors), entries)
    return _Rows(names, tensors, entries)


@dataclass(frozen=True)
class _Places:
    """The places that a range goes through: `numbers` as `torch.arange` has them, and of a tensor those from `begin` to
    `end`, None for all; from the end where it is `backwards`."""

    numbers: tuple[ast.expr, ...]
    begin: ast.expr | None = None
    end: ast.expr | None = None
    backwards: bool = False

    def of(self, tensor: ast.expr) -> ast.expr:
        if self.begin is not None or self.end is not None:
            tensor = ast.Subscript(tensor, ast.Slice(self.begin, self.end), ast.Load())
        return expression("X.flip(0)", X=tensor) if self.backwards else tensor


def _places(over: ast.Call) -> _Places | None:
    """Of `range(n)`, `range(1, n)`, `range(n - 1, -1, -1)`, `reversed(range(n))`; None where it goes through others."""
    minus_one = ast.UnaryOp(ast.USub(), ast.Constant(1))
    match over:
        case ast.Call(func=ast.Name(id="reversed"), args=[ast.Call() as inner], keywords=[]):
            found = _places(inner)
            if found is None or found.begin or found.end or found.backwards:
                return None
            last = expression("N - 1", N=found.numbers[0])
            return _Places((last, minus_one, minus_one), backwards=True)
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            return _Places((end,), end=_less_than_all(end))
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(first)), end], keywords=[]) if first >= 0:
            return _Places((ast.Constant(first), end), ast.Constant(first) if first else None, _less_than_all(end))
        case ast.Call(
            func=ast.Name(id="range"),
            args=[ast.BinOp(op=ast.Sub(), right=ast.Constant(value=1)) as begin, end, step],
            keywords=[],
        ) if _number(step) == -1:
            last_place = _number(end)
            if last_place is not None and last_place >= -1:
                first_place = ast.Constant(last_place + 1) if last_place >= 0 else None
                return _Places((begin, end, step), first_place, backwards=True)
    return None


def _less_than_all(end: ast.expr) -> ast.expr | None:
    """The end of a slice, where the range may end before the tensor does."""
    return end if isinstance(end, ast.BinOp) else None


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _dim_of(index: str, places: ast.expr) -> int | None:
    """The dim that `x[i]`, `x[:, i]` or `x[:, i, :]` takes one place of."""
    parts = places.elts if isinstance(places, ast.Tuple) else [places]
    named = [place for place, one in enumerate(parts) if isinstance(one, ast.Name) and one.id == index]
    whole = [isinstance(one, ast.Slice) and ast.dump(one) == ast.dump(ast.Slice()) for one in parts]
    return named[0] if len(named) == 1 and sum(whole) == len(parts) - 1 else None


def _holds_tensor(node: ast.AST, view: View) -> TypeGuard[ast.Name]:
    """Is it a parameter of the function that holds a tensor? It is set before the loop."""
    return isinstance(node, ast.Name) and node.id in view.flow.parameters and view.value(node).is_tensor


def _is_tensor(view: View, node: ast.expr) -> bool:
    return view.value(node).is_tensor or (isinstance(node, ast.Call) and view.nature(node) is Nature.DATA)


def _joining(view: View, node: ast.AST) -> ast.Call | None:
    """The `torch.stack` or `torch.cat` that the node is given to."""
    for one in walked(view.node):
        if isinstance(one, ast.Call) and one.args and one.args[0] is node:
            return one if view.origin(one.func) in {"torch.stack", "torch.cat", "builtins.sum"} else None
    return None


def _joined(view: View, call: ast.Call, rows: ast.expr) -> ast.expr:
    """What the call makes of the rows, of the tensor that they are now."""
    given = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "dim")]
    return put_together(rows, view.origin(call.func) or "", given[0] if given else None)


def join_reads(view: View, draft: Draft, name: str, known: Sequence[ast.stmt]) -> None:
    """Where the list is read it is put together; anything else would have to know that it is a tensor now."""
    ours = {id(inner) for one in known for inner in walked(one)}
    for one in list(walked(view.node)):
        if not (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)) or id(one) in ours:
            continue
        call = _joining(view, one)
        if call is None:
            raise CannotError("the list is read")
        draft.swap(call, _joined(view, call, changed_copy(one)))

"""Decide in data: what Python decides by the value of a tensor is decided by torch, inside of the program."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING, TypeGuard

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import changed_copy
from exportlint.rewrite.grown_lists import has_no_rows
from exportlint.rewrite.straight_line import GOES_ON, StraightLine, Style, sizes_asked, wanted_at
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_UNITS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class DecideInData:
    """Any nest of `if`, `elif`, ternary, `and`, `or`, early `return` and `match` on data."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        if (proposal := rewritten(site, Style(), everything=False)) is not None:
            yield proposal
        asks = any(isinstance(one, ast.expr) and _counts(site.view, one) for one in walked(site.node))
        # What takes the largest of no rows raises, also on the side that is not taken.
        if asks and (proposal := rewritten(site, Style(padded=True), everything=False)) is not None:
            yield proposal
        if has_places(site.view) and (proposal := rewritten(site, Style(guarded=True), everything=False)) is not None:
            yield proposal
        if (proposal := rewritten(site, Style(), everything=True)) is not None:
            yield proposal
        if (proposal := rewritten_file(site, Style())) is not None:
            yield proposal
        if (proposal := _unguarded(site)) is not None:
            yield proposal
        if (proposal := _without_special_case(site)) is not None:
            yield proposal


def has_places(view: View) -> bool:
    """Does data say a place of a tensor anywhere in the function? Only then one may lie outside."""
    return any(
        isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load) and view.holds_data(one.slice)
        for one in walked(view.node)
    )


def _unguarded(site: Site) -> Proposal | None:
    """What asks whether anything was chosen goes, where what it guards does nothing for nothing: `if mask.any():`
    around a block, or `if not len(rows): continue` before it. Inputs have to show it, of which nothing is chosen. Of
    counts that nothing else reads, `counts = torch.bincount(ids)` with `if counts[i] == 0: continue`, all go."""
    view, draft = site.view, site.draft()
    if view is None:
        return None
    if (decision := _decision_at(site)) is not None:
        decisions = [decision]
    elif counted := _counted_at(site):
        name, statement = counted
        read = {id(one) for one in walked(view.node) if _reads(one, name)}
        decisions = [
            one for one in walked(view.node) if isinstance(one, ast.If) and any(id(n) in read for n in walked(one.test))
        ]
        if read != {id(n) for one in decisions for n in walked(one.test)} & read:
            return None
        draft.replace(statement, [])
    else:
        return None
    if not decisions or not all(_goes(draft, view, one) for one in decisions):
        return None
    return Proposal("do it without asking whether there is any", draft, both_sides_of=decisions[0].lineno)


def _goes(draft: Draft, view: View, decision: ast.If) -> bool:
    """Takes the question away, where it is one for nothing; says whether it is."""
    if decision.orelse:
        return False
    match decision.body, _asks_for_none(view, decision.test):
        case [ast.Continue()], True:
            draft.replace(decision, [])
        case [*_, last], False if not isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue):
            draft.replace(decision, decision.body)
        case _:
            return False
    return True


def _counted_at(site: Site) -> tuple[str, ast.stmt] | None:
    """The name that is given counts at the site, and the statement."""
    match site.draft().statement_of(site.node):
        case ast.Assign(targets=[ast.Name(id=name)]) as statement if (
            site.view is not None and site.view.only_value(name) is statement.value and _is_counts(statement.value)
        ):
            return name, statement
    return None


def _is_counts(node: ast.expr) -> bool:
    """How often each is there: `torch.bincount(ids).tolist()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="bincount")):
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr="tolist" | "cpu" | "numpy" | "detach" | "long" | "int")):
            return _is_counts(owner)
    return False


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _without_special_case(site: Site) -> Proposal | None:
    """`if mask.all(): mask = None` goes, where the general way computes the same. What Python asks beside data stays,
    and so does a case that computes something by itself: that might matter for values that nobody tried."""
    decision, draft = _decision_at(site), site.draft()
    if site.view is None or decision is None:
        return None
    gives_none = _asks_for_none(site.view, decision.test) is True and _gives_no_rows(decision.body)
    if not gives_none and not _only_goes_another_way(decision.body):
        return None
    tests = decision.test.values if _is_or(decision.test) else [decision.test]
    plain = [one for one in tests if not site.view.is_data(one)]
    if len(plain) == len(tests) or (len(decision.orelse) == 1 and isinstance(decision.orelse[0], ast.If)):
        return None
    if plain:
        draft.swap(decision.test, plain[0] if len(plain) == 1 else changed_copy(decision.test, values=plain))
    else:
        draft.replace(decision, decision.orelse)
    return Proposal("leave the special case out", draft, both_sides_of=decision.lineno)


def _is_or(test: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)


def _decision_at(site: Site) -> ast.If | None:
    """The innermost `if` whose test the site stands in."""
    if site.view is None:
        return None
    found = [
        one for one in walked(site.view.node) if isinstance(one, ast.If)
        and any(inner is site.node for inner in (one, *walked(one.test)))
    ]  # fmt: skip
    return found[-1] if found else None


def _only_goes_another_way(body: Sequence[ast.stmt]) -> bool:
    match body:
        case [ast.Continue() | ast.Pass() | ast.Return(value=None)]:  # a `break` may be all that ends a loop
            return True
        case [ast.Return(value=value) | ast.Assign(targets=[ast.Name()], value=value)]:
            return isinstance(value, ast.Name | ast.Attribute | ast.Constant)
    return False


def _gives_no_rows(body: Sequence[ast.stmt]) -> bool:
    """Is what is given back, in all of its parts, a tensor without rows?"""
    match body:
        case [ast.Return(value=ast.Tuple(elts=parts))] | [ast.Return(value=ast.Dict(values=parts))]:
            return all(map(has_no_rows, parts))
        case [ast.Return(value=ast.expr() as value)]:
            return has_no_rows(value)
    return False


def _asks_for_none(view: View, test: ast.expr) -> bool | None:
    """True where the test holds of what is empty, False where of what is not, None where it asks something else."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner) if (found := _asks_for_none(view, inner)) is not None:
            return not found
        case ast.Compare(left=left, ops=[ast.Lt() | ast.GtE() as op], comparators=[ast.Constant(value=1)]):
            return isinstance(op, ast.Lt) if _counts(view, left) else None
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=0)]) if _counts(view, left):
            known = {ast.Eq: True, ast.LtE: True, ast.NotEq: False, ast.Gt: False}
            return known.get(type(op))
        case ast.Call(func=ast.Attribute(attr="any"), args=[]):
            return False
        case _ if _counts(view, test):
            return False
    return None


def _counts(view: View, node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="item")):
            return _counts(view, owner)
        case ast.Call(func=ast.Attribute(value=owner, attr="sum" | "count_nonzero"), args=[]):
            return view.is_boolean(owner)
        case ast.Call(func=ast.Attribute(attr="numel" | "nelement" | "size")) | ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Subscript(value=ast.Name(id=name)):
            return (given := view.only_value(name)) is not None and _is_counts(given)
    return False


def rewritten(site: Site, style: Style, *, everything: bool) -> Proposal | None:
    """The function after its decisions, loops and reads are written in tensors: those at the site, or `everything`."""
    view = site.fresh_view()
    asked = sizes_asked(view, site.node)
    view.asked |= set(map(id, asked))
    wanted = None if everything else wanted_at(view, site.node)
    line = StraightLine(view, style, wanted)
    try:
        body = line.body()
    except CannotError:
        return None
    if _same(body, view.body):
        return None
    how_guarded = ", with place 0 where it is not taken" if style.guarded else ""
    is_symbol = any(isinstance(one, ast.Call) for one in asked)
    how = "keep the size a symbol" if is_symbol else in_words(line.done)
    draft = site.draft()
    put(draft, view.body, body)
    # The sides of a decision by a size may have other sizes, and a number may fit on the side alone that asks for it.
    doubtful = (bool(view.asked) and not line.form.fits) or any(map(_reads_number_on_a_side, body))
    decision = _decision_at(site) or next(_decisions_by_data(site), None)
    at = line.lists.left_out or (getattr(decision or site.node, "lineno", 0) if doubtful else 0)
    return Proposal(f"{how}{', in the whole function' if everything else ''}{how_guarded}", draft, both_sides_of=at)


def _reads_number_on_a_side(statement: ast.stmt) -> bool:
    """`torch.where(n > 10, x.sum(0), x.narrow(0, 0, n.item()).sum(0))`: both sides are computed, and what takes a
    number may raise for one that the test kept away from it."""
    selected = [
        part
        for node in walked(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.where"
        for side in node.args[1:]
        for part in walked(side)
    ]
    return any(isinstance(part, ast.Attribute) and part.attr in {"item", "tolist"} for part in selected)


def _decisions_by_data(site: Site) -> Iterator[ast.If]:
    view = site.view
    for node in walked(view.node) if view is not None else ():
        if view is not None and isinstance(node, ast.If) and view.is_data(node.test):
            yield node


def in_words(done: Iterable[str]) -> str:
    """What was done, the first two things."""
    first = [*done][:2] or [GOES_ON]
    return ", and ".join(first) if all("," not in one for one in first) else first[0]


def rewritten_file(site: Site, style: Style) -> Proposal | None:
    """The function with those that it calls and that call it, likewise: what one gives back, another goes on with."""
    draft, changed, done = site.draft(), 0, dict[str, None]()
    for view in _connected(site):
        if view.is_unseen:
            continue
        line = StraightLine(view, style)
        try:
            body = line.body()
        except CannotError:
            continue
        if not _same(body, view.body):
            changed += 1
            done |= line.done
            put(draft, view.body, body)
    return Proposal(f"{in_words(done)}, in all functions of the file", draft) if changed > 1 else None


def _connected(site: Site) -> Iterator[View]:
    """Of all functions in the classes and functions of the file that name the site's one, or that it names."""
    units = {one.name: one for one in site.module.tree.body if isinstance(one, _UNITS)}
    line = getattr(site.node, "lineno", 0)
    own = next((name for name, unit in units.items() if unit.lineno <= line <= (unit.end_lineno or 0)), None)
    if own is None:
        return
    uses = {name: site.module.parsed.kept(unit, _mentioned) & units.keys() for name, unit in units.items()}
    used = {name: {other for other in units if name in uses[other]} for name in units}
    found = {name for graph in (uses, used) for name in _reached(own, graph)}
    chosen = [units[name] for name in found]
    for view in site.views():
        if any(unit.lineno <= view.node.lineno <= (unit.end_lineno or 0) for unit in chosen):
            yield view


def _mentioned(_file: Parsed, unit: ast.AST) -> set[str]:
    return {node.id for node in walked(unit) if isinstance(node, ast.Name)}


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found, todo = {start}, [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += sorted(new)
    return found


def _same(new: Sequence[ast.stmt], old: Sequence[ast.stmt]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def put(draft: Draft, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> None:
    """The new statements of a block in the place of the old ones; those that are in both stay where they are."""
    kept, known = {id(one) for one in new}, {id(one) for one in old}
    inside = {id(part) for one in new if id(one) not in known for part in walked(one)}  # what follows an exit, in it
    place = 0
    for number, statement in enumerate(old):
        if id(statement) in kept:
            end = next(at for at in range(place, len(new)) if new[at] is statement)
            draft.above(statement, new[place:end])
            place = end + 1
            continue
        # What stands for one of the next statements goes into its place, where the author's comment on it is.
        following = {id(one) for one in takewhile(lambda one: id(one) not in kept, old[number + 1 :])}
        taken: list[ast.stmt] = []
        while place < len(new) and id(new[place]) not in known:
            if id(getattr(new[place], "origin", None)) in following:
                break
            taken.append(new[place])
            place += 1
        (draft.move if id(statement) in inside else draft.replace)(statement, taken)

"""Draws of torch's, in the place of Python's and NumPy's.

Other numbers come out, of the same distribution: where the class, or the function, seeds the generator, they are
meant, and it stays. What is drawn is a tensor then, and so is what is chosen by it.
"""

from __future__ import annotations

import ast
import re
from functools import reduce
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import blocks
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Container, Kind, Module
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_SEEDING = frozenset({"random.seed", "numpy.random.seed", "random.setstate", "numpy.random.set_state"})
_OF_LIST = "torch.as_tensor(SEQ)[torch.randperm(len(SEQ))]"
_ONE_OF = ("torch.tensor(SEQ)[torch.randint(len(SEQ), (1,))].squeeze(0)", "SEQ[torch.randint(len(SEQ), ())]")
# By the function: its parameters, and what torch draws, in more ways where it depends on what is given. A parameter
# that is left out has the value behind `=`; one without any value has to be given, and no others may. The first whose
# parameters fit stands for the call.
_DRAWN: Mapping[str, Sequence[tuple[str, Sequence[str]]]] = {
    "random.random": [("", ["torch.rand(())"])],
    "random.uniform": [("A B", ["torch.rand(()) * (B - A) + A"])],
    "random.gauss": [("MU=0.0 SIGMA=1.0", ["torch.randn(()) * SIGMA + MU"])],
    "random.normalvariate": [("MU=0.0 SIGMA=1.0", ["torch.randn(()) * SIGMA + MU"])],
    "random.expovariate": [("LAMBD=1.0", ["-torch.log1p(-torch.rand(())) / LAMBD"])],
    "random.randint": [("A B", ["torch.randint(A, B + 1, ())"])],
    "random.randrange": [
        ("STOP", ["torch.randint(STOP, ())"]),
        ("START STOP", ["torch.randint(START, STOP, ())"]),
        ("START STOP STEP", ["torch.arange(START, STOP, STEP)[torch.randint(len(range(START, STOP, STEP)), ())]"]),
    ],
    "random.choice": [("SEQ", _ONE_OF)],
    "random.choices": [
        (
            "POPULATION WEIGHTS K=1",
            ["torch.as_tensor(POPULATION)[torch.multinomial(torch.as_tensor(WEIGHTS), K, replacement=True)]"],
        ),
        ("POPULATION K=1", ["torch.as_tensor(POPULATION)[(torch.rand(K) * len(POPULATION)).long()]"]),
    ],
    "random.sample": [("POPULATION K", ["torch.tensor(POPULATION)[torch.randperm(len(POPULATION))[:K]]"])],
    "numpy.random.permutation": [("X", ["torch.randperm(X)", _OF_LIST.replace("SEQ", "X")])],
    "numpy.random.uniform": [("LOW=0.0 HIGH=1.0 SIZE=()", ["torch.rand(SIZE) * (HIGH - LOW) + LOW"])],
    "numpy.random.normal": [("LOC=0.0 SCALE=1.0 SIZE=()", ["torch.randn(SIZE) * SCALE + LOC"])],
    "numpy.random.exponential": [("SCALE=1.0 SIZE=()", ["-torch.log1p(-torch.rand(SIZE)) * SCALE"])],
    "numpy.random.gumbel": [
        ("LOC=0.0 SCALE=1.0 SIZE=()", ["LOC - SCALE * torch.log(-torch.log1p(-torch.rand(SIZE)))"])
    ],
    "numpy.random.standard_normal": [("SIZE=()", ["torch.randn(SIZE)"])],
    "numpy.random.randint": [
        ("LOW HIGH SIZE=()", ["torch.randint(LOW, HIGH, SIZE)"]),
        ("LOW SIZE=()", ["torch.randint(LOW, SIZE)"]),
    ],
    "numpy.random.random": [("SIZE=()", ["torch.rand(SIZE)"])],
    "numpy.random.random_sample": [("SIZE=()", ["torch.rand(SIZE)"])],
    "numpy.random.sample": [("SIZE=()", ["torch.rand(SIZE)"])],
    "numpy.random.ranf": [("SIZE=()", ["torch.rand(SIZE)"])],
}
_CHOICE = "numpy.random.choice"
_SHUFFLES = frozenset({"random.shuffle", "numpy.random.shuffle"})
_INTEGERS = frozenset({"random.randint", "random.randrange"})
_WHOLE = _INTEGERS | {"numpy.random.randint"}
_AROUND = frozenset({"builtins.float", "torch.from_numpy", "torch.tensor", "torch.as_tensor"})
_SAY = "draw with torch, which gives other numbers of the same distribution"
_SAY_INDEX = "draw an index with torch, which gives other numbers of the same distribution"


def drawn_by_torch(site: Site, view: View) -> Iterator[Proposal]:
    """The draw at the site, with what makes a number or a tensor of it; the integers of the function that cut a
    tensor, all of them; a list that is shuffled."""
    node = site.node
    around = view.cls.node if view.cls is not None else view.node
    calls = (one.func for one in walked(around) if isinstance(one, ast.Call))
    if not isinstance(node, ast.Call) or any(view.module.dotted(one) in _SEEDING for one in calls):
        return
    yield from _shuffled(site, view, node)
    ways = list(_drawn(view, node))
    if not ways:
        return
    yield from _drawn_as_bounds(site, view)
    for place, drawn in enumerate(ways):
        draft = site.draft()
        whole: ast.expr = node
        while (above := _converting(draft, view, whole)) is not None:
            whole = above
        whole, new = _retyped(draft, view, whole, drawn)
        draft.swap(whole, new)
        statement = draft.parent(whole)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            _read_as_tensor(draft, view, statement.targets[0].id)
        yield Proposal(_SAY_INDEX if place else _SAY, draft)


def _read_as_tensor(draft: Draft, view: View, name: str) -> None:
    """What makes a tensor, or a list, of the name, which is a tensor now, goes."""
    for one in walked(view.node):
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load):
            whole: ast.expr = one
            while (above := _converting(draft, view, whole)) is not None:
                whole = above
            whole, new = _retyped(draft, view, whole, one)
            if whole is not one:
                draft.swap(whole, new)


def _retyped(draft: Draft, view: View, whole: ast.expr, drawn: ast.expr) -> tuple[ast.expr, ast.expr]:
    """What is written of a draw, and in the place of what: `torch.tensor(draw, dtype=…)` and `sorted(draw)` are
    methods of what torch draws."""
    match made := draft.parent(whole):
        case ast.Call(func=func, args=[given], keywords=[_, *_]) if given is whole and view.origin(func) in _AROUND:
            return made, ast.Call(ast.Attribute(drawn, "to", ast.Load()), [], made.keywords)
        case ast.Call(func=func, args=[given], keywords=[]) if (
            given is whole and view.origin(func) == "builtins.sorted"
        ):
            return made, expression("DRAWN.sort().values", DRAWN=drawn)
    return whole, drawn


def _drawn(view: View, node: ast.AST) -> Iterator[ast.expr]:
    """Draws of torch's, for one of Python's or NumPy's: the likeliest first."""
    if not isinstance(node, ast.Call) or any(one.arg is None for one in node.keywords):
        return
    name = view.origin(node.func) or ""
    if name in {"numpy.random.rand", "numpy.random.randn"}:
        drawn = expression(f"torch.{name.rpartition('.')[2]}(())")
        yield ast.Call(cast("ast.Call", drawn).func, node.args, []) if node.args else drawn
        return
    if name == _CHOICE:
        yield from _chosen(view, node)
    for parameters, texts in _DRAWN.get(name, ()):
        parts = _given(node, parameters)
        if parts is not None:
            if "SIZE" in parts and name == "numpy.random.randint":
                parts["SIZE"] = _shape(view, parts["SIZE"])
            of_numbers = _holds_numbers(view, parts["SEQ"]) if texts is _ONE_OF else None
            if name == "numpy.random.permutation":
                of_numbers = view.value(parts["X"]).kind in {Kind.SCALAR, Kind.SIZE} or None
            chosen = texts if of_numbers is None else texts[:1] if of_numbers else texts[1:]
            yield from (expression(text, **parts) for text in chosen)
            return


def _holds_numbers(view: View, node: ast.expr) -> bool | None:
    """Does the list hold numbers? None where nobody knows."""
    made = view.literal(node)
    if isinstance(made, ast.List | ast.Tuple) and made.elts:
        return all(isinstance(one, ast.Constant) and isinstance(one.value, int | float) for one in made.elts)
    value = view.value(node)
    lead = value.lead
    parts = (lead.items or (lead.element,)) if isinstance(lead, Container | Module) else ()
    kinds = {one.kind for one in parts if one is not None} - {Kind.UNKNOWN}
    return kinds <= {Kind.SCALAR, Kind.SIZE} if kinds else False if value.kind is Kind.MODULE else None


def _given(call: ast.Call, parameters: str) -> dict[str, ast.expr] | None:
    """What each parameter is; None where one is missing, or others are given."""
    parts: dict[str, ast.expr] = {}
    words = {one.arg: one.value for one in call.keywords}
    wanted = [one.partition("=") for one in parameters.split()]
    if len(call.args) > len(wanted) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    for place, (variable, _, default) in enumerate(wanted):
        given = call.args[place] if place < len(call.args) else words.pop(variable.lower(), None)
        if given is None and not default:
            return None
        parts[variable] = given if given is not None else expression(default)
    return None if words else parts


def _chosen(view: View, call: ast.Call) -> Iterator[ast.expr]:
    """`np.random.choice`, of the numbers below one or of what a list or an array holds: by indices."""
    parts = _given(call, "A SIZE=None REPLACE=True P=None")
    if parts is None or not isinstance(parts["REPLACE"], ast.Constant):
        return
    given, size, weights = parts["A"], parts["SIZE"], parts["P"]
    is_one = isinstance(size, ast.Constant) and size.value is None
    again = parts["REPLACE"].value
    kind = view.value(given).kind
    is_number = isinstance(given, ast.Constant) or kind in {Kind.SCALAR, Kind.SIZE}
    is_list = isinstance(given, ast.List | ast.Tuple) or kind in {Kind.CONTAINER, Kind.ARRAY, Kind.TENSOR}
    for of_list in [False] * (not is_list) + [True] * (not is_number):
        count = expression("len(SEQ)", SEQ=given) if of_list else given
        shape: ast.expr | None = None
        if not (isinstance(weights, ast.Constant) and weights.value is None):
            drawn = "torch.multinomial(torch.as_tensor(P), COUNT, replacement=AGAIN)"
            if isinstance(size, ast.Tuple) and size.elts:
                shape, size = size, reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), size.elts)
            text = "torch.multinomial(torch.as_tensor(P), 1).squeeze(0)" if is_one else drawn
            index = expression(text, P=weights, COUNT=size, AGAIN=parts["REPLACE"])
        elif is_one or again:
            index = expression("torch.randint(COUNT, SHAPE)", COUNT=count, SHAPE=_shape(view, size))
        elif isinstance(size, ast.Tuple):
            return
        else:
            index = expression("torch.randperm(COUNT)[:SIZE]", COUNT=count, SIZE=size)
        if shape is not None:
            index = expression("INDEX.reshape(SHAPE)", INDEX=index, SHAPE=shape)
        yield expression("torch.as_tensor(SEQ)[INDEX]", SEQ=given, INDEX=index) if of_list else index


def _shape(view: View, size: ast.expr) -> ast.expr:
    """The shape that NumPy's `size` says: none, a number, or a tuple."""
    if isinstance(size, ast.Constant) and size.value is None:
        return ast.Tuple([], ast.Load())
    is_shape = isinstance(size, ast.Tuple) or view.value(size).kind in {Kind.SHAPE, Kind.CONTAINER}
    return size if is_shape else ast.Tuple([size], ast.Load())


def _shuffled(site: Site, view: View, call: ast.Call) -> Iterator[Proposal]:
    """`random.shuffle(order)`: numbers are put in another order in a tensor, other things in another list."""
    draft = site.draft()
    statement = draft.parent(call)
    if view.origin(call.func) not in _SHUFFLES or not isinstance(statement, ast.Expr):
        return
    match call:
        case ast.Call(args=[ast.Name(id=name)], keywords=[]):
            shuffled = expression(_OF_LIST, SEQ=name)
            of_numbers = _holds_numbers(view, call.args[0])
            block = next(one for one in blocks(cast("ast.stmt", draft.parent(statement))) if statement in one)
            match block[: block.index(statement)][-1:]:
                case [ast.Assign(targets=[ast.Name(id=made)], value=value) as line] if made == name:
                    if (count := _counted(view, value)) is not None:
                        shuffled = expression("torch.randperm(N)", N=count)
                        draft.replace(line, [])
                        of_numbers = True
            draft.replace(statement, statements("NAME = SHUFFLED", NAME=name, SHUFFLED=shuffled))
            _read_as_tensor(draft, view, name)
            yield Proposal(_SAY, draft)
            if of_numbers:
                return
            draft = site.draft()
            index = next(one for one in ("i", "index", "place") if one not in view.flow.names)
            of_things = "NAME = [NAME[INDEX] for INDEX in torch.randperm(len(NAME))]"
            draft.replace(statement, statements(of_things, NAME=name, INDEX=index))
            yield Proposal(_SAY_INDEX, draft)


def _counted(view: View, node: ast.expr) -> ast.expr | None:
    """The number below which `list(range(n))`, or `np.arange(n)`, holds all."""
    match node:
        case ast.Call(func=ast.Name(id="list"), args=[ast.Call(func=over, args=[count])], keywords=[]):
            return count if view.origin(over) == "builtins.range" else None
        case ast.Call(func=over, args=[count], keywords=[]):
            return count if view.origin(over) == "numpy.arange" else None
    return None


def _drawn_as_bounds(site: Site, view: View) -> Iterator[Proposal]:
    """Places and lengths of a cut, `x[start : start + length]`: all integers that the function draws are read as
    symbols, of which Python makes slices."""
    draft, names = site.draft(), set[str]()
    for one in walked(view.node):
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=call) if _is_whole_draw(view, call):
                names.add(name)
                draft.swap(call, expression("DRAWN.item()", DRAWN=next(_drawn(view, call))))
    bounds = [one for one in walked(view.node) if isinstance(one, ast.Slice)]
    read = {inner.id for one in bounds for inner in walked(one) if isinstance(inner, ast.Name)}
    if names & read and _is_whole_draw(view, site.node):
        yield Proposal(f"{_SAY}, everywhere", draft)


def _is_whole_draw(view: View, node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and view.origin(node.func) in _WHOLE and next(_drawn(view, node), None) is not None
    )


def _converting(draft: Draft, view: View, node: ast.expr) -> ast.expr | None:
    """What makes a number, a list or a tensor of a draw, which a draw of torch's is."""
    match above := draft.parent(node):
        case ast.Call(func=func, args=[only], keywords=[]) if only is node and view.origin(func) in _AROUND:
            return above
        case ast.Call(func=func, args=[only], keywords=[]) if only is node and view.origin(func) == "builtins.int":
            return above if isinstance(node, ast.Call) and view.origin(node.func) in _WHOLE | {_CHOICE} else None
        case ast.Attribute(attr="astype") if isinstance(call := draft.parent(above), ast.Call):
            return call if re.search(r"float32|int64", ast.unparse(call.args[0])) else None
        case ast.Attribute(attr="tolist" | "copy") if isinstance(call := draft.parent(above), ast.Call):
            return call
    return None

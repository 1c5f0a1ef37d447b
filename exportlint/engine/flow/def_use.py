"""Who defines what each statement of a function reads: liveness and reaching definitions over its control flow.

A *place* is what a value can be kept in: a name (`x`), or an attribute of one by its path (`self.cache`,
`self.meter.count`). An element (`x[0] = 1`) is a part of its place: writing one changes the place and needs what was
there before, so it counts as read and as changed, and ends no definition.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.flow.control_flow import ControlFlow, Step
from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def path_of(node: ast.AST | None) -> str | None:
    """The place that an expression names; None for all that is no name or attribute of one.

    >>> path_of(ast.parse("self.meter.count", mode="eval").body), path_of(ast.parse("f(x).count", mode="eval").body)
    ('self.meter.count', None)
    """
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=attribute) if (inner := path_of(owner)) is not None:
            return f"{inner}.{attribute}"
    return None


def root_of(node: ast.expr) -> ast.expr:
    """What an element, or an element of an element, is a part of: the `x` of `x[0][1]`."""
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    return node


def defined(part: ast.AST) -> Iterator[str]:
    """The places that running the node sets whole, in the order of the source."""
    for node in _own(part):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Attribute(ctx=ast.Store() | ast.Del()) if path := path_of(node):
                yield path
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (one.asname or one.name.partition(".")[0] for one in names)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def changed(part: ast.AST) -> Iterator[str]:
    """The places whose value running the node changes without setting them: `x[0] = 1`, `x.add_(1)`, `x.append(1)`."""
    for node in _own(part):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) if path := path_of(root_of(node)):
                yield path
            case ast.AugAssign(target=target) if path := path_of(root_of(target)):
                yield path
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if (
                path := path_of(root_of(owner))
            ) and is_changing(method):
                yield path
            case ast.keyword(arg="out", value=target) if path := path_of(root_of(target)):
                yield path


_CHANGING = frozenset({
    "append", "extend", "insert", "pop", "popleft", "appendleft", "extendleft", "rotate", "remove", "clear", "update",
    "setdefault", "popitem", "add", "discard", "sort", "reverse", "__setitem__", "fill",
})  # fmt: skip


def is_changing(method: str) -> bool:
    """Does a method of that name change its object: a tensor in place, or a container? `x.add(y)` of a tensor does not,
    `seen.add(y)` of a set does: where it matters, ask what the owner is."""
    return method in _CHANGING or (method.endswith("_") and not method.endswith("__") and method != "requires_grad_")


def used(part: ast.AST) -> Iterator[str]:
    """The places whose values running the node reads; of `self.meter.count` the whole path and each place on the way.

    A nested function reads what it does not define itself.
    """
    for node in _own(part):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                yield name
            case ast.Attribute(ctx=ast.Load()) if path := path_of(node):
                yield path
            case ast.AugAssign(target=target) if path := path_of(root_of(target)):
                yield path
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=owner) if path := path_of(root_of(owner)):
                yield path
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from free_names(node)
            case ast.ClassDef(body=body):
                for statement in body:
                    yield from used(statement)


def free_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The places around a nested function that it reads: those that it does not define itself.

    >>> sorted(free_names(ast.parse("lambda t: t * scale", mode="eval").body))
    ['scale']
    """
    a = function.args
    own = {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if arg is not None}
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    outer = {name for one in body for node in walked(one) if isinstance(node, ast.Nonlocal | ast.Global)
             for name in node.names}  # fmt: skip
    own |= {name for one in body for name in _defined_below(one)} - outer
    read = {name for one in body for node in walked(one) for name in _read_by(node)}
    return {name for name in read if name.partition(".")[0] not in own} | outer


def _defined_below(part: ast.AST) -> Iterator[str]:
    for node in walked(part):
        if isinstance(node, ast.stmt | ast.NamedExpr | ast.comprehension):
            yield from defined(node)


def _read_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if path := path_of(node):
            yield path


def _own(part: ast.AST) -> Iterator[ast.AST]:
    """A node and all below, parts that are read before those that are set; nested functions stay closed, and of a
    comprehension its own variables are left to it."""
    if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.NamedExpr):
        order = [getattr(part, "iter", None), part.value if not isinstance(part, ast.For) else None]
        order += part.targets if isinstance(part, ast.Assign) else [part.target]
        yield part
        for child in order:
            if child is not None:
                yield from _own(child)
        return
    yield part
    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        for one in getattr(part, "decorator_list", ()):
            yield from _own(one)
        return
    if isinstance(part, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        own = {name for one in part.generators for name in defined(one.target)}
        inner = [child for one in ast.iter_child_nodes(part) for child in _own(one)]
        yield from (one for one in inner if not (isinstance(one, ast.Name) and one.id in own))
        return
    for child in ast.iter_child_nodes(part):
        yield from _own(child)


class DefUse:
    """What is known of the places of one function, statement by statement.

    body         its statements
    parameters   what is defined before the first

    >>> body = ast.parse('''
    ... total = 0
    ... for row in rows:
    ...     scale = row.max()
    ...     total = total + row / scale
    ... answer = total * 2
    ... ''').body
    >>> flow = DefUse(body, ("rows",), ("answer",))
    >>> sorted(flow.live_after(body[0])), sorted(flow.live_after(body[1]))
    (['rows', 'total'], ['total'])
    >>> [ast.unparse(one) for one in flow.definitions("total", body[2])]
    ['total = 0', 'total = total + row / scale']
    """

    def __init__(
        self, body: Sequence[ast.stmt], parameters: Sequence[str] = (), live_at_end: Sequence[str] = ()
    ) -> None:
        self.body = body
        self.parameters = tuple(parameters)
        self.flow = ControlFlow(body)
        self._live_at_end = frozenset(live_at_end)

    @classmethod
    def of(cls, function: ast.FunctionDef | ast.AsyncFunctionDef) -> DefUse:
        """Of a function. What it writes on its first argument, and on names of others, outlives it."""
        a = function.args
        arguments = [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if arg is not None]
        declared = (node for node in walked(function) if isinstance(node, ast.Nonlocal | ast.Global))
        outer = {name for node in declared for name in node.names}
        kept = {path for one in walked(function) if isinstance(one, ast.stmt) for path in defined(one) if "." in path}
        return cls(function.body, arguments, sorted(outer | kept))

    @cached_property
    def uses(self) -> Mapping[Step, frozenset[str]]:
        """By step. A place that one part sets before another part reads it (`(n := f()) + n`) counts as read."""
        return {step: frozenset(name for part in step.parts for name in used(part)) for step in self.flow.steps}

    @cached_property
    def defs(self) -> Mapping[Step, frozenset[str]]:
        return {
            step: frozenset(name for part in (*step.parts, *_named(step)) for name in defined(part))
            for step in self.flow.steps
        }

    @cached_property
    def _live(self) -> Mapping[Step, frozenset[str]]:
        """By step, what is read before it is set again on some way from behind the step."""
        after: dict[Step, frozenset[str]] = dict.fromkeys(self.flow.steps, frozenset())
        before: dict[Step, frozenset[str]] = dict(after)
        moved = True
        while moved:
            moved = False
            for step in reversed(self.flow.steps):
                live = frozenset().union(*(before[one] for one in step.followers))
                if not step.followers or isinstance(step.node, ast.Return):
                    live |= self._live_at_end
                now = self.uses[step] | _without(live, self.defs[step])
                moved = moved or now != before[step]
                after[step], before[step] = live, now
        # The end of the whole is behind the steps that end it, which may have followers too (the head of a loop).
        ends = set(self.flow.ends)
        return {step: live | (self._live_at_end if step in ends else frozenset()) for step, live in after.items()}

    def live_after(self, statement: ast.stmt) -> frozenset[str]:
        """The places whose values somebody still reads when the whole statement has ended, blocks included."""
        own = {id(node) for node in walked(statement)}
        inside = [step for step in self.flow.steps if id(step.node) in own]
        outside = {one for step in inside for one in step.followers if id(one.node) not in own}
        live = frozenset[str]().union(*(self._before(step) for step in outside))
        leaves = any(step in self.flow.ends or not step.followers for step in inside)
        return live | (self._live_at_end if leaves else frozenset())

    def live_before(self, statement: ast.stmt) -> frozenset[str]:
        """The places whose values are read in the statement, or behind it, before they are set."""
        step = self.flow.step_of.get(id(statement))
        return self._before(step) if step is not None else frozenset()

    def _before(self, step: Step) -> frozenset[str]:
        return self.uses[step] | _without(self._live[step], self.defs[step])

    @cached_property
    def _reaching(self) -> Mapping[Step, Mapping[str, frozenset[Step]]]:
        """By step and place, the steps whose definitions may hold before it runs."""
        before: dict[Step, dict[str, frozenset[Step]]] = {step: {} for step in self.flow.steps}
        todo = list(self.flow.steps)
        while todo:
            step = todo.pop(0)
            out = {**before[step], **{place: frozenset({step}) for place in self.defs[step]}}
            for follower in step.followers:
                known = before[follower]
                joined = {
                    place: known.get(place, frozenset()) | out.get(place, frozenset()) for place in (*known, *out)
                }
                if joined != known:
                    before[follower] = joined
                    if follower not in todo:
                        todo.append(follower)
        return before

    def definitions(self, place: str, at: ast.stmt) -> list[ast.AST]:
        """The statements whose definition of the place may reach the statement, in the order of the source. None of
        them where only a parameter, or something around the function, does."""
        step = self.flow.step_of.get(id(at))
        if step is None:
            return []
        found = self._reaching[step].get(place, frozenset())
        return [one.node for one in self.flow.steps if one in found]

    def readers(self, definition: ast.stmt, place: str) -> list[ast.AST]:
        """The statements (of a compound one: its head) that may read what this one sets the place to."""
        step = self.flow.step_of.get(id(definition))
        return [
            one.node
            for one in self.flow.steps
            if step in self._reaching[one].get(place, frozenset()) and place in self.uses[one]
        ]

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that the function uses for anything, nested functions included."""
        found = {node.id for one in self.body for node in walked(one) if isinstance(node, ast.Name)}
        inner = {node.arg for one in self.body for node in walked(one) if isinstance(node, ast.arg)}
        return frozenset({*found, *inner, *self.parameters, *(p for step in self.defs for p in self.defs[step])})


def _without(live: frozenset[str], defs: frozenset[str]) -> frozenset[str]:
    """Setting `meter` sets what `meter.count` means, too."""
    if not defs:
        return live
    return frozenset(place for place in live if not any(one in defs for one in _prefixes(place)))


def _prefixes(place: str) -> Iterator[str]:
    parts = place.split(".")
    yield from (".".join(parts[:number]) for number in range(1, len(parts) + 1))


def _named(step: Step) -> tuple[ast.AST, ...]:
    """A handler's `as error`, which stands in no node of its own."""
    return (step.node,) if isinstance(step.node, ast.ExceptHandler) and step.node.name else ()

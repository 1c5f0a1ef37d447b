"""For TorchScript: its compiler's and its tracer's forms of what they do not take, or take for something else.

TorchScript unrolls a loop over modules and gives each turn its own module. So it goes over the whole lists, counts, and
tests the count in the loop: `self.layers[i]` for `i` of a `range`, slices of the lists, and `zip` with what has no
length of its own are written so. A comprehension that it does not take is a loop that appends; a name that is None at
first is declared to be what it becomes; a parameter that is no tensor says what it is.

The tracer has tensors for sizes, so that `n += 2` changes what else has the size: `n = n + 2` does not.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import as_value, changed_copy, expression, statements
from exportlint.rewrite.transformation import Proposal
from exportlint.rewrite.view import Nature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View


_LISTS = frozenset(
    f"torch.nn.{home}{name}" for home in ("", "modules.container.", "modules.") for name in ("ModuleList", "Sequential")
)
_CHANGING = frozenset({"append", "extend", "insert", "add_module", "pop", "__delitem__", "__setitem__"})
_PARTS = frozenset({"chunk", "split", "unbind", "tensor_split"})
_LOOP = "go over the whole list of modules, and test the count in the loop"
_APPENDS = "append in a loop"
_FLAT = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.operator, ast.expr_context, ast.UnaryOp, ast.unaryop)


class ForTorchScript:
    """Of the loops around the place the innermost that is of such a form, with all others of the file, and alone; else
    what the statement is."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view = site.view
        if view is None:
            return
        alone = site.draft()
        if any(_loop(view, alone, loop) for loop in _loops_around(site, view)):
            whole = site.draft()
            found = [_everywhere(one, whole) for one in site.views()]
            if sum(found) > 1:
                yield Proposal(f"{_LOOP}, everywhere in the file", whole)
            yield Proposal(_LOOP, alone)
            return
        statement = site.draft().statement_of(site.node)
        for way in (_from_the_end, _comprehension, _declared, _annotated, _refined, _out_of_place):
            draft = site.draft()
            if statement is not None and (words := way(view, draft, statement)):
                yield Proposal(words, draft)


def _loops_around(site: Site, view: View) -> Iterator[ast.For]:
    draft, above = site.draft(), site.node
    while above is not view.node and (parent := draft.parent(above)) is not None:
        if isinstance(above, ast.For):
            yield above
        above = parent


def _everywhere(view: View, draft: Draft) -> int:
    """How many places of the function are written otherwise."""
    nodes = [*walked(view.node)]
    loops = sum(_loop(view, draft, one) for one in nodes if isinstance(one, ast.For))
    statements_of_it = [one for one in nodes if isinstance(one, ast.stmt) and one is not view.node]
    return loops + sum(bool(_from_the_end(view, draft, one)) for one in statements_of_it)


def _loop(view: View, draft: Draft, loop: ast.For) -> bool:
    """Write it in the form that TorchScript takes; False where it stays. Nobody may leave it early, or read behind it
    what it counts with."""
    leaves = any(isinstance(one, ast.Break | ast.Continue) for part in loop.body for one in walked(part))
    if leaves or loop.orelse or _names(loop.target) & view.flow.live_after(loop):
        return False
    written = _Loops(view, draft).over(loop.target, loop.iter, loop.body)
    if written is None:
        return False
    *above, last = written
    draft.replace(loop, [*above, _as_loop(loop, last)])
    return True


def _as_loop(old: ast.For, new: ast.stmt) -> ast.stmt:
    """With the comments of the old one."""
    assert isinstance(new, ast.For)  # noqa: S101 - what `_Loops.over` gives ends with one
    return changed_copy(old, target=new.target, iter=new.iter, body=new.body)


def _stored(body: Sequence[ast.stmt]) -> set[str]:
    """The places that the statements set; of an element of a list the list."""
    parts = (one for part in body for one in walked(part) if isinstance(getattr(one, "ctx", None), ast.Store))
    owners = (one.value if isinstance(one, ast.Subscript) else one for one in parts)
    return {path for one in owners if (path := path_of(one)) is not None}


def _names(*nodes: ast.AST) -> set[str]:
    return {one.id for node in nodes for one in walked(node) if isinstance(one, ast.Name)}


# Loops.


@dataclass(frozen=True)
class _Column:
    """What a turn of a loop takes: of `over` from the element `low` on, as `target`. `high`: the first that it leaves
    out; None: it goes to the end."""

    target: ast.expr
    over: ast.expr
    low: int = 0
    high: ast.expr | None = None


@dataclass
class _Loops:
    view: View
    draft: Draft
    _taken: set[str] = field(default_factory=set)

    def over(self, target: ast.expr, over: ast.expr, body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        """Statements that do what `for target in over: body` does, in the form that TorchScript takes; the last is a
        loop. None where that is no loop of modules, or of that form already."""
        counter: ast.expr | None = None
        match over, target:
            case ast.Call(func=function, args=args, keywords=[]), ast.Name(id=name) if self._is(function, "range"):
                match args:
                    case [count] | [ast.Constant(value=0), count]:
                        return self._by_number(name, count, body)
                return None
            case (
                ast.Call(func=function, args=[inner], keywords=[]),
                ast.Tuple(elts=[ast.Name() as counter, target]),
            ) if self._is(function, "enumerate"):
                over = inner
        sources, targets = [over], [target]
        match over, target:
            case ast.Call(func=function, args=args, keywords=[]), ast.Tuple(elts=elements) if self._is(function, "zip"):
                if len(args) != len(elements) or any(isinstance(one, ast.Starred) for one in (*args, *elements)):
                    return None
                sources, targets = args, elements
        columns = [_column(*pair) for pair in zip(targets, sources, strict=True)]
        whole = [one for one in columns if one is not None]
        return self._by_turn(counter, whole, body) if len(whole) == len(columns) else None

    def _is(self, function: ast.expr, name: str) -> bool:
        return self.view.origin(function) == f"builtins.{name}"

    # `for i in range(count)`, with lists of modules at `i`.

    def _by_number(self, name: str, count: ast.expr, body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        found: dict[str, list[ast.Subscript]] = {}
        for part in body:
            for one in walked(part):
                match one:
                    case ast.Name(id=set_name, ctx=ast.Store()) if set_name == name:
                        return None
                    case ast.Subscript(value=owner, slice=ast.Name(id=index), ctx=ast.Load()) if index == name:
                        if self.is_list(owner):
                            found.setdefault(ast.unparse(owner), []).append(one)
        if not found or not self._stays(count, body):
            return None
        lists = {path: uses[0].value for path, uses in found.items()}
        known = {path: self.least(count, owner) for path, owner in lists.items()}
        surely = {id(one) for one in _surely_run(body)}
        if any(known[path] is None and not any(id(use) in surely for use in uses) for path, uses in found.items()):
            return None  # a count beyond the list does not have to raise
        above = [
            statement
            for path, owner in lists.items()
            if known[path] is None
            for statement in statements(
                "if COUNT > len(LIST): raise IndexError('list index out of range')", COUNT=count, LIST=owner
            )
        ]
        ends = any(one == 0 for one in known.values())  # a list ends just where the range does
        layers = {path: self.free(_singular(path)) for path in lists}
        for path, uses in found.items():
            for use in uses:
                self.draft.swap(use, ast.Name(layers[path], ast.Load()))
        target, over = self._zipped([(ast.Name(layers[path], ast.Store()), owner) for path, owner in lists.items()])
        inside = [*body] if ends else [_if([expression("I < COUNT", I=name, COUNT=count)], body)]
        uses_left = sum(isinstance(one, ast.Name) and one.id == name for part in body for one in walked(part))
        if not ends or uses_left > sum(map(len, found.values())):
            target, over = _counted(name, target, over)
        return [*above, _for(target, over, inside)]

    def least(self, count: ast.expr, over: ast.expr) -> int | None:
        """How many elements the list has at least beyond the count: 0 where it has just as many; None: not known."""
        if isinstance(count, ast.Name) and (value := self.view.only_value(count.id)) is not None:
            count = value
        match count:
            case ast.Call(func=ast.Name(id="len"), args=[of]) if ast.unparse(of) == ast.unparse(over):
                return 0
            case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(less))) if less >= 0:
                known = self.least(left, over)
                return None if known is None else known + less
            case ast.Constant(value=int(number)) if (length := self.length(over)) is not None and number <= length:
                return length - number
        return None

    def _stays(self, count: ast.expr, body: Sequence[ast.stmt]) -> bool:
        """Is the count a plain number, which the loop does not change?"""
        parts = [*walked(count)]
        plain = all(self._is(one.func, "len") if isinstance(one, ast.Call) else isinstance(one, _FLAT) for one in parts)
        return plain and not self.view.is_data(count) and not _stored(body) & {path_of(one) for one in parts}

    # `for p, q in zip(self.a[1:], self.b)`, `for layer in self.layers[:-1]`, with or without `enumerate`.

    def _by_turn(
        self, counter: ast.expr | None, columns: Sequence[_Column], body: Sequence[ast.stmt]
    ) -> list[ast.stmt] | None:
        lists = [one for one in columns if self.is_list(one.over)]
        others = [one for one in columns if one not in lists]
        sliced = any(one.low or one.high is not None for one in lists)
        plain = all(_can_be_indexed(one.over) and not one.low and one.high is None for one in others)
        set_again = _stored(body) & {path_of(one.over) for one in columns}
        if not lists or not plain or set_again or not (sliced or others):
            return None
        above: list[ast.stmt] = []
        for number, one in enumerate(others):
            if path_of(one.over) is None:  # made once, as `zip` takes it once
                name = self.free("others", "elements", "values")
                above += [ast.Assign([ast.Name(name, ast.Store())], one.over)]
                others[number] = _Column(one.target, ast.Name(name, ast.Load()))
        lows = sorted({one.low for one in lists})
        if len(lows) > 2:  # noqa: PLR2004 - loops in loops in loops are nobody's code
            return None
        named = counter.id if isinstance(counter, ast.Name) and not lows[0] else self.free("i", "index", "number")
        first = [one for one in lists if one.low == lows[0]]
        turn = expression("I", I=named) if not lows[0] else expression("I - LOW", I=named, LOW=lows[0])
        tests = self._tests(named, first)
        for one in others:
            length = expression("len(LIST)", LIST=one.over)
            limit = expression("LENGTH + LOW", LENGTH=length, LOW=lows[0]) if lows[0] else length
            tests.append(expression("I < LIMIT", I=named, LIMIT=limit))
        begin: list[ast.stmt] = []
        for one in others:
            begin += [ast.Assign([one.target], expression("LIST[TURN]", LIST=one.over, TURN=turn))]
        if counter is not None and lows[0]:
            begin += [ast.Assign([counter], turn)]
        target, over = _counted(named, *self._zipped([(one.target, one.over) for one in first]))
        if len(lows) == 1:
            return [*above, _for(target, over, [_if(tests, [*begin, *body])])]
        outer = [one for one in lists if one not in first]
        other = self.free("j", "k", "other_index")
        apart = expression("J == I + APART", J=other, I=named, APART=lows[1] - lows[0])
        tests = [apart, *tests, *self._tests(other, outer)[1:]]
        inner = _for(target, over, [_if(tests, [*begin, *body])])
        return [*above, _for(*_counted(other, *self._zipped([(one.target, one.over) for one in outer])), [inner])]

    def _tests(self, named: str, columns: Sequence[_Column]) -> list[ast.expr]:
        """Of lists that begin at one element; that it is reached comes first."""
        low = columns[0].low
        tests = [expression("I >= LOW", I=named, LOW=low)] if low else []
        return tests + [expression("I < HIGH", I=named, HIGH=one.high) for one in columns if one.high is not None]

    # Lists of modules, and names.

    def _zipped(self, pairs: Sequence[tuple[ast.expr, ast.expr]]) -> tuple[ast.expr, ast.expr]:
        if len(pairs) == 1:
            return pairs[0]
        over = ast.Call(ast.Name("zip", ast.Load()), [one for _, one in pairs], [])
        return ast.Tuple([target for target, _ in pairs], ast.Store()), over

    def is_list(self, node: ast.expr) -> bool:
        return bool(self._made(node))

    def _made(self, node: ast.expr) -> list[ast.Call]:
        """The calls that make the list of modules that an attribute of `self` holds; none where it may hold another
        thing."""
        path, found = path_of(node), list[ast.expr | None]()
        for one in self._of_classes() if path and path.startswith("self.") else ():
            match one:
                case ast.Assign(targets=targets, value=value) if path in map(path_of, targets):
                    found.append(value)
                case ast.AnnAssign(target=target, value=value) if path_of(target) == path:
                    found.append(value)
        calls = [one for one in found if isinstance(one, ast.Call) and self.view.module.dotted(one.func) in _LISTS]
        return calls if len(calls) == len(found) else []

    def _of_classes(self) -> Iterator[ast.AST]:
        """All nodes of the class of the function, of its bases in the project, and of classes of the file that derive
        from it."""
        own = self.view.cls
        below = [one for one in self.view.module.classes.values() if own in one.lineage]
        for cls in dict.fromkeys([*below, *(own.lineage if own is not None else ())]):
            yield from walked(cls.node)

    def length(self, node: ast.expr) -> int | None:
        """Of a list of modules that is written out, or made for a `range` of a number, and that nothing is added to."""
        text = ast.unparse(node)
        for one in self._of_classes():
            match one:
                case ast.Attribute(value=owner, attr=name) if name in _CHANGING and ast.unparse(owner) == text:
                    return None
                case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) if ast.unparse(owner) == text:
                    return None
        match self._made(node):
            case [ast.Call(args=[ast.List(elts=elements)], keywords=[])]:
                return None if any(isinstance(one, ast.Starred) for one in elements) else len(elements)
            case [ast.Call(args=[ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[])])], keywords=[])]:
                match over:
                    case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
                        return number
        return None

    def free(self, *wanted: str) -> str:
        """The first name that the function does not use."""
        taken = _names(self.view.node) | {one.arg for one in walked(self.view.node) if isinstance(one, ast.arg)}
        taken |= self._taken | set(self.view.module.functions) | set(self.view.module.classes)
        name = next((one for one in wanted if one not in taken), None) or self.draft.free_name(wanted[0], taken)
        self._taken.add(name)
        return name


def _column(target: ast.expr, over: ast.expr) -> _Column | None:
    """None for a slice of another form than `[low:high]` with literal numbers, the first not below 0."""
    match over:
        case ast.Subscript(value=owner, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            match lower:
                case None:
                    low = 0
                case ast.Constant(value=int(low)):
                    pass
                case _:
                    return None
            match upper:
                case None:
                    return _Column(target, owner, low)
                case ast.Constant(value=int()):
                    return _Column(target, owner, low, upper)
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(less))):
                    return _Column(target, owner, low, expression("len(LIST) - LESS", LIST=owner, LESS=less))
            return None
        case ast.Subscript():
            return None
    return _Column(target, over)


def _can_be_indexed(node: ast.expr) -> bool:
    """A name or attribute, which the court tries, a list that is written out, or the parts of a tensor."""
    parts = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PARTS
    return path_of(node) is not None or parts or isinstance(node, ast.List | ast.Tuple)


def _singular(path: str) -> str:
    """`layer` of `self.layers`, as its author would call it."""
    name = path.rpartition(".")[2]
    ends = ("sses", "ches", "shes", "xes")
    if name.endswith(ends):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") and len(name) > 1 else f"{name}_layer"


def _counted(name: str, target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
    counted = ast.Call(ast.Name("enumerate", ast.Load()), [over], [])
    return ast.Tuple([ast.Name(name, ast.Store()), target], ast.Store()), counted


def _for(target: ast.expr, over: ast.expr, body: Sequence[ast.stmt]) -> ast.For:
    return ast.For(target, over, [*body], [])


def _if(tests: Sequence[ast.expr], body: Sequence[ast.stmt]) -> ast.stmt:
    return ast.If(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), [*tests]), [*body], [])


def _surely_run(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """What every turn of a loop with this body evaluates, whatever there is to decide."""
    waiting: list[ast.AST] = list(body)
    if any(isinstance(one, ast.Return) for part in body for one in walked(part)):
        return
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case ast.If(test=first) | ast.While(test=first) | ast.IfExp(test=first) | ast.For(iter=first):
                waiting.append(first)
            case ast.BoolOp(values=[first, *_]):
                waiting.append(first)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                waiting.append(node.generators[0].iter)
            case ast.Lambda() | ast.Try() | ast.Match() | ast.FunctionDef() | ast.ClassDef():
                pass
            case _:
                waiting += ast.iter_child_nodes(node)


# An element counted from the end.


def _from_the_end(view: View, draft: Draft, statement: ast.stmt) -> str:
    """`self.layers[len(self.layers) - 1]` as `self.layers[-1]`."""
    loops, done = _Loops(view, draft), False
    for one in _own_expressions(statement):
        match one:
            case ast.Subscript(value=owner, slice=index, ctx=ast.Load()) if loops.is_list(owner):
                least = None if isinstance(index, ast.Constant) else loops.least(index, owner)
                if least and (least == 1 or (loops.length(owner) or 0) >= least):
                    draft.swap(index, ast.UnaryOp(ast.USub(), ast.Constant(least)))
                    done = True
    return "count from the end of the list of modules" if done else ""


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Of the statement, not of those in its blocks."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)]


# Comprehensions.


def _comprehension(view: View, draft: Draft, statement: ast.stmt) -> str:
    """The one list comprehension of a statement, where it goes over modules as TorchScript does not, has a test, or
    goes over several things at once: a loop above the statement."""
    made = [one for one in walked(statement) if isinstance(one, ast.ListComp)]
    plain = isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)
    if len(made) != 1 or not plain or not _is_always_made(draft, made[0], statement):
        return ""
    whole, loops = made[0], _Loops(view, draft)
    bound = {name for one in whole.generators for name in _names(one.target)}
    elsewhere = view.flow.live_after(statement) | (_names(statement) - _names(whole))
    if bound & elsewhere or any(one.is_async for one in whole.generators):
        return ""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is whole and name not in _names(whole):
            pass
        case _:
            name = loops.free("made", "results")
    body: list[ast.stmt] = statements("NAME.append(ELEMENT)", NAME=name, ELEMENT=whole.elt)
    is_needed = len(whole.generators) > 1 or any(one.ifs for one in whole.generators)
    for one in reversed(whole.generators):
        body = [_if(one.ifs, body)] if one.ifs else body
        written = loops.over(one.target, one.iter, body)
        is_needed = is_needed or written is not None
        body = written or [_for(one.target, one.iter, body)]
    if not is_needed:
        return ""
    above = [*statements("NAME = []", NAME=name), *body]
    if isinstance(statement, ast.Assign) and statement.value is whole and _names(*statement.targets) == {name}:
        draft.replace(statement, above)
    else:
        draft.swap(whole, ast.Name(name, ast.Load()))
        draft.above(statement, above)
    return _APPENDS


def _is_always_made(draft: Draft, node: ast.expr, statement: ast.stmt) -> bool:
    """Does the statement make it whatever else there is, once?"""
    above = draft.parent(node)
    while above is not None and above is not statement:
        if isinstance(above, ast.IfExp | ast.BoolOp | ast.Lambda | ast.comprehension | ast.GeneratorExp | ast.DictComp):
            return False
        above = draft.parent(above)
    return True


# Types.


def _declared(view: View, draft: Draft, statement: ast.stmt) -> str:
    """`h = None`, of a name that the statement sets to a tensor, as `h: Optional[torch.Tensor] = None`."""
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = {one.id for target in targets for one in walked(target) if isinstance(one, ast.Name)}
    for one in walked(view.node):
        match one:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Constant(value=None) as none) if (
                name in names and one is not statement
            ):
                kind = expression(f"{_optional(view, draft)}[torch.Tensor]")
                draft.replace(one, [ast.AnnAssign(target, kind, none, 1)])
                return f"say what `{name}` becomes where it is None"
    return ""


def _optional(view: View, draft: Draft) -> str:
    if view.module.dotted(ast.Name("Optional", ast.Load())) == "typing.Optional":
        return "Optional"
    draft.add_import("typing")
    return "typing.Optional"


def _annotated(view: View, draft: Draft, statement: ast.stmt) -> str:
    """The parameters of what the statement calls, where they are given numbers of Python: TorchScript takes what is not
    annotated for a tensor."""
    words: list[str] = []
    for call in [one for one in walked(statement) if isinstance(one, ast.Call)]:
        function = _called(view, call.func)
        if function is None or (kinds := _kinds(view, function, call)) == {}:
            continue
        arguments = function.args
        fields = {
            name: [ast.arg(one.arg, kinds[one.arg]) if one.arg in kinds else one for one in getattr(arguments, name)]
            for name in ("posonlyargs", "args", "kwonlyargs")
        }
        draft.replace(function, [changed_copy(function, args=changed_copy(arguments, **fields))])
        words += [f"`{name}: {ast.unparse(kind)}`" for name, kind in kinds.items()]
    return f"annotate {', '.join(words)}" if words else ""


def _called(view: View, function: ast.expr) -> ast.FunctionDef | None:
    """A method of the same class, or a function of the file."""
    match function:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if view.cls is not None:
            found = view.cls.methods.get(name)
        case ast.Name(id=name):
            found = view.module.functions.get(name)
        case _:
            return None
    return found.node if found is not None and isinstance(found.node, ast.FunctionDef) else None


def _kinds(view: View, function: ast.FunctionDef, call: ast.Call) -> Mapping[str, ast.expr]:
    """Parameter -> type, of those that have none and are given a number or text."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    behind = parameters[1:] if isinstance(call.func, ast.Attribute) else parameters
    given = dict(zip((one.arg for one in behind), call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    untyped = {one.arg for one in (*parameters, *function.args.kwonlyargs) if one.annotation is None}
    found = {name: _kind(view, value) for name, value in given.items() if name in untyped}
    return {name: ast.Name(kind, ast.Load()) for name, kind in found.items() if kind}


def _kind(view: View, node: ast.expr) -> str:
    """ "" for what may be a tensor."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return type(value).__name__
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _kind(view, operand)
    return "int" if view.value(node).kind is Kind.SIZE else ""


def _refined(view: View, draft: Draft, statement: ast.stmt) -> str:
    """`if self.bias is not None:` as `bias = self.bias` and `if bias is not None:`, and likewise `isinstance`, of what
    the statement reads: what TorchScript learns of a name by a test it does not learn of an attribute or an element."""
    read = {ast.unparse(one) for one in walked(statement) if isinstance(one, ast.Attribute | ast.Subscript)}
    words: list[str] = []
    for test, region in _tests_of(view.node):
        for place in {text: one for one in _asked_of(test) if (text := ast.unparse(one)) in read}.values():
            name = _named_as(view, draft, place)
            if _refines(draft, test, region, place, name):
                words.append(f"`{name}`")
    return f"test what is read once, as {' and '.join(words)}: TorchScript follows names alone" if words else ""


def _tests_of(function: ast.AST) -> Iterator[tuple[ast.If | ast.Assert, list[ast.stmt]]]:
    """Each with the statements that run only where it holds."""
    for node in walked(function):
        blocks = (getattr(node, name, None) for name in ("body", "orelse"))
        for block in (one for one in blocks if isinstance(one, list)):
            for place, one in enumerate(block):
                if isinstance(one, ast.If):
                    yield one, one.body
                elif isinstance(one, ast.Assert):
                    yield one, block[place + 1 :]


def _asked_of(statement: ast.If | ast.Assert) -> Iterator[ast.expr]:
    """What is no name, and is tested for None or a class."""
    for one in walked(statement.test):
        match one:
            case ast.Compare(left=ast.Attribute() | ast.Subscript() as place, ops=[ast.IsNot()]):
                yield place
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Attribute() | ast.Subscript() as place, _]):
                yield place


def _named_as(view: View, draft: Draft, place: ast.expr) -> str:
    match place:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))) if name.isidentifier():
            wanted = name
        case _:
            wanted = "element"
    taken = _names(view.node) | {one.arg for one in walked(view.node) if isinstance(one, ast.arg)}
    return wanted if wanted not in taken else draft.free_name(wanted, taken)


def _refines(draft: Draft, test: ast.If | ast.Assert, region: Sequence[ast.stmt], place: ast.expr, name: str) -> bool:
    """Read it once above the test. Where it is set, that may only be the last that is done with it."""
    text = ast.unparse(place)
    uses = [
        one
        for part in (test.test, *region)
        for one in walked(part)
        if isinstance(one, ast.Attribute | ast.Subscript) and ast.unparse(one) == text
    ]
    stores = [one for one in uses if isinstance(one.ctx, ast.Store | ast.Del)]
    base = text.partition(".")[0].partition("[")[0]
    if len(stores) > 1 or base in {one.id for one in map(_base, region) if one is not None}:
        return False
    for store in stores:
        changed = draft.parent(store)
        if not isinstance(changed, ast.AugAssign) or changed is not region[-1]:
            return False
        value = ast.BinOp(ast.Name(name, ast.Load()), changed.op, changed.value)
        draft.replace(changed, [ast.Assign([changed.target], value)])
    for one in uses:
        if one not in stores:
            draft.swap(one, ast.Name(name, ast.Load()))
    draft.above(test, statements("NAME = PLACE", NAME=name, PLACE=changed_copy(place)))
    return True


def _base(statement: ast.stmt) -> ast.Name | None:
    """The name that a statement sets as a whole."""
    match statement:
        case ast.Assign(targets=[ast.Name() as name]) | ast.AugAssign(target=ast.Name() as name):
            return name
    return None


# Sizes, which are tensors while torch.jit.trace runs.


def _out_of_place(view: View, draft: Draft, statement: ast.stmt) -> str:
    if not isinstance(statement, ast.AugAssign) or path_of(statement.target) is None:
        return ""
    if view.nature(statement.target) is not Nature.SIZE:
        return ""
    changed = ast.BinOp(as_value(statement.target), statement.op, statement.value)
    draft.replace(statement, [ast.Assign([statement.target], changed)])
    return "make a new number, since a size is a tensor while torch.jit.trace runs"

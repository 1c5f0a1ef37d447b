"""Operators of the file for what no operator of torch does: to read the world, to make a number of a tensor's text, to
draw from a seed.

What forward asks the environment, a file or a clock, Python asks once, while torch traces, and the number that it finds
is a literal of the program from then on. An operator asks in each call. It gives tensors, so what is read has to end in
one number; `.item()` makes it the number of Python again that the code goes on with.

A number that Python makes of a tensor's values, of its text say, is made by an operator likewise, which sees them. A
tensor that each call draws anew from the same seed is drawn by one, too: the program would draw it from torch's global
generator. That operator gets what says how large the tensor is; its fake kernel is an empty one of that size.

The least that ends in a number moves: an expression; the lines from the reading to the one that sets a number; the body
of the function that reads, where that returns one. Names of the function and attributes of self become arguments.
"""

from __future__ import annotations

import ast
import enum
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from exportlint.engine.flow.def_use import changed, path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import Copying, changed_copy, statements
from exportlint.rewrite.file_operator import OF_FILE, put_operator
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_Part = TypeVar("_Part", bound=ast.AST)
_DTYPES = {"float": "torch.float64", "int": "torch.int64", "bool": "torch.bool"}
_OF_FUNCTION = {
    "float": "builtins.float time.time time.perf_counter time.monotonic time.process_time time.thread_time"
    " timeit.default_timer os.path.getmtime os.path.getatime os.path.getctime time.mktime",
    "int": "builtins.int builtins.len builtins.ord time.time_ns time.perf_counter_ns time.monotonic_ns"
    " time.process_time_ns os.path.getsize os.getpid os.getppid",
    "bool": "builtins.bool builtins.isinstance builtins.any builtins.all os.path.exists os.path.isfile os.path.isdir",
}
_OF_METHOD = {
    "float": "timestamp total_seconds",
    "int": "weekday isoweekday toordinal count find index",
    "bool": "startswith endswith isdigit isnumeric isalpha exists is_file is_dir",
}
_OF_ATTRIBUTE = {
    "int": "hour minute second microsecond day month year days seconds microseconds st_size tm_year tm_mon tm_mday"
    " tm_hour tm_min tm_sec tm_wday tm_yday",
    "float": "st_mtime st_atime st_ctime",
}
_BY_FUNCTION, _BY_METHOD, _BY_ATTRIBUTE = (
    {name: kind for kind, names in table.items() for name in names.split()}
    for table in (_OF_FUNCTION, _OF_METHOD, _OF_ATTRIBUTE)
)
_DRAWS = frozenset({"torch.rand", "torch.randn", "torch.randint", "torch.randperm"})
# Of a tensor, what an operator is given alone: the tensor itself would ask it for a gradient.
_OF_TENSOR = {"shape": "typing.Sequence[int]", "dtype": "torch.dtype", "device": "torch.device"}
_SEEDS = frozenset({"torch.manual_seed", "torch.random.manual_seed"})
_DRAWLESS = frozenset({"builtins.int", "builtins.float", "builtins.len", "builtins.tuple", "builtins.list"})
_MAY_DRAW = re.compile(r"rand|seed|dropout|bernoulli|multinomial|normal|poisson")
_PLAIN = re.compile(r"^(property|staticmethod|classmethod|(torch\.)?(no_grad|inference_mode)(\(\))?)$")
_LEAVES = (
    ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.AsyncWith,
    ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr, ast.Delete,
)  # fmt: skip


class _Purpose(enum.Enum):
    """What an operator is for: the first word of its name, and what is said of the rewrite."""

    READ = "read", "read it"
    MAKE = "number_of", "make the number"
    DRAW = "draw", "draw it"

    @property
    def verb(self) -> str:
        return self.value[0]

    @property
    def in_words(self) -> str:
        return f"{self.value[1]} with {OF_FILE}"


class ReadingOperator:
    """`x * float(os.environ.get("GAIN", "1"))`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view = site.view
        if view is None or not isinstance(site.node, ast.expr) or _is_wrapped(view):
            return
        for moved in (_expression, _lines, _body):
            try:
                yield moved(_Reading(site, view, site.draft(), _Purpose.READ), site.node)
            except CannotError:
                continue
            return


class NumberOperator:
    """`float(pattern.search(repr(x)).group())`: a number that Python makes of tensors, and that no operator of torch
    makes. It had no gradient, and an operator sees the values."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view = site.view
        if view is None or view.is_unseen or not isinstance(site.node, ast.expr) or _is_wrapped(view):
            return
        for moved in (_expression, _lines, _body, _at_caller):
            try:
                yield moved(_Reading(site, view, site.draft(), _Purpose.MAKE), site.node)
            except CannotError:
                continue
            return


class DrawingOperator:
    """`torch.rand(x.shape, generator=torch.Generator().manual_seed(self.seed))`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view = site.view
        if view is None or _is_wrapped(view):
            return
        draws = [one for one in walked(view.node) if isinstance(one, ast.Call)
                 and (view.origin(one.func) or "") in _DRAWS]  # fmt: skip
        for draw in draws:
            for moved in (_from_generator, _from_fork, _behind_seed):
                try:
                    yield moved(_Reading(site, view, site.draft(), _Purpose.DRAW), draw)
                except CannotError:
                    continue
                break


def _from_generator(reading: _Reading, draw: ast.Call) -> Proposal:
    """A draw from a generator that the function itself makes and seeds, and that draws nothing else."""
    given = next((one.value for one in draw.keywords if one.arg == "generator"), None)
    lines, made = list[ast.stmt](), given
    if isinstance(given, ast.Name):
        made = reading.view.only_value(given.id)
        uses = [one for one in walked(reading.view.node) if isinstance(one, ast.Name) and one.id == given.id]
        statements_of = {id(line): line for one in uses if one is not given
                         if (line := reading.draft.statement_of(one)) is not None}  # fmt: skip
        lines = list(statements_of.values())
        if len(uses) != len(lines) + 1:
            raise CannotError("the generator is used elsewhere")
    calls = [one for line in [*lines, made] if line is not None for one in walked(line) if isinstance(one, ast.Call)]
    seeds = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "manual_seed"]
    makers = [one for one in calls if reading.view.origin(one.func) == "torch.Generator"]
    if len({*seeds}) != 1 or len({*makers}) != 1 or made not in (seeds[0], makers[0]):
        raise CannotError("it draws from another generator")
    block, _ = reading.block_of(draw)
    plain = all(isinstance(one, ast.Assign | ast.Expr) and any(one is other for other in block) for one in lines)
    if not plain or (lines and len(lines) > 1 + (made is makers[0])):
        raise CannotError("the generator is made elsewhere")
    reading.drawn(draw, [*lines])
    for one in lines:
        reading.draft.move(one, [])
    return reading.proposal()


def _from_fork(reading: _Reading, draw: ast.Call) -> Proposal:
    """The one draw of a `with torch.random.fork_rng():` that seeds torch's generator first."""
    statement = reading.draft.statement_of(draw)
    around = reading.draft.parent(statement) if statement is not None else None
    match around:
        case ast.With(
            items=[ast.withitem(context_expr=ast.Call(func=fork))], body=[ast.Expr(value=ast.Call(func=seed)), last]
        ) if last is statement:
            pass
        case _:
            raise CannotError("it stands in no fork of the generator")
    origin = reading.view.origin
    if origin(fork) not in {"torch.random.fork_rng", "torch.fork_rng"} or origin(seed) not in _SEEDS:
        raise CannotError("it is not seeded")
    calls = [one for one in walked(last) if isinstance(one, ast.Call)]
    if [one for one in calls if origin(one.func) not in _DRAWLESS] != [draw]:
        raise CannotError("other calls may draw, too")
    reading.drawn(draw, [ast.copy_location(ast.With(around.items, [around.body[0]]), around)])
    reading.draft.replace(around, [last])
    return reading.proposal()


def _behind_seed(reading: _Reading, draw: ast.Call) -> Proposal:
    """The draw in the line right below one that seeds torch's generator: the operator seeds it as that did, so that
    what is drawn later follows as before."""
    block, place = reading.block_of(draw)
    origin = reading.view.origin
    match block[place - 1] if place else None:
        case ast.Expr(value=ast.Call(func=seed)) as above if origin(seed) in _SEEDS:
            pass
        case _:
            raise CannotError("nothing seeds it right above")
    calls = [one for one in walked(block[place]) if isinstance(one, ast.Call)]
    if [one for one in calls if origin(one.func) not in _DRAWLESS] != [draw]:
        raise CannotError("other calls may draw, too")
    reading.drawn(draw, [above], moves_generator=True)
    reading.draft.move(above, [])
    return reading.proposal()


def _is_wrapped(view: View) -> bool:
    """By what may keep the number of the trace for later calls, a cache say."""
    return not all(_PLAIN.search(ast.unparse(one)) for one in view.node.decorator_list)


def _expression(reading: _Reading, node: ast.expr) -> Proposal:
    """The widest expression around the reading that gives a number and needs no tensor."""
    best: tuple[ast.expr, str] | None = None
    now: ast.AST | None = node
    while isinstance(now, ast.expr) and not reading.needs_data(now):
        if kind := reading.number(now):
            best = now, kind
        now = reading.draft.parent(now)
        while isinstance(now, ast.keyword | ast.Starred | ast.comprehension):
            now = reading.draft.parent(now)
    if best is None:
        raise CannotError("what is read is no number")
    found, kind = best
    draft = reading.draft
    (moved,) = reading.inside([found])
    draft.swap(found, reading.called(ast.parse(f"return {ast.unparse(moved)}").body, kind))
    return reading.proposal()


def _lines(reading: _Reading, node: ast.expr) -> Proposal:
    """From the statement that reads to the one that sets the number."""
    draft = reading.draft
    block, place = reading.block_of(node)
    for end in range(place + 1, len(block) + 1):
        lines = block[place:end]
        if any(map(reading.needs_data, lines[-1:])) or any(isinstance(one, (*_LEAVES, ast.Return)) for line in lines
                                                           for one in walked(line)):  # fmt: skip
            break
        read = reading.read_outside(lines)
        kind = reading.number_of_name(next(iter(read)), lines) if len(read) == 1 else None
        if kind is None:
            continue
        (name,) = read
        read_here = reading.called([*reading.inside(lines), *ast.parse(f"return {name}").body], kind)
        draft.move(lines[0], [ast.Assign([ast.Name(name, ast.Store())], read_here, lineno=0)])
        for one in lines[1:]:
            draft.move(one, [])
        return reading.proposal()
    raise CannotError("what is read does not end in a number")


def _body(reading: _Reading, _node: ast.expr) -> Proposal:
    """All of a function that reads, and that its callers ask for a number."""
    function = reading.view.node
    lines = _lines_of(function)
    nodes = [one for line in lines for one in walked(line)]
    returned = [one.value for one in nodes if isinstance(one, ast.Return)]
    if function.name == "forward" or any(map(reading.needs_data, lines)) or any(isinstance(n, _LEAVES) for n in nodes):
        raise CannotError("it does more than to read")
    if not returned or not isinstance(lines[-1], ast.Return | ast.Try | ast.With | ast.If):
        raise CannotError("it gives nothing")
    kinds = {_annotated(function.returns) or (reading.number(one) if one is not None else None) for one in returned}
    kind = kinds.pop() if len(kinds) == 1 else None
    if any(one is None or isinstance(one, ast.Tuple | ast.List | ast.Dict | ast.JoinedStr) for one in returned):
        raise CannotError("it gives no number")
    # Of what a file holds nothing is known; a text that is returned fails where it is tried. What may be None does not.
    if kind is None and not all(isinstance(one, ast.Subscript) for one in returned):
        raise CannotError("it may give none")
    reading.draft.move(lines[0], [ast.Return(reading.called(reading.inside(lines), kind or "float"))])
    for one in lines[1:]:
        reading.draft.move(one, [])
    return reading.proposal()


def _at_caller(reading: _Reading, _node: ast.expr) -> Proposal:
    """A text, say, that a function of one line returns, and the one place that calls it makes a number of."""
    function, cls = reading.view.node, reading.view.cls
    match _lines_of(function):
        case [ast.Return(value=ast.expr() as returned)]:
            pass
        case _:
            raise CannotError("it does more than to return it")
    calls = [
        (view, one) for view in reading.site.views() for one in walked(view.node) if isinstance(one, ast.Call)
        and path_of(one.func) == (f"self.{function.name}" if cls is not None else function.name)
        and (cls is None or (view.cls is not None and view.cls.name == cls.name))
    ]  # fmt: skip
    names = [one.arg for one in function.args.args][cls is not None :]
    if len(calls) != 1:
        raise CannotError("it is called elsewhere, too")
    ((view, call),) = calls
    if len(call.args) != len(names) or call.keywords or any(isinstance(one, ast.Starred) for one in call.args):
        raise CannotError("nothing says what it is given")
    inlined = call, returned, dict(zip(names, call.args, strict=True))
    return _expression(_Reading(reading.site, view, reading.site.draft(), reading.purpose, inlined=inlined), call)


@dataclass
class _Reading:
    """What moves into an operator, and what the operator is given.

    arguments   by the operator's name for it: the type, and what the function gives
    inlined     a call, what the function that is called returns, and what it is given by the names of its parameters
    """

    site: Site
    view: View
    draft: Draft
    purpose: _Purpose
    arguments: dict[str, tuple[str, ast.expr]] = field(default_factory=dict)
    inlined: tuple[ast.Call, ast.expr, dict[str, ast.expr]] | None = None

    # What can move.

    def needs_data(self, part: ast.AST) -> bool:
        """Is a tensor in it, or a call of something that may change with the model?"""
        takes_data = self.purpose is _Purpose.MAKE
        if not takes_data and self.view.holds_data(part):
            return True
        if takes_data and set(changed(part)) - _stored([part]):
            return True  # a tensor of the model's
        for one in walked(part):
            match one:
                case ast.Call() if self.inlined is not None and one is self.inlined[0]:
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))) | ast.Call(func=ast.Name(id="super")):
                    return True
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    return True
                case ast.Call(func=function) if (name := self.view.origin(function) or "").startswith("random."):
                    return True
                case ast.Call(func=function) if name.startswith("torch.") and (
                    not takes_data or _MAY_DRAW.search(name)
                ):
                    return True
        return False

    def block_of(self, node: ast.expr) -> tuple[list[ast.stmt], int]:
        """The statements among which the one of the expression stands, and its place there. Of a `with` its own."""
        statement = self.draft.statement_of(node)
        parent = self.draft.parent(statement) if statement is not None else None
        for _, block in ast.iter_fields(parent) if parent is not None else ():
            if isinstance(block, list) and any(one is statement for one in block):
                return block, next(n for n, one in enumerate(block) if one is statement)
        raise CannotError("it stands in no block")

    def read_outside(self, lines: Sequence[ast.stmt]) -> set[str]:
        """The names that the lines set and others read."""
        inside = {id(one) for line in lines for one in walked(line)}
        outside = {one.id for one in walked(self.view.node) if isinstance(one, ast.Name) and id(one) not in inside}
        return _stored(lines) & outside

    # What is a number.

    def number(self, node: ast.expr, among: Sequence[ast.stmt] = ()) -> str | None:
        """The type of the number of Python that the expression gives; None where it may be something else."""
        value = self.view.value(node)
        if value.certain and not value.maybe_none and value.kind is Kind.SCALAR and value.container in _DTYPES:
            return value.container
        match node:
            case ast.Constant(value=bool() | int() | float() as constant):
                return type(constant).__name__
            case ast.Compare(left=left, comparators=others):
                return None if any(map(self._may_be_tensor, (left, *others))) else "bool"
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.UnaryOp(operand=operand):
                return "int" if self.number(operand, among) == "bool" else self.number(operand, among)
            case ast.BinOp(left=left, op=op, right=right):
                return _arithmetic(op, self.number(left, among), self.number(right, among))
            case ast.BoolOp(values=values) | ast.Call(func=ast.Name(id="min" | "max"), args=values) if len(values) > 1:
                return _one_of({self.number(one, among) for one in values})
            case ast.IfExp(body=body, orelse=other):
                return _one_of({self.number(body, among), self.number(other, among)})
            case ast.Call(func=ast.Name(id="abs"), args=[given]):
                return self.number(given, among)
            case ast.Call(func=ast.Name(id="round"), args=[given, *more]):
                return "float" if more else "int"
            case ast.Call(func=function):
                if kind := _BY_FUNCTION.get(self.view.origin(function) or ""):
                    return kind
                return _BY_METHOD.get(function.attr) if isinstance(function, ast.Attribute) else None
            case ast.Name(id=name):
                return self.number_of_name(name, among)
            case ast.Attribute(attr=name) if not path_of(node):
                return _BY_ATTRIBUTE.get(name)
            case ast.Attribute(value=ast.Name(id="self")):
                literal = self.view.literal(node)
                return self.number(literal) if literal is not None and literal is not node else None
        return None

    def _may_be_tensor(self, node: ast.expr) -> bool:
        """Is nothing known that says that it is none?"""
        if self.number(node) or isinstance(node, ast.Constant | ast.JoinedStr | ast.Tuple | ast.List | ast.Set):
            return False
        value = self.view.value(node)
        return value.is_tensor or self.view.is_data(node)

    def size(self, node: ast.expr) -> str | None:
        """The type of what says how large a tensor is, or of which dtype, or where; None where it is something else."""
        value = self.view.value(node)
        match node:
            case ast.Attribute(value=owner, attr=name) if name in _OF_TENSOR and self.view.is_data(owner):
                return _OF_TENSOR[name]
        if value.certain and value.kind in {Kind.SIZE, Kind.SHAPE}:
            return "int" if value.kind is Kind.SIZE else _OF_TENSOR["shape"]
        return None

    def number_of_name(self, name: str, among: Sequence[ast.stmt]) -> str | None:
        """Of what is set once in the function, or in each of the lines to numbers of one type."""
        values = [one.value for line in among or self.view.body for one in walked(line)
                  if isinstance(one, ast.Assign) and name in {path_of(target) for target in one.targets}]  # fmt: skip
        set_here = [one for line in among or self.view.body for one in walked(line)
                    if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)]  # fmt: skip
        if not values or len(values) != len(set_here) or any(_reads(value, name) for value in values):
            return None
        return _one_of({self.number(one, among) for one in values})

    # What the operator is given.

    def inside(self, nodes: Sequence[_Part]) -> list[_Part]:
        """The same as the operator has it, with its arguments in the place of what the function has."""
        arguments = _Arguments(self, _stored(nodes))
        return [cast("_Part", arguments.visit(one)) for one in nodes]

    def is_local(self, name: str) -> bool:
        stored = {one.id for one in walked(self.view.node) if isinstance(one, ast.Name)
                  and not isinstance(one.ctx, ast.Load)}  # fmt: skip
        return name in {*stored, *self.view.flow.parameters}

    def given(self, node: ast.expr, wanted: str) -> ast.expr:
        """The name of the argument that the operator is given it as."""
        value = self.view.value(node)
        kind = self.number(node) or self.size(node)
        if self.purpose is _Purpose.MAKE and value.certain and value.is_tensor and not value.maybe_none:
            kind = "torch.Tensor"
        if kind is None and value.certain and value.kind is Kind.SCALAR and value.container == "str":
            kind = "str"
        if kind is None and isinstance(self.view.literal(node), ast.Constant):
            kind = type(getattr(self.view.literal(node), "value", None)).__name__
        if kind not in {"str", "torch.Tensor", *_DTYPES, *_OF_TENSOR.values()}:
            raise CannotError("an operator cannot be given it")
        text = ast.unparse(node)
        name, number = wanted, 2
        while name in self.arguments and ast.unparse(self.arguments[name][1]) != text:
            name, number = f"{wanted}_{number}", number + 1
        self.arguments[name] = kind, ast.parse(text, mode="eval").body
        return ast.Name(name, ast.Load())

    def drawn(self, draw: ast.Call, lines: Sequence[ast.stmt], *, moves_generator: bool = False) -> None:
        """Puts an operator in the place of the draw; `lines` come before, or hold it as their last. `moves_generator`:
        torch's own generator goes on from there, so that every call of the operator counts."""
        name = (self.view.origin(draw.func) or "").rpartition(".")[2]
        if any(isinstance(one, ast.Starred) for one in draw.args) or any(word.arg is None for word in draw.keywords):
            raise CannotError("nothing says what it is given")
        sizes = draw.args[-1:] if name == "randint" else draw.args
        words = [one for one in draw.keywords if one.arg in {"size", "dtype", "device", "out"}]
        if any(one.arg == "out" for one in words):
            raise CannotError("it is drawn into another tensor")
        if not any(one.arg == "dtype" for one in words) and name in {"randint", "randperm"}:
            words.append(ast.keyword("dtype", ast.parse("torch.int64", mode="eval").body))
        *before, moved = self.inside([*lines, draw])
        fake = ast.Call(ast.parse("torch.empty", mode="eval").body, sizes, words)
        (made,) = self.inside([fake])
        result = statements(f"return {ast.unparse(ast.fix_missing_locations(moved))}")
        match before:
            case [ast.With(body=body) as fork]:
                lines = [changed_copy(fork, body=[*body, *result])]
            case _:
                lines = [*(one for one in before if isinstance(one, ast.stmt)), *result]
        fake_text = ast.unparse(ast.fix_missing_locations(made))
        self.draft.swap(draw, self._operator(lines, fake_text, varies=moves_generator))

    # What is written.

    def called(self, body: Sequence[ast.stmt], number: str) -> ast.expr:
        """Puts an operator above the class whose lines return a number of this type; a call that reads it."""
        returning = _Returning(_DTYPES[number])
        lines = [cast("ast.stmt", returning.visit(one)) for one in body]
        varies = self.purpose is _Purpose.READ
        call = self._operator(lines, f"torch.empty((), dtype={_DTYPES[number]})", varies=varies)
        return ast.Call(ast.Attribute(call, "item", ast.Load()), [], [])

    def _operator(self, body: Sequence[ast.stmt], fake: str, *, varies: bool) -> ast.expr:
        typed = {name: type_ for name, (type_, _) in self.arguments.items()}
        name = put_operator(self.draft, self.view, self.purpose.verb, typed, body, fake, varies=varies)
        return ast.Call(ast.Name(name, ast.Load()), [value for _, value in self.arguments.values()], [])

    def proposal(self) -> Proposal:
        return Proposal(self.purpose.in_words, self.draft, needs_python=True)


class _Arguments(Copying):
    def __init__(self, reading: _Reading, stored: set[str]) -> None:
        self._reading = reading
        self._stored = stored

    def other(self, node: ast.AST) -> ast.AST | None:
        inlined = self._reading.inlined
        match node:
            case ast.Call() if inlined is not None and node is inlined[0]:
                given = {name: cast("ast.expr", self.visit(one)) for name, one in inlined[2].items()}
                return _Filled(given).visit(inlined[1])
            case ast.Name(id=name, ctx=ast.Load()) if self._reading.is_local(name) and name not in self._stored:
                if name == "self":
                    raise CannotError("the object itself is read")
                return self._reading.given(node, name)
            case ast.Attribute() | ast.Call() | ast.Subscript() | ast.BinOp() if self._reading.size(node):
                wanted = node.attr if isinstance(node, ast.Attribute) else "size"
                return self._reading.given(node, wanted)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                return self._reading.given(node, name.strip("_") or "value")
        return None


class _Filled(Copying):
    """What a function returns, with what it is given in the place of its parameters."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def other(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name == "self":
                    raise CannotError("the object itself is read")
                return self._given.get(name)
        return None


class _Returning(Copying):
    """What is returned is returned as a tensor."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def other(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Return(value=ast.expr() as value):
                return statements(f"return torch.tensor(VALUE, dtype={self._dtype})", VALUE=value)[0]
        return None


def _stored(lines: Sequence[ast.AST]) -> set[str]:
    return {one.id for line in lines for one in walked(line)
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}  # fmt: skip


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in walked(node))


def _arithmetic(op: ast.operator, left: str | None, right: str | None) -> str | None:
    if left is None or right is None or isinstance(op, ast.Pow | ast.MatMult):
        return None
    if isinstance(op, ast.Div) or "float" in {left, right}:
        return "float"
    return "int"


def _one_of(kinds: set[str | None]) -> str | None:
    return kinds.pop() if len(kinds) == 1 else None


def _annotated(node: ast.expr | None) -> str | None:
    return node.id if isinstance(node, ast.Name) and node.id in _DTYPES else None


def _lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """Without what only says what it does."""
    return function.body[ast.get_docstring(function, clean=False) is not None :]

"""One API for another, as data: what the rows of `templates.toml` say, found in a file and put in its place.

A row holds a pattern `before`, in Python, and what is written for it, `after`. In both, a name in capitals stands for
any expression (`X`), `*ARGS` and `**WORDS` for the arguments that are left, and `BODY` alone in a block for its
statements. `INPUT`, in `after`, is the first parameter of the function that is a tensor. A dotted name that begins
with a module (`torch.cond`, `numpy.sqrt`) means what the file's imports make of a name, whatever it is called there.
An argument that the pattern gives by name may stand at its place instead, and one whose variable the row lists as
`optional` may be left out: what in `after` speaks of it is left out, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, count
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.finding import Applicability
from exportlint.rewrite.draft import as_target, changed_copy, stands_for
from exportlint.rewrite.place import Place, around
from exportlint.rewrite.transformation import Proposal
from exportlint.rewrite.view import Nature

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_MODULES = frozenset({"torch", "numpy", "math", "functorch", "torchao", "scipy", "cmath", "functools",
    "concurrent", "multiprocessing", "threading",
})  # fmt: skip
_INPUT = "INPUT"
_MOST = 4
_TOGETHER = frozenset({"numpy", "tasks"})
Part: TypeAlias = "ast.expr | list[ast.expr] | list[ast.keyword] | list[ast.stmt]"
Bound: TypeAlias = "dict[str, Part]"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    before     the pattern: an expression, one statement, or a decorator with its `@`
    after      what is written for it; nothing: it goes
    say        what that is, as an order ("read it with `.detach()`")
    where      conditions on the variables, as "X data" (see `_CONDITIONS`), and on the place ("alone")
    above      statements for the line above; names that they set are made free ones
    part       the variable that alone is replaced by `after`, the rest of the pattern stays as it is written
    optional   variables of arguments that may be left out
    by_place   arguments that the pattern names may stand at their place, too
    needs      modules to import besides torch
    group      rows of one group are tried on the whole function together
    of_class   rows of the group are looked for in the whole class at once
    torch      the versions of torch that have what `after` says, as `>=2.6`; a test measures them
    measure    how to make values of the variables, for rows that a test can measure
    """

    before: str
    after: str
    say: str
    where: tuple[str, ...] = ()
    above: str = ""
    part: str = ""
    optional: tuple[str, ...] = ()
    by_place: bool = True
    needs: tuple[str, ...] = ()
    group: str = ""
    of_class: bool = False
    torch: str = ""
    safe: bool = False
    measure: str = ""

    @cached_property
    def pattern(self) -> ast.AST:
        if self.before.startswith("@"):
            return ast.parse(self.before[1:], mode="eval").body
        (statement,) = ast.parse(self.before).body
        return statement.value if isinstance(statement, ast.Expr) else statement

    @property
    def is_decorator(self) -> bool:
        return self.before.startswith("@")

    @property
    def key(self) -> str:
        """A word that is in whatever the pattern matches."""
        return _key(self.pattern.items[0].context_expr if isinstance(self.pattern, ast.With) else self.pattern)


@cache
def rows() -> Sequence[Row]:
    """The table. A row with several patterns, or a list of `names`, stands for a row of each."""
    found = []
    for entry in tomllib.loads((Path(__file__).parent / "templates.toml").read_text("utf-8"))["row"]:
        befores = entry.pop("before")
        names = entry.pop("names", [""])
        for before in [befores] if isinstance(befores, str) else befores:
            for name in names:
                old, _, new = name.partition("=")
                texts = {
                    key: value.replace("<NAME>", new or old) for key, value in entry.items() if isinstance(value, str)
                }
                lists = {
                    key: tuple(one.replace("<NAME>", new or old) for one in value)
                    for key, value in entry.items()
                    if isinstance(value, list)
                }
                found.append(Row(**{**entry, **lists, **texts, "before": before.replace("<NAME>", old)}))
    return tuple(found)


@cache
def _rows_by_key() -> dict[str, list[tuple[int, Row]]]:
    found = defaultdict(list)
    for number, row in enumerate(rows()):
        found[row.key].append((number, row))
    return found


def _key(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name)) if _VARIABLE.fullmatch(name):
            return "Call"
        case ast.Call(func=func):
            return _key(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name if not _VARIABLE.fullmatch(name) else type(node).__name__
        case ast.Assign(targets=[ast.Attribute() as target]) | ast.AugAssign(target=target):
            return f"={_key(target)}"
    return type(node).__name__


# -- Matching ----------------------------------------------------------------------------------------------------------


class _Matcher:
    """Does a pattern fit a node, and what do its variables stand for then?"""

    def __init__(self, place: Place, row: Row) -> None:
        self.place = place
        self.row = row
        self.bound: Bound = {}
        self.names: dict[str, ast.expr] = {}  # by their origin, as the author wrote them

    def fits(self, pattern: Any, node: Any) -> bool:
        match pattern:
            case ast.Name(id=name) if _VARIABLE.fullmatch(name):
                return isinstance(node, ast.expr) and self._binds(name, node)
            case ast.Name() | ast.Attribute() if (dotted := path_of(pattern)) is not None and self._is_known(dotted):
                return isinstance(node, ast.Name | ast.Attribute) and self._is_named(dotted, node)
            case ast.Attribute(value=owner, attr=attribute):
                return isinstance(node, ast.Attribute) and attribute == node.attr and self.fits(owner, node.value)
            case ast.Call():
                return isinstance(node, ast.Call) and self.fits(pattern.func, node.func) and self._given(pattern, node)
            case ast.With(items=[item], body=[ast.Expr(value=ast.Name(id=name))]):
                if not isinstance(node, ast.With) or len(node.items) != 1:
                    return False
                self.bound[name] = node.body
                return self.fits(item.context_expr, node.items[0].context_expr) and (
                    node.items[0].optional_vars is None or self.fits(item.optional_vars, node.items[0].optional_vars)
                )
            case ast.AST():
                return type(pattern) is type(node) and all(
                    self.fits(value, getattr(node, name))
                    for name, value in ast.iter_fields(pattern)
                    if name not in {"ctx", "type_comment", "kind"}
                )
            case list():
                return len(pattern) == len(node) and all(map(self.fits, pattern, node))
        return bool(pattern == node)

    def _is_known(self, dotted: str) -> bool:
        root = dotted.partition(".")[0]
        return root in _MODULES or "." not in dotted

    def _is_named(self, dotted: str, node: ast.expr) -> bool:
        self.names[dotted] = node
        return self.place.origin(node) in {dotted, f"builtins.{dotted}"}

    def _binds(self, name: str, node: ast.expr) -> bool:
        known = self.bound.setdefault(name, node)
        return known is node or (isinstance(known, ast.expr) and ast.dump(known) == ast.dump(node))

    def _given(self, pattern: ast.Call, node: ast.Call) -> bool:
        """Do the arguments fit, those with a name in any order?"""
        places, words = list(node.args), list(node.keywords)
        named = [one for one in pattern.keywords if one.arg is not None]
        for wanted in pattern.args:
            if isinstance(wanted, ast.Starred):
                self.bound[cast("ast.Name", wanted.value).id] = places
                places = []
            elif not places:
                return self._may_lack([wanted, *(one.value for one in named)]) and not words
            elif isinstance(places[0], ast.Starred) or not self.fits(wanted, places.pop(0)):
                return False
        for word in named:
            given = next((one for one in words if one.arg == word.arg), None)
            if given is not None:
                words.remove(given)
                value = given.value
            elif self.row.by_place and places and not isinstance(places[0], ast.Starred):
                value = places.pop(0)
            elif self._may_lack([word.value]):
                continue
            else:
                return False
            if not self.fits(word.value, value):
                return False
        rest = next((one.value for one in pattern.keywords if one.arg is None), None)
        if rest is not None:
            self.bound[cast("ast.Name", rest).id] = words
            words = []
        return not places and not words

    def _may_lack(self, wanted: Sequence[ast.expr]) -> bool:
        return all(isinstance(one, ast.Name) and one.id in self.row.optional for one in wanted)


@dataclass(frozen=True)
class _Match:
    row: Row
    node: ast.expr | ast.stmt
    bound: Bound
    names: dict[str, ast.expr]

    @property
    def kept(self) -> set[int]:
        """The nodes of the author's that may be in what is written."""
        nodes = [*self.names.values(), *(node for part in self.bound.values() for node in _nodes(part))]
        return {id(inner) for node in nodes for inner in walked(node)}


def _is_atom(place: Place, node: ast.expr) -> bool:
    del place
    return isinstance(node, ast.Name | ast.Attribute | ast.Constant)


def _nature(*natures: Nature) -> Callable[[Place, ast.expr], bool]:
    """In a script, whose values the engine does not know, nothing is."""
    return lambda place, node: place.view is not None and place.view.nature(node) in natures


def _is_array(place: Place, node: ast.expr) -> bool:
    """Data, a NumPy array of it included, or a list that holds some; an array that the function makes and fills."""
    made = place.value_of(node) if isinstance(node, ast.Name) else node
    is_new = isinstance(made, ast.Call) and (place.origin(made.func) or "") in {"numpy.zeros", "numpy.ones"}
    return place.view is not None and (place.view.holds_data(node) or is_new)


def _may_be_data(place: Place, node: ast.expr) -> bool:
    """Also what nobody knows, as what `getattr` gives."""
    view = place.view
    return view is not None and (view.is_data(node) or (view.value(node).kind is Kind.UNKNOWN and not _is_self(node)))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _is_device(place: Place, node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() as name):
            return re.fullmatch(r"(cpu|cuda|mps|xpu|meta)(:\d+)?", name) is not None
        case ast.Constant(value=int()):
            return True
        case ast.Call(func=func, args=[first, *_]) if place.origin(func) == "torch.device":
            return _is_device(place, first)
    return False


def _is_made_by(*names: str) -> Callable[[Place, ast.expr], bool]:
    """Is it, or was it set to, what one of these functions gives?"""

    def made(place: Place, node: ast.expr) -> bool:
        values = map(_unchained, place.values_of(node))
        return any(isinstance(one, ast.Call) and (place.origin(one.func) or "") in names for one in values)

    return made


def _unchained(node: ast.expr) -> ast.expr:
    """The model of `model.to("cpu")`, the program of `program.run_decompositions()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHAINED:
        node = node.func.value
    return node


def _is_module_of_program(place: Place, node: ast.expr) -> bool:
    for one in map(_unchained, place.values_of(node)):
        match one:
            case ast.Call(func=ast.Attribute(value=owner, attr="module")):
                return _is_made_by(*_PROGRAMS)(place, owner)
    return False


def _is_given(place: Place, node: ast.expr) -> bool:
    """Does it come from the inputs of the function, so that it is where these are?"""
    names = {one.id for one in walked(node) if isinstance(one, ast.Name)}
    return place.view is not None and bool(names - {"self"} & set(place.view.flow.names))


def _is_context(place: Place, node: ast.expr) -> bool:
    """The first parameter of the function."""
    arguments = getattr(place.node, "args", None)
    return isinstance(node, ast.Name) and arguments is not None and [a.arg for a in arguments.args[:1]] == [node.id]


def _is_one_tensor(place: Place, node: ast.expr) -> bool:
    """In a script: a tensor that a function of torch makes."""
    value = place.value_of(node)
    return isinstance(value, ast.Call) and (place.origin(value.func) or "") in _MAKING


def _is_layer(name: str, *, plain: bool = False) -> Callable[[Place, ast.expr], bool]:
    """Does `__init__` set the attribute to such a layer; `plain`: to one without any option?"""

    def made(place: Place, node: ast.expr) -> bool:
        cls = place.view.cls if place.view is not None else None
        return cls is not None and any(
            isinstance(one, ast.Assign)
            and path_of(one.targets[0]) == path_of(node)
            and isinstance(one.value, ast.Call)
            and place.site.module.dotted(one.value.func) == name
            and not (plain and (one.value.args or one.value.keywords))
            for one in walked(cls.node)
        )

    return made


def _is_module_of_torch(name: str) -> Callable[[Place, ast.expr], bool]:
    """Does the engine know it for such a layer, wherever that was made?"""
    return lambda place, node: place.view is not None and place.view.value(node).name == name


def _is_pool(place: Place, node: ast.expr) -> bool:
    """Something that runs functions elsewhere, by what the engine knows or what sets the name."""
    made = [
        *place.values_of(node),
        *(one.context_expr for one in walked(place.node) if isinstance(one, ast.withitem) and one.optional_vars
          and path_of(one.optional_vars) == path_of(node)),
    ]  # fmt: skip
    names = [place.origin(one.func) for one in made if isinstance(one, ast.Call)]
    names += [place.view.value(node).name] if place.view is not None else []
    return any(_TASKS.match(one or "") for one in names)


def _is_beside_tasks(place: Place) -> bool:
    calls = (one for one in walked(place.node) if isinstance(one, ast.Call))
    return any(_TASKS.match(place.origin(one.func) or "") or (
        isinstance(one.func, ast.Attribute) and _is_pool(place, one.func.value)) for one in calls)  # fmt: skip


def _is_pairs(place: Place, node: ast.expr) -> bool:
    """`zip(…)`, `parts.items()`, or a list of tuples."""
    match place.value_of(node):
        case ast.Call(func=ast.Attribute(attr="items")):
            return True
        case ast.Call(func=func):
            return place.origin(func) == "builtins.zip"
        case ast.List(elts=[ast.Tuple(), *_]) | ast.ListComp(elt=ast.Tuple()):
            return True
    return False


def _are_numbers(node: ast.expr, kind: type | UnionType) -> bool:
    """Is it a list, or a tuple, of numbers that are written there, or of lists of such?"""
    match node:
        case ast.List(elts=[_, *_] as entries) | ast.Tuple(elts=[_, *_] as entries):
            return all(isinstance(_number(one), kind) or _are_numbers(one, kind) for one in entries)
    return False


def _number(node: ast.expr) -> int | float | None:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
    return None


def _is_plain_distribution(place: Place, node: ast.expr) -> bool:
    """A class of the file that leaves its making to a distribution of torch."""
    cls = place.site.module.classes.get(node.id) if isinstance(node, ast.Name) else None
    return cls is not None and _is_distribution(cls) and cls.method("__init__") is None


def _is_distribution(cls: ClassInfo) -> bool:
    return any(one.startswith("torch.distributions.") for one in cls.foreign_bases)


_TASKS = re.compile(
    r"concurrent\.futures\.(thread\.)?\w+PoolExecutor|(torch\.)?multiprocessing\.(pool\.)?(Thread)?Pool"
    r"|threading\.Thread|torch\.jit\.(_async\.)?_?fork|torch\.futures\."
)
_MAKING = frozenset({
    "torch.randn", "torch.rand", "torch.zeros", "torch.ones", "torch.tensor", "torch.arange", "torch.full",
    "torch.randint", "torch.empty",
})  # fmt: skip
_GRADIENTS = frozenset({"grad", "grad_fn", "backward"})
_CHAINED = frozenset({"to", "cpu", "cuda", "run_decompositions"})
_PROGRAMS = ("torch.export.export", "torch.export.load", "torch.export.export_for_training")
_CONDITIONS: dict[str, Callable[[Place, ast.expr], bool]] = {
    "data": _nature(Nature.DATA),
    "tensor": lambda place, node: place.view is not None and place.view.value(node).is_tensor,
    "perhaps data": _may_be_data,
    "size": _nature(Nature.SIZE),
    "python": _nature(Nature.PYTHON, Nature.SIZE),
    "array": _is_array,
    "atom": _is_atom,
    "shape": lambda place, node: place.view is not None and place.view.value(node).kind is Kind.SHAPE,
    "device": _is_device,
    "given": _is_given,
    "program": _is_made_by(*_PROGRAMS),
    "program's module": _is_module_of_program,
    "unflattened": _is_made_by("torch.export.unflatten"),
    "the context": _is_context,
    "one tensor": _is_one_tensor,
    "list": lambda place, node: place.view is not None and place.view.value(node).container == "list",
    "dict": lambda place, node: place.view is not None and place.view.value(node).container == "dict",
    "tuple": lambda place, node: place.view is not None and place.view.value(node).container == "tuple",
    "set": lambda place, node: place.view is not None and place.view.value(node).container == "set",
    "module": lambda place, node: place.view is not None and place.view.value(node).kind is Kind.MODULE,
    "plain distribution": _is_plain_distribution,
    "adaptive softmax": _is_layer("torch.nn.AdaptiveLogSoftmaxWithLoss"),
    "plain gaussian loss": _is_layer("torch.nn.GaussianNLLLoss", plain=True),
    "transformer": _is_module_of_torch("torch.nn.Transformer"),
    "transformer encoder": _is_module_of_torch("torch.nn.TransformerEncoder"),
    "transformer decoder": _is_module_of_torch("torch.nn.TransformerDecoder"),
    "made here": lambda _, node: isinstance(node, ast.Call),
    "pairs": _is_pairs,
    "a pool": _is_pool,
    "numbers": lambda place, node: _are_numbers(place.value_of(node), int | float),
    "whole numbers": lambda place, node: _are_numbers(place.value_of(node), int),
    "a list": lambda _, node: isinstance(node, ast.List | ast.ListComp),
    "a text": lambda _, node: isinstance(node, ast.Constant) and isinstance(node.value, str),
    "a number": lambda _, node: isinstance(node, ast.Constant) and isinstance(node.value, int | float),
    "off": lambda _, node: isinstance(node, ast.Constant) and not node.value,
    "on": lambda _, node: isinstance(node, ast.Constant) and node.value is True,
    "absent": lambda _, __: False,
    # Of keywords that are left.
    "copying": lambda _, node: getattr(node, "arg", None) in {"non_blocking", "copy"},
    "without validate_args": lambda _, node: getattr(node, "arg", None) != "validate_args",
}


# By the condition: what stands right above the match, or does not. `type(x)` of `type(x).__name__` is no match.
_ABOVE: dict[str, tuple[type[ast.AST], bool]] = {
    "alone": (ast.Expr, True),
    "used": (ast.Expr, False),
    "unnamed": (ast.Attribute, False),
}


def _is_written(node: ast.AST, place: Place) -> bool:
    """Does a method write what the expression gives in place (`x.data.clamp_(0)`), or an index?"""
    above = place.draft.parent(node)
    match above:
        case ast.Attribute(attr=name):
            return name.endswith("_") and not name.startswith("_")
        case ast.Subscript(ctx=context):
            return isinstance(context, ast.Store)
    return False


def _holds(condition: str, match: _Match, place: Place) -> bool:
    """`X data`, `X not data`; of the place `alone`, `used`, `unnamed`, `written`, `read`, `method` and more; of a call
    `without NAME` that it is given no argument of that name."""
    if condition in _ABOVE:
        return isinstance(place.draft.parent(match.node), _ABOVE[condition][0]) == _ABOVE[condition][1]
    if condition in {"written", "read"}:
        return _is_written(match.node, place) == (condition == "written")
    if condition == "nobody differentiates":
        return not _differentiates(place)
    if condition == "in a distribution":
        return place.view is not None and place.view.cls is not None and _is_distribution(place.view.cls)
    if condition == "beside tasks":
        return _is_beside_tasks(place)
    if condition == "method":
        return place.view is not None and place.view.cls is not None
    if condition == "beside a saved program":
        calls = (one for one in walked(place.node) if isinstance(one, ast.Call) and one.args)
        saves = [one.args[0] for one in calls if place.origin(one.func) == "torch.save"]
        return any(_is_made_by(*_PROGRAMS)(place, one) or _is_module_of_program(place, one) for one in saves)
    name, _, kind = condition.partition(" ")
    if name == "without":
        return all(one.arg != kind for one in getattr(match.node, "keywords", ()))
    part = match.bound.get(name)
    if part is None:
        return True
    wanted = not kind.startswith("not ") or kind in _CONDITIONS
    test = _CONDITIONS[kind if wanted else kind.removeprefix("not ")]
    return all(test(place, cast("ast.expr", one)) == wanted for one in _nodes(part))


def _differentiates(place: Place) -> bool:
    """Does the class read gradients or go back through them, or a function of the file read them?"""
    cls = place.view.cls if place.view is not None else None
    own = [(one.node, _GRADIENTS) for one in (cls.lineage if cls is not None else ())]
    files = [(one.node, {"grad"}) for one in place.site.module.functions.values()]
    return any(
        isinstance(node, ast.Attribute) and node.attr in names
        for whole, names in (*own, *files)
        for node in walked(whole)
    )


def _matches(place: Place, nodes: Iterable[ast.AST]) -> Iterator[_Match]:
    """Of every node, by the order of the table."""
    table = _rows_by_key()
    for node in nodes:
        decorators = getattr(node, "decorator_list", [])
        for decorator in decorators:
            meant = _returned(place, decorator) or decorator
            for row in _candidates(place, table, meant.func if isinstance(meant, ast.Call) else meant):
                if row.is_decorator:
                    yield from (replace(one, node=decorator) for one in _tried(row, place, meant))
        if isinstance(node, ast.expr | ast.stmt):
            for row in _candidates(place, table, node):
                if not row.is_decorator:
                    yield from _tried(row, place, node)


def _returned(place: Place, decorator: ast.expr) -> ast.expr | None:
    """`torch.compiler.disable`, of a decorator of the file that returns `torch.compiler.disable(function)`."""
    own = place.site.module.functions.get(decorator.id) if isinstance(decorator, ast.Name) else None
    for one in walked(own.node) if own is not None else ():
        match one:
            case ast.Return(value=ast.Call(func=func, args=[ast.Name()])):
                return func
    return None


def _candidates(place: Place, table: dict[str, list[tuple[int, Row]]], node: ast.AST) -> Sequence[Row]:
    keys = {_key(node), type(node).__name__}
    if isinstance(node, ast.With):
        keys = {_key(node.items[0].context_expr)}
    for one in (node, getattr(node, "func", None)):
        if isinstance(one, ast.Name | ast.Attribute) and (origin := place.origin(one)):
            keys.add(origin.rpartition(".")[2])
    return [row for _, row in sorted((entry for key in keys for entry in table.get(key, ())), key=lambda e: e[0])]


def _tried(row: Row, place: Place, node: ast.expr | ast.stmt) -> Iterator[_Match]:
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    matcher = _Matcher(place, row)
    if isinstance(row.pattern, ast.expr) and not isinstance(node, ast.expr):
        return
    if matcher.fits(row.pattern, node):
        match = _Match(row, node, matcher.bound, matcher.names if not row.is_decorator else {})
        if all(_holds(one, match, place) for one in row.where):
            yield match


# -- Writing -----------------------------------------------------------------------------------------------------------


@dataclass
class _Filling:
    """Copies of a template, with the variables' nodes in it."""

    place: Place
    match: _Match
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def bound(self) -> Bound:
        return self.match.bound

    def of(self, node: Any) -> Any:
        match node:
            case ast.Name(id="INPUT"):
                return ast.Name(self.place.input or "", ast.Load())
            case ast.Name(id=name) if name in self.bound:
                given = self.bound[name]
                return as_target(cast("ast.expr", given)) if isinstance(node.ctx, ast.Store) else given
            case ast.Name(id=name) if name in self.renamed:
                return ast.Name(self.renamed[name], node.ctx)
            case ast.Attribute() | ast.Name() if (dotted := path_of(node)) and "." in dotted:
                return self._short(dotted, node)
            case ast.AST():
                return type(node)(**{name: self.of(value) for name, value in ast.iter_fields(node)})
            case list():
                return [new for one in node for new in self._each(one)]
        return node

    def _each(self, node: Any) -> Sequence[Any]:
        """One node of a list; several for a starred variable, none for what speaks of an argument that is not there."""
        match node:
            case (
                ast.Starred(value=ast.Name(id=name))
                | ast.keyword(arg=None, value=ast.Name(id=name))
                | ast.Expr(value=ast.Name(id=name))
            ) if isinstance(given := self.bound.get(name), list):
                return given
            case ast.Starred(value=ast.Name(id=name)) if isinstance(given := self.bound.get(name), ast.Tuple):
                return given.elts
            case ast.AST() if self._lacks(node):
                return []
        return [self.of(node)]

    def _lacks(self, node: ast.AST) -> bool:
        names = {one.id for one in walked(node) if isinstance(one, ast.Name)}
        return any(name not in self.bound for name in names & set(self.match.row.optional))

    def _short(self, dotted: str, node: ast.Attribute | ast.Name) -> ast.expr:
        """As the author wrote it, or by the name that the file has for it or for its module: `F.relu`."""
        if (known := self.match.names.get(dotted)) is not None:
            return known
        owner, _, last = dotted.rpartition(".")
        for origin, own in self.match.names.items():
            if isinstance(own, ast.Name) and origin.rpartition(".")[0] == owner != "torch":
                self.place.imported_instead[own.id] = last
                return ast.Name(last, ast.Load())
        for line in (*self.place.draft.tree.body, *getattr(self.place.node, "body", ())):
            prefix = f"{line.module}." if isinstance(line, ast.ImportFrom) and not line.level else ""
            for one in line.names if isinstance(line, ast.Import | ast.ImportFrom) else ():
                local = one.asname or (one.name if prefix else None)
                if local and prefix + one.name == dotted:
                    return ast.Name(local, ast.Load())
                if local and prefix + one.name == owner != "torch":
                    return ast.Attribute(ast.Name(local, ast.Load()), last, ast.Load())
        return ast.Attribute(self.of(node.value), last, ast.Load()) if isinstance(node, ast.Attribute) else node


def _apply(match: _Match, place: Place) -> bool:
    """Write it into the place's draft; False where the function has not what the row needs."""
    row, draft = match.row, place.draft
    given = {path_of(node) for part in match.bound.values() for node in _nodes(part)}
    if _INPUT in row.after and (place.input is None or place.input in given):
        return False
    if row.is_decorator:
        decorator = cast("ast.expr", match.node)
        if row.after:
            draft.swap(decorator, _Filling(place, match).of(ast.parse(row.after, mode="eval").body))
        else:
            draft.undecorate(decorator)
        return True
    filling = _Filling(place, match)
    if row.above:
        filling.renamed = {name: _free(place, name) for name in _set_in(row.above)}
        statement = draft.statement_of(match.node)
        if statement is None or not _is_in_block(draft, statement):
            return False
        draft.above(statement, filling.of(ast.parse(row.above).body))
    froms = {one.module for one in draft.tree.body if isinstance(one, ast.ImportFrom)}
    for module in row.needs:
        if module not in froms:
            draft.add_import(module)
    target: ast.expr | ast.stmt = match.node
    if row.part:
        target = cast("ast.expr", match.bound[row.part])
    after = ast.parse(row.after).body
    alone = draft.parent(target) if isinstance(target, ast.expr) else None
    if isinstance(target, ast.expr) and len(after) == 1 and isinstance(after[0], ast.Expr):
        draft.swap(target, filling.of(after[0].value))
        return True
    statement = alone if isinstance(alone, ast.Expr) else target if isinstance(target, ast.stmt) else None
    if statement is None:
        return False
    new = filling.of(after)
    if new and not any(one is kept for one in new for kept in _nodes(match.bound.get("BODY", []))):
        stands_for(new[0], statement)
    draft.replace(statement, new)
    return True


def _set_in(text: str) -> list[str]:
    found = (one.id for one in walked(ast.parse(text)) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return list(dict.fromkeys(found))


def _free(place: Place, name: str) -> str:
    """The name where neither the function nor the top of the file has it, else with a number behind it."""
    module = place.site.module
    taken = {*module.functions, *module.classes, *module.assignments, *module.imports}
    taken |= place.view.flow.names if place.view is not None else set()
    return next(one for one in chain([name], (f"{name}_{number}" for number in count(2))) if one not in taken)


def _is_in_block(draft: Draft, statement: ast.stmt) -> bool:
    """Is there a line above it that runs just before it, and as often? Not so for `while`, and for `elif`."""
    if isinstance(statement, ast.While):
        return False
    above = draft.parent(statement)
    return not (isinstance(above, ast.If) and isinstance(statement, ast.If) and above.orelse == [statement])


# -- Proposals ---------------------------------------------------------------------------------------------------------


class Templates:
    """Rows that fit what is reported, or the statement around it; then the same rows in the whole function."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        place = Place.of(site)
        near = self._near(place)
        if not near:
            return
        first = list(_compatible(near))
        alternatives = [[one] for one in near if one.node is first[0].node and one is not first[0]]
        groups = {one.row.group or one.row.say for one in near}
        cls = place.view.cls.node if place.view is not None and place.view.cls is not None else None
        of_class = cls is not None and any(one.row.of_class for one in near)
        everywhere = _matches(place, walked(cls if of_class and cls is not None else place.node))
        whole = list(_compatible([one for one in everywhere if (one.row.group or one.row.say) in groups]))
        # An array that is a tensor now needs the rest of NumPy's calls to go, too.
        ways = [whole, first] if groups & _TOGETHER else [first, *alternatives[: _MOST - 2], whole]
        ways = [whole] if of_class else ways
        for matches in ways:
            where = " everywhere" if matches is whole and len(whole) > len(first) and not of_class else ""
            new = Place.of(site)
            yield from _proposal(new, [(one, new) for one in matches], where)
            if matches is whole and groups & _TOGETHER and cls is not None:  # what a method gives, another one takes
                new = Place.of(site)
                methods = [new.of_method(one) for one in site.views() if one.node in cls.body and not one.is_unseen]
                near_all = [
                    (one, method)
                    for method in methods
                    for one in _compatible(_matches(method, walked(method.node)))
                    if (one.row.group or one.row.say) in groups
                ]
                yield from _proposal(new, near_all, " in the whole class")

    def _near(self, place: Place) -> list[_Match]:
        """The matches in the node; else those around it, in its statement."""
        node, draft = place.site.node, place.draft
        if isinstance(node, ast.alias | ast.ImportFrom | ast.Import):
            return list(_of_import(place, node))
        found = list(_matches(place, _head(node)))
        now: ast.AST | None = node
        while not found and now is not None and not isinstance(now, ast.stmt):
            now = draft.parent(now)
            found = list(_matches(place, [now] if now is not None else []))
        if not found and isinstance(now, ast.stmt):
            found = list(_matches(place, _head(now)))
        found = found or list(_matches(place, _named_in(place, node)))
        above = draft.parent(now) if now is not None else None
        return found or list(_matches(place, [above] if isinstance(above, ast.With) else []))


def _named_in(place: Place, node: ast.AST) -> Iterator[ast.AST]:
    """What a node speaks of: the functions of the file that it calls, and what `__init__` sets attributes to."""
    view = place.view
    for one in walked(node) if view is not None else ():
        known = view.value(one.func).function if view is not None and isinstance(one, ast.Call) else None
        if known is not None and known.module is place.site.module and not isinstance(known.node, ast.Lambda):
            yield known.node
        owner = view.value(one.value).cls if view is not None and isinstance(one, ast.Attribute) else None
        asked = owner.method(one.attr) if owner is not None and isinstance(one, ast.Attribute) else None
        if (
            asked is not None and asked.module is place.site.module and getattr(asked.node, "decorator_list", [])
        ):  # a property
            yield asked.node
        path = path_of(one)
        if view is not None and view.cls is not None and path is not None and path.startswith("self."):
            yield from (
                inner
                for line in walked(view.cls.node)
                if isinstance(line, ast.Assign) and path in map(path_of, line.targets)
                for inner in walked(line.value)
            )


def _head(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below; of a class or function that is reported as a whole, itself and its decorators."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node
        yield from (inner for one in (*node.decorator_list, *getattr(node, "bases", ())) for inner in walked(one))
    else:
        yield from walked(node)


def _of_import(place: Place, node: ast.AST) -> Iterator[_Match]:
    """Where the imported names are used."""
    line = node if not isinstance(node, ast.alias) else place.draft.parent(node)
    aliases = getattr(line, "names", [])
    names = {one.asname or one.name for one in aliases}
    for match in _matches(place, walked(place.node)):
        roots = (one for one in walked(match.node) if isinstance(one, ast.Name))
        if any(one.id in names for one in roots):
            yield match


def _compatible(matches: Iterable[_Match]) -> Iterator[_Match]:
    """One match a node: the first; what the row of another one writes anew is left to that."""
    taken: set[int] = set()
    for one in matches:
        if id(one.node) in taken:
            continue
        taken |= {id(inner) for inner in walked(one.node) if id(inner) not in one.kept} if not one.row.part else set()
        taken.add(id(one.node))
        yield one


def _nodes(part: Part) -> Sequence[ast.AST]:
    return part if isinstance(part, list) else [part]


def _proposal(place: Place, matches: Sequence[tuple[_Match, Place]], where: str) -> Iterator[Proposal]:
    """Each match in its own function, all in the draft of the place."""
    done = [one for one, own in matches if _apply(one, own)]
    if not done:
        return
    _without_imports(place, done)
    says = list(dict.fromkeys(one.row.say for one in done))
    safe = all(one.row.safe for one in done)
    words = ", ".join(says[:2]) + (" and more" if len(says) > 2 else "") + where  # noqa: PLR2004 - a short sentence
    yield Proposal(words, place.draft, Applicability.SAFE if safe else Applicability.UNSAFE)


def _without_imports(place: Place, matches: Sequence[_Match]) -> None:
    """Names whose every use was replaced are no longer imported; another one of the same module may be, instead."""
    draft, gone = place.draft, set[int]()
    for match in matches:
        after = {dotted for one in walked(ast.parse(match.row.after)) if (dotted := path_of(one))}
        again = {id(node) for dotted, node in match.names.items() if dotted in after}
        kept = {id(inner) for part in match.bound.values() for node in _nodes(part) for inner in walked(node)}
        if not match.row.part:
            gone |= {id(inner) for inner in walked(match.node)} - kept - again
    for line in place.site.module.parsed.kept(draft.tree, _imports):
        if not line.level:
            uses = place.site.module.parsed.kept(around(draft, line), _uses)
            names = [(one, [use in gone for use in uses.get(one.asname or one.name, ())]) for one in line.names]
            new = [
                ast.alias(place.imported_instead[one.asname or one.name]) if all(own) and own else one
                for one, own in names
                if not own or not all(own) or (one.asname or one.name) in place.imported_instead
            ]
            if new != line.names:
                draft.replace(line, [changed_copy(line, names=new)] if new else [])


def _imports(_file: Parsed, tree: ast.AST) -> Sequence[ast.ImportFrom]:
    return [one for one in walked(tree) if isinstance(one, ast.ImportFrom)]


def _uses(_file: Parsed, scope: ast.AST) -> dict[str, list[int]]:
    """The identities of the names of a function or a file, by what they say."""
    found = defaultdict(list)
    for node in walked(scope):
        if isinstance(node, ast.Name):
            found[node.id].append(id(node))
    return found

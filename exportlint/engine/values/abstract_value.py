"""The abstract domain: what an expression may be, as far as reading the code can tell.

A `Value` is a small set of possibilities, each with a `Kind`: a tensor, a size, a module of a known class, None … Rules
ask what it may be and what it surely is, because that decides what they may say: what must be data makes an error,
what may be data a warning at most, what is unknown nothing. So where two paths meet nothing is forgotten: `join` keeps
what the value is on either. (The last common word of "a tensor or None" would be "anything", and `if mask is not None:`
would be a branch on data.) Only possibilities of one kind are made one, so that a value stays as small as there are
kinds.

A `Belief` is what the engine hands to the rules: the value of every expression of a file, by the place where it stands.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from exportlint.engine.values import extents

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
    from exportlint.engine.values.extents import Dims, Extent


class Kind(enum.Enum):
    """What sort of thing an expression is. UNKNOWN never makes an error.

    >>> Kind("tensor").name
    'TENSOR'
    """

    TENSOR = "tensor"
    CONTAINER = "container"  # list, tuple, set, dict … ; `element` says of what, if known
    SHAPE = "shape"  # x.shape, x.size()
    SIZE = "size"  # one size of an input: a symbolic int when the dim is declared dynamic, otherwise a constant
    UNBACKED = "unbacked"  # a number or size that is read out of tensor data (`.item()`, rows of `x[mask]`)
    SCALAR = "scalar"  # Python bool, int, float, str, dtype, device …
    NONE = "None"
    MODULE = "module"  # an nn.Module instance
    INSTANCE = "instance"  # an instance of some other class
    CLASS = "class"
    FUNCTION = "function"
    CONFIG = "config"  # a configuration object or an attribute read from one
    ARRAY = "array"  # numpy
    UNKNOWN = "unknown"

    __hash__ = object.__hash__  # that of Enum is not built in; kinds are looked up in sets all the time


class Source(enum.Enum):
    """Where a tensor comes from; rules about state and in-place writes ask for it.

    >>> Source("computed").name
    'COMPUTED'
    """

    COMPUTED = "computed"
    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    ATTRIBUTE = "plain tensor attribute"
    CONSTANT = "constant"  # torch.tensor(1.0), torch.zeros(3): made from Python values only

    __hash__ = object.__hash__  # as that of Kind


class Transform(enum.Enum):
    """What a function of `torch.func` makes of a function, and so what it is given when that is called."""

    OF_ROWS = "a function of rows"  # torch.vmap
    OF_SLICES = "a function of slices along dims that are given"  # torch.vmap with in_dims
    OF_DERIVATIVES = "a derivative"  # torch.func.grad, jacrev …


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trail: what was read, and on which line of which file."""

    text: str
    line: int
    path: Path | None = None


# What an expression may be: one small type for each kind, so that a possibility carries what is known of its kind and
# nothing else. `on_self`: reached through `self.`, so it outlives the call. `name`: the dotted origin
# of what libraries define ("torch.cond").


@dataclass(frozen=True, slots=True)
class Tensor:
    """`boolean`: of dtype bool, so that indexing with it gives a size that depends on data.

    `data_dim`: the place of a dim with such a size; `dims`: how many elements each dim has, where that is known.
    """

    kind: ClassVar[Kind] = Kind.TENSOR
    source: Source = Source.COMPUTED
    boolean: bool = False
    data_dim: int | None = None
    on_self: bool = False
    dims: Dims | None = None

    @property
    def unbacked(self) -> bool:
        """Does data say how many rows there are?"""
        return self.data_dim == 0


@dataclass(frozen=True, slots=True)
class Container:
    """`container` is list, tuple, dict …; `element` holds for each element, `items` are the elements of a known number.

    `fields` are the items of a dict by their keys; those of numbers are written as text. `unbacked`: their number
    depends on data.
    """

    kind: ClassVar[Kind] = Kind.CONTAINER
    container: str | None = None
    element: Value | None = None
    items: tuple[Value, ...] | None = None
    fields: tuple[tuple[str, Value], ...] = ()
    source: Source | None = None
    unbacked: bool = False
    on_self: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`data_dim`: the place of a size that depends on data."""

    kind: ClassVar[Kind] = Kind.SHAPE
    data_dim: int | None = None
    dims: Dims | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """`extent`: what is known of it."""

    kind: ClassVar[Kind] = Kind.SIZE
    extent: Extent | None = None


@dataclass(frozen=True, slots=True)
class NumberFromData:
    kind: ClassVar[Kind] = Kind.UNBACKED


@dataclass(frozen=True, slots=True)
class Scalar:
    """`container` is bool, int, str …; `name` the text of a short constant; `truth`, if the code settles it."""

    kind: ClassVar[Kind] = Kind.SCALAR
    container: str | None = None
    truth: bool | None = None
    name: str | None = None
    on_self: bool = False


@dataclass(frozen=True, slots=True)
class NoneObject:
    kind: ClassVar[Kind] = Kind.NONE
    truth: ClassVar[bool] = False


@dataclass(eq=False, slots=True)
class Construction:
    """A call of a class whose arguments are known: the attributes that they give the object. Equal to itself only."""

    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Module:
    """Of a class of the project (`cls`) or of torch (`name`). `element`, `items` and `fields` as in Container.

    `made`: how it was constructed, where that is known.
    """

    kind: ClassVar[Kind] = Kind.MODULE
    cls: ClassInfo | None = None
    name: str | None = None
    element: Value | None = None
    items: tuple[Value, ...] | None = None
    fields: tuple[tuple[str, Value], ...] = ()
    source: Source | None = None
    on_self: bool = False
    made: Construction | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """`fields` are the attributes that its constructor's arguments gave it."""

    kind: ClassVar[Kind] = Kind.INSTANCE
    cls: ClassInfo | None = None
    name: str | None = None
    fields: tuple[tuple[str, Value], ...] = ()
    source: Source | None = None
    on_self: bool = False


@dataclass(frozen=True, slots=True)
class Class:
    kind: ClassVar[Kind] = Kind.CLASS
    cls: ClassInfo | None = None
    name: str | None = None
    on_self: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project (`function`), or a method that `name` names; `owner` is the object it is bound to.

    `bound`: the arguments, by place and by name, that `functools.partial` gave it. `transform`: of `torch.func`.
    """

    kind: ClassVar[Kind] = Kind.FUNCTION
    function: FunctionInfo | None = None
    owner: Value | None = None
    name: str | None = None
    on_self: bool = False
    bound: tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]] = ((), ())
    transform: Transform | None = None


@dataclass(frozen=True, slots=True)
class ConfigObject:
    kind: ClassVar[Kind] = Kind.CONFIG
    name: str | None = None
    on_self: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    kind: ClassVar[Kind] = Kind.ARRAY
    name: str | None = None
    on_self: bool = False


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` in a method of `cls`; `owner` is the object."""

    kind: ClassVar[Kind] = Kind.UNKNOWN
    cls: ClassInfo
    owner: Value


@dataclass(frozen=True, slots=True)
class Unknown:
    """`owner`: the object of a library whose attribute it is."""

    kind: ClassVar[Kind] = Kind.UNKNOWN
    name: str | None = None
    owner: Value | None = None
    on_self: bool = False


Possibility: TypeAlias = (
    Tensor | Container | Shape | Size | NumberFromData | Scalar | NoneObject | Module | Instance | Class | Function
    | ConfigObject | Array | Super | Unknown
)  # fmt: skip


@dataclass(slots=True, unsafe_hash=True)  # never written after it was made; frozen=True would double what making costs
class Value:
    """What the engine believes about one expression: what it may be, on one path or another.

    The attributes below speak of the leading possibility: the tensor, the number read from one, else the only kind that
    there is beside None; where the kinds differ, UNKNOWN. `certain` says whether it is that on every path. `trail`: how
    data comes there, the last step first.

    >>> mask = exactly(Tensor(Source.INPUT, boolean=True)).because("mask", 12)
    >>> mask.is_data, mask.doubted().is_data, mask.doubted().may_be_data, mask.trail[0].line
    (True, False, True, 12)
    """

    options: tuple[Possibility, ...]
    trail: tuple[Step, ...] = ()
    lead: Possibility = field(init=False, compare=False, repr=False)
    kind: Kind = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.lead = self.options[0] if len(self.options) == 1 else _lead(self.options)
        self.kind = self.lead.kind

    @property
    def certain(self) -> bool:
        """Is it of its kind on every path, None aside?"""
        if len(self.options) == 1:
            return True
        kind = self.kind
        return all(option.kind in (kind, Kind.NONE) for option in self.options)

    @property
    def maybe_none(self) -> bool:
        return len(self.options) > 1 and _NONE_OBJECT in self.options

    @property
    def is_tensor(self) -> bool:
        return self.kind is Kind.TENSOR and self.certain

    @property
    def is_unbacked(self) -> bool:
        return self.kind is Kind.UNBACKED and self.certain

    @property
    def is_data(self) -> bool:
        """Its truth value is known only when the program runs: a tensor, or a number read out of one."""
        return self.may_be_data and (
            len(self.options) == 1 or all(option.kind in _DATA_OR_NONE for option in self.options)
        )

    @property
    def may_be_data(self) -> bool:
        """Is it data on one path at least?"""
        return self.kind is Kind.TENSOR or self.kind is Kind.UNBACKED

    @property
    def source(self) -> Source | None:
        return getattr(self.lead, "source", None)

    @property
    def element(self) -> Value | None:
        return SIZE if isinstance(self.lead, Shape) else getattr(self.lead, "element", None)

    @property
    def items(self) -> tuple[Value, ...] | None:
        if isinstance(self.lead, Shape):
            known = self.lead.dims is not None and self.lead.data_dim is None
            return tuple(map(sized, self.lead.dims or ())) if known else None
        return getattr(self.lead, "items", None)

    @property
    def fields(self) -> tuple[tuple[str, Value], ...]:
        return getattr(self.lead, "fields", ())

    @property
    def container(self) -> str | None:
        return getattr(self.lead, "container", None)

    @property
    def boolean(self) -> bool:
        return getattr(self.lead, "boolean", False)

    @property
    def unbacked(self) -> bool:
        return getattr(self.lead, "unbacked", False)

    @property
    def data_dim(self) -> int | None:
        return getattr(self.lead, "data_dim", None)

    @property
    def name(self) -> str | None:
        return getattr(self.lead, "name", None)

    @property
    def cls(self) -> ClassInfo | None:
        return getattr(self.lead, "cls", None)

    @property
    def function(self) -> FunctionInfo | None:
        return getattr(self.lead, "function", None)

    @property
    def owner(self) -> Value | None:
        return getattr(self.lead, "owner", None)

    @property
    def on_self(self) -> bool:
        return any(getattr(option, "on_self", False) for option in self.options)

    @property
    def truth(self) -> bool | None:
        """The truth value, where reading the code settles it."""
        if len(self.options) == 1:
            return getattr(self.lead, "truth", None)
        truths = {getattr(option, "truth", None) for option in self.options}
        return truths.pop() if len(truths) == 1 else None

    def field(self, name: str) -> Value | None:
        return next((value for key, value in self.fields if key == name), None)

    def but(self, **changes: Any) -> Value:
        """The same with other attributes, of each possibility that has them."""
        if len(self.options) == 1:
            changed = _changed(self.lead, changes)
            return self if changed is self.lead else Value((changed,), self.trail)
        return Value(tuple(_changed(option, changes) for option in self.options), self.trail)

    def doubted(self) -> Value:
        """It, or something that is not known."""
        return self if _UNKNOWN in self.options else Value((*self.options, _UNKNOWN), self.trail)

    def or_none(self) -> Value:
        return self if _NONE_OBJECT in self.options else Value((*self.options, _NONE_OBJECT), self.trail)

    def only(self, *kinds: Kind) -> Value | None:
        """What is left of these kinds; None where nothing is."""
        return self._where(lambda option: option.kind in kinds)

    @property
    def present(self) -> tuple[Possibility, ...]:
        """What it may be, None aside, which has no attributes, parts or results; None alone stays."""
        if len(self.options) == 1:
            return self.options
        return tuple(option for option in self.options if option.kind is not Kind.NONE) or self.options

    def without(self, *kinds: Kind) -> Value | None:
        """What is left when it is none of these kinds; None where nothing is."""
        return self._where(lambda option: option.kind not in kinds)

    def _where(self, holds: Any) -> Value | None:
        kept = tuple(filter(holds, self.options))
        return (self if len(kept) == len(self.options) else Value(kept, self.trail)) if kept else None

    def because(self, text: str, line: int, path: Path | None = None) -> Value:
        """The same value with one more step in front of its trail (kept short: four steps persuade, ten tire)."""
        return Value(self.options, (Step(text, line, path), *self.trail)[:4])

    def with_trail(self, trail: tuple[Step, ...]) -> Value:
        return Value(self.options, trail)

    @property
    def plain(self) -> Value:
        """Without its trail: what decides how a function behaves when it is called with the value."""
        return Value(self.options) if self.trail else self


def exactly(option: Possibility) -> Value:
    """What is that, on every path."""
    return Value((option,))


_UNKNOWN, _NONE_OBJECT = Unknown(), NoneObject()
_DATA_OR_NONE = frozenset({Kind.TENSOR, Kind.UNBACKED, Kind.NONE})
UNKNOWN, NONE = exactly(_UNKNOWN), exactly(_NONE_OBJECT)
TENSOR, SHAPE, SIZE, UNBACKED = exactly(Tensor()), exactly(Shape()), exactly(Size()), exactly(NumberFromData())
LISTED = "[]"  # the field of an instance of a list's subclass that holds its elements
ROWS = exactly(Tensor(data_dim=0))  # as many as data says
SCALAR = exactly(Scalar())


def sized(extent: Extent | None) -> Value:
    """A size, as far as it is known."""
    return exactly(Size(extent)) if extent is not None else SIZE


def _lead(options: tuple[Possibility, ...]) -> Possibility:
    for kind in (Kind.TENSOR, Kind.UNBACKED):
        if found := next((option for option in options if option.kind is kind), None):
            return found
    real = [option for option in options if option.kind is not Kind.NONE]
    if len(real) == 1:
        return real[0]
    alike = len({type(option) for option in real}) == 1 and not isinstance(real[0], Super)
    return type(real[0])() if alike else _UNKNOWN  # type: ignore[call-arg] # only Super has to be given something


def _changed(option: Possibility, changes: dict[str, Any]) -> Possibility:
    own = {name: value for name, value in changes.items() if name in type(option).__slots__}
    same = all(getattr(option, name) == value for name, value in own.items())
    return option if same else replace(option, **own)


# More than so many objects, functions or classes that an expression may be are not followed one by one.
_MOST_FOLLOWED = 4


def join(a: Value, b: Value) -> Value:
    """What holds where two paths meet: what it may be on either."""
    trail = a.trail if a.trail and (a.may_be_data or not b.trail) else b.trail
    if a.options == b.options:
        return a if a.trail == trail else Value(a.options, trail)
    return Value(_united_options(a.options, b.options), trail)


def each_option(value: Value, judge: Callable[[Possibility], Value]) -> Value:
    """What holds for each thing that the value may be, None aside."""
    options = value.present
    return judge(options[0]) if len(options) == 1 else join_all(map(judge, options)) or UNKNOWN


def join_all(values: Iterable[Value | None]) -> Value | None:
    """What holds for each of several values; None where there is none."""
    whole: Value | None = None
    for value in values:
        if value is not None:
            whole = value if whole is None else join(whole, value)
    return whole


def _united_options(a: tuple[Possibility, ...], b: tuple[Possibility, ...]) -> tuple[Possibility, ...]:
    found = list(a)
    for option in b:
        if option not in found:
            merged = ((i, _merge(other, option)) for i, other in enumerate(found))
            at, whole = next(((i, one) for i, one in merged if one is not None), (len(found), option))
            found[at : at + 1] = [whole]
    followed = [option for option in found if isinstance(option, Module | Instance | Class | Function)]
    if len(followed) <= _MOST_FOLLOWED:
        return tuple(found)
    # A registry of twenty classes would be run twenty times wherever its entry is called.
    kinds = {option.kind: type(option)() for option in followed}
    return (*(option for option in found if option not in followed), *kinds.values())


def _merge(a: Possibility, b: Possibility) -> Possibility | None:
    """One possibility for two of a kind; None for two that are followed apart.

    What differs becomes what is weaker: a tensor is boolean where both are, and has a size from data where either has.
    Objects of two classes, or made in two ways, stay apart, since their forwards are two.
    """
    match a, b:
        case Tensor(), Tensor():
            source = a.source if a.source is b.source else Source.COMPUTED
            dims = _joined_dims(a.dims, b.dims)
            return Tensor(
                source, a.boolean and b.boolean, _joined_place(a.data_dim, b.data_dim), a.on_self or b.on_self, dims
            )
        case Container(), Container():
            return _merged_containers(a, b)
        case Shape(), Shape():
            return Shape(_joined_place(a.data_dim, b.data_dim), _joined_dims(a.dims, b.dims))
        case Size(), Size():
            return Size(extents.joined(a.extent, b.extent))
        case Scalar(), Scalar():
            return Scalar(
                _if_same(a.container, b.container),
                a.truth if a.truth is b.truth else None,
                _if_same(a.name, b.name),
                a.on_self or b.on_self,
            )
        case ConfigObject(), ConfigObject():
            return ConfigObject(_if_same(a.name, b.name), a.on_self or b.on_self)
        case Array(), Array():
            return Array(_if_same(a.name, b.name), a.on_self or b.on_self)
        case Unknown(), Unknown():
            owner = a.owner if a.owner == b.owner else None
            return Unknown(_if_same(a.name, b.name), owner, a.on_self or b.on_self)
    return _merged_objects(a, b)


def _merged_objects(a: Possibility, b: Possibility) -> Possibility | None:
    """Of two objects of one class, made in the same way."""
    match a, b:
        case Module(), Module() if a.cls is b.cls and a.name == b.name and a.made is b.made:
            return replace(
                a,
                element=_joined_parts(a.element, b.element),
                items=_joined_items(a.items, b.items),
                fields=a.fields if a.fields == b.fields else (),
                source=a.source if a.source is b.source else None,
                on_self=a.on_self or b.on_self,
            )
        case Instance(), Instance() if a.cls is b.cls and a.name == b.name:
            fields = a.fields if a.fields == b.fields else ()
            given = a.source if a.source is b.source else None
            return Instance(a.cls, a.name, fields, given, a.on_self or b.on_self)
    return None


def _merged_containers(a: Container, b: Container) -> Container:
    return Container(
        _if_same(a.container, b.container),
        _joined_parts(a.element, b.element),
        _joined_items(a.items, b.items),
        _joined_fields(a.fields, b.fields),
        a.source if a.source is b.source else None,
        a.unbacked or b.unbacked,
        a.on_self or b.on_self,
        _if_same(a.name, b.name),
    )


def _joined_place(a: int | None, b: int | None) -> int | None:
    """The place of the dim with a size from data that either has; the first where both have one."""
    return min((place for place in (a, b) if place is not None), default=None)


def _joined_dims(a: Dims | None, b: Dims | None) -> Dims | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return a if a == b else tuple(map(extents.joined, a, b))


def _joined_parts(a: Value | None, b: Value | None) -> Value | None:
    return join(a, b) if a and b else a or b


def _joined_items(a: tuple[Value, ...] | None, b: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(join(x, y) for x, y in zip(a, b, strict=True))


def _joined_fields(a: tuple[tuple[str, Value], ...], b: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
    """Of two dicts. A key that only one has is there wherever it is read without an error."""
    if a == b:
        return a
    others = dict(b)
    both = {name: join(value, others.pop(name)) if name in others else value for name, value in a}
    return (*both.items(), *others.items())


def _if_same(a: str | None, b: str | None) -> str | None:
    return a if a == b else None


# The place of an expression: line and column of its start and of its end. Rules read a file with libcst and the engine
# with `ast`; a place is what both trees know, so it is by places that a rule asks.
Span = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class ExportCall:
    """What a file exports: the model with the inputs and the `dynamic_shapes` that it is given.

    place   of the call; None where the file only keeps them, for an exporter elsewhere

    >>> from exportlint.testing import code_of
    >>> (call,) = code_of('''
    ... import torch
    ... class Net(torch.nn.Module):
    ...     def forward(self, x, scale): ...
    ... torch.export.export(Net(), (torch.ones(8), 2))
    ... ''').exports
    >>> call.model.cls.name, [value.kind.value for value in call.args]
    ('Net', ['tensor', 'scalar'])
    """

    place: Span | None
    model: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    dynamic_shapes: Value | None


@dataclass(slots=True)
class Belief:
    """What is known about one file: values by span (ast's byte columns), functions that ran, what never ran."""

    values: dict[Span, Value] = field(default_factory=dict)
    reached: dict[FunctionInfo, None] = field(default_factory=dict)
    dead: dict[Span, int] = field(default_factory=dict)  # span -> in how many contexts it was cut off
    sampled: frozenset[ClassInfo] = frozenset()  # classes that were judged by what samples give them, and by no guess
    runs: dict[Span, int] = field(default_factory=dict)  # span of a function -> contexts
    called: set[Span] = field(default_factory=set)  # functions that ran otherwise than for an operator (`torch.cond`)
    declares_dims: bool = False  # did it run for a sample whose `dynamic_shapes` say something?
    exports: tuple[ExportCall, ...] = ()  # what the file exports, or keeps for an exporter elsewhere


def span_of(node: ast.AST) -> Span | None:
    """Lines and byte columns, as `ast` counts them; None for a node without a place."""
    end = getattr(node, "end_lineno", None)
    if end is None:
        return None
    return (node.lineno, node.col_offset, end, node.end_col_offset)  # type: ignore[attr-defined]

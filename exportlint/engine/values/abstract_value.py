"""What an expression may be, as far as reading the code can tell: a small set of possibilities."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from exportlint.engine.values.kinds import Kind, Source, Step, Transform

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
    from exportlint.engine.values.dims.extents import Extent


# One small type for each kind. `on_self`: reached through `self.`, so it outlives the call. `name`: the dotted origin
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
    dims: tuple[Extent | None, ...] | None = None

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
    dims: tuple[Extent | None, ...] | None = None


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

    def because(self, text: str, line: int) -> Value:
        """The same value with one more step in front of its trail (kept short: four steps persuade, ten tire)."""
        return Value(self.options, (Step(text, line), *self.trail)[:4])

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

"""What an expression is, as far as reading the code can show: its kind, where it comes from, how certain that is."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo


class Kind(enum.Enum):
    """What sort of thing an expression is. UNKNOWN never makes an error.

    >>> UNKNOWN.kind is Kind.UNKNOWN
    True
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


class Source(enum.Enum):
    """Where a tensor comes from; rules about state and in-place writes ask for it.

    >>> TENSOR.source
    <Source.COMPUTED: 'computed'>
    """

    COMPUTED = "computed"
    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    ATTRIBUTE = "plain tensor attribute"
    CONSTANT = "constant"  # torch.tensor(1.0), torch.zeros(3): made from Python values only


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trail: what was read, and on which line."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Value:
    """What the engine believes about one expression.

    `certain` is False where the expression is a tensor on one path and something else, or unknown, on another.
    `name` is the dotted origin of functions, classes and modules of libraries ("torch.cond").

    >>> mask = Value(Kind.TENSOR, Source.INPUT, boolean=True).because("mask", 12)
    >>> mask.is_data, mask.doubted().is_data, mask.trail[0].line
    (True, False, 12)
    """

    kind: Kind
    source: Source | None = None
    element: Value | None = None
    items: tuple[Value, ...] | None = None  # elements of a tuple or list display whose length is known
    container: str | None = None  # list, tuple, dict, set … for CONTAINER; bool, int, str … for SCALAR
    boolean: bool = False  # a tensor of dtype bool: indexing with it gives a data-dependent size
    unbacked: bool = False  # a tensor with a data-dependent size
    maybe_none: bool = False
    certain: bool = True
    name: str | None = None
    cls: ClassInfo | None = None
    function: FunctionInfo | None = None
    owner: Value | None = None  # for bound methods: the object
    on_self: bool = False  # reached through `self.`: outlives the call
    truth: bool | None = None  # the truth value, where reading the code settles it
    fields: tuple[
        tuple[str, Value], ...
    ] = ()  # attributes of an instance made in the code that is read; items of a dict
    trail: tuple[Step, ...] = ()

    @property
    def is_tensor(self) -> bool:
        return self.kind is Kind.TENSOR and self.certain

    @property
    def is_unbacked(self) -> bool:
        return self.kind is Kind.UNBACKED and self.certain

    @property
    def is_data(self) -> bool:
        """Its truth value is known only when the program runs: a tensor, or a number read out of one."""
        return self.is_tensor or self.is_unbacked

    def doubted(self) -> Value:
        return replace(self, certain=False)

    def because(self, text: str, line: int) -> Value:
        """The same value with one more step in front of its trail (kept short: four steps persuade, ten tire)."""
        return replace(self, trail=(Step(text, line), *self.trail)[:4])

    def field(self, name: str) -> Value | None:
        return next((value for key, value in self.fields if key == name), None)

    @property
    def plain(self) -> Value:
        """Without its trail: what decides how a function behaves when it is called with the value."""
        return replace(self, trail=()) if self.trail else self


UNKNOWN = Value(Kind.UNKNOWN)
NONE = Value(Kind.NONE)
SCALAR = Value(Kind.SCALAR)
TENSOR = Value(Kind.TENSOR, Source.COMPUTED)
SIZE = Value(Kind.SIZE)
UNBACKED = Value(Kind.UNBACKED)
SHAPE = Value(Kind.SHAPE, element=SIZE)


def join(a: Value, b: Value) -> Value:
    """What holds where two paths meet. None beside a value leaves the value; unequal kinds leave doubt."""
    if a == b:
        return a
    if a.kind is Kind.NONE:
        return replace(b, maybe_none=True)
    if b.kind is Kind.NONE:
        return replace(a, maybe_none=True)
    if a.kind is b.kind:
        return _join_same_kind(a, b)
    for value in (a, b):
        if value.kind in (Kind.TENSOR, Kind.UNBACKED):
            return value.doubted()
    return UNKNOWN


def _join_same_kind(a: Value, b: Value) -> Value:
    element = join(a.element, b.element) if a.element and b.element else a.element or b.element
    same_length = a.items is not None and b.items is not None and len(a.items) == len(b.items)
    return Value(
        a.kind,
        source=a.source if a.source is b.source else Source.COMPUTED if a.kind is Kind.TENSOR else None,
        element=element,
        items=tuple(join(x, y) for x, y in zip(a.items or (), b.items or (), strict=True)) if same_length else None,
        container=a.container if a.container == b.container else None,
        boolean=a.boolean and b.boolean,
        unbacked=a.unbacked or b.unbacked,
        maybe_none=a.maybe_none or b.maybe_none,
        certain=a.certain and b.certain,
        name=a.name if a.name == b.name else None,
        cls=a.cls if a.cls is b.cls else None,
        function=a.function if a.function is b.function else None,
        owner=a.owner if a.owner == b.owner else None,
        on_self=a.on_self or b.on_self,
        truth=a.truth if a.truth is b.truth else None,
        fields=a.fields if a.fields == b.fields else (),
        trail=a.trail or b.trail,
    )

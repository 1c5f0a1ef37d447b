"""What a caller may do next: other sizes, other numbers, longer lists, another mode, the same again; one at a time.

Dynamo compiles for what it is given, and guards on that. The first other size or number makes it a symbol, as a rule,
so a schedule needs several steps of one change to show what compiles again each time. A dtype is not changed: each has
graphs of its own, whatever the model, so only a target whose own other inputs have another one is called with it.
"""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of, own_inputs
from exportlint.trial.child.execution.time_limit import ON_DRAWN_VALUES, OutOfTimeError, in_time
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded

# So many steps after the first call. The first may make a symbol of what was a constant, the second a symbol of what is
# computed from it; what still compiles in the last two goes on.
STEPS = 4
MOST_OTHERS = 12  # Dynamo gives a function up after 8 compilations

AGAIN, SIZE, NUMBER, LENGTH, OTHER_INPUTS = "again", "size", "number", "length", "other-inputs"
TRAINING, GRADIENTS = "training", "gradients"


@dataclass(frozen=True)
class Change:
    """One way in which the calls of a series differ.

    kind    again: not at all; size: of dims of tensors; number: of an argument; length: of a list; other-inputs: the
            target's own; training: `model.train()` and `model.eval()` by turns; gradients: `torch.no_grad()` in every
            other call
    names   the arguments that change; of a size each as (name, dim)
    values  the size, the number or the length in each call
    at      gives the inputs of a call, which begin with 0
    leaves  which leaves of (args, kwargs) change
    around  is entered for a call of the model
    steps   how many calls follow the first
    own_inputs  of other-inputs, how many sets there are, with the sample
    """

    kind: str
    names: tuple[Any, ...]
    values: Callable[[int], Any]
    at: Callable[[int], Inputs]
    leaves: tuple[int, ...] = ()
    around: Callable[[Any, int], AbstractContextManager[Any]] = lambda _model, _call: nullcontext()
    steps: int = STEPS
    own_inputs: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON, with the values of all calls."""
        names = [list(one) if isinstance(one, tuple) else one for one in self.names]
        return {"kind": self.kind, "names": names, "values": [self.values(call) for call in range(self.steps + 1)]}


def changes(loaded: Loaded, until: float) -> Iterator[Change]:
    """All that can be tried with inputs that eager takes: the same again first, since nothing else is certain where the
    model itself changes from call to call. `until`: when, on the monotonic clock, looking for what eager takes ends."""
    yield Change(AGAIN, (), lambda _: None, lambda _: inputs_of(loaded, 0))
    sample = _Sample.of(loaded, until)
    yield from _numbers(sample)
    sizes: dict[Dims, int] = {}
    for dims, change in _sizes(sample):
        sizes[dims] = change.values(0)
        yield change
    yield from _lengths(sample)
    if loaded.other_args is not None:
        yield _others(loaded, len(loaded.other_args()))
    yield from filter(sample.takes, _modes(loaded))
    yield from filter(sample.takes, _doubled(sample, sizes))


def _others(loaded: Loaded, others: int) -> Change:
    """The sample and the target's own other inputs, one after the other, and from the beginning again."""
    number = 1 + min(others, MOST_OTHERS)
    return Change(
        OTHER_INPUTS,
        (),
        lambda _: None,
        lambda call: own_inputs(loaded, call % number),
        steps=max(STEPS, number - 1),
        own_inputs=number,
    )


def _modes(loaded: Loaded) -> Iterator[Change]:
    yield _of_mode(loaded, TRAINING, _trained)
    if torch.is_grad_enabled():
        yield _of_mode(loaded, GRADIENTS, _derived)


def _of_mode(loaded: Loaded, kind: str, around: Callable[[Any, int], AbstractContextManager[Any]]) -> Change:
    return Change(kind, (), lambda _: None, lambda _: inputs_of(loaded, 0), around=around)


@contextmanager
def _trained(model: Any, call: int) -> Iterator[None]:
    """In the other mode in every second call. A model without modes is called as it is."""
    if not isinstance(model, torch.nn.Module):
        yield
        return
    modes = [(part, part.training) for part in model.modules()]
    model.train(model.training != bool(call % 2))
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _derived(_model: Any, call: int) -> AbstractContextManager[Any]:
    return torch.no_grad() if call % 2 else nullcontext()


@dataclass(frozen=True)
class _Sample:
    """The leaves of the sample, each with the name that a caller gives it."""

    loaded: Loaded
    leaves: list[Any]
    names: list[str]
    structure: Any
    until: float

    @classmethod
    def of(cls, loaded: Loaded, until: float) -> _Sample:
        args, kwargs = inputs_of(loaded, 0)
        leaves, structure = pytree.tree_flatten((args, kwargs))
        return cls(loaded, leaves, _names(loaded.model(), (args, kwargs), leaves), structure, until)

    def with_leaves(self, changed: dict[int, Any]) -> Inputs:
        """Fresh inputs in which these leaves are others."""
        fresh = pytree.tree_leaves(inputs_of(self.loaded, 0))
        for index, leaf in changed.items():
            fresh[index] = leaf
        found: Inputs = pytree.tree_unflatten(fresh, self.structure)
        return found

    def takes(self, change: Change) -> bool:
        """Does eager take every step? No, where there is no time left to see, or where a step goes on and on."""
        model = self.loaded.eager()
        for call in range(1, STEPS + 1):
            if time.monotonic() > self.until:
                return False
            args, kwargs = change.at(call)
            seed(0)
            try:
                with change.around(model, call), in_time(_seconds(self.until)):
                    model(*args, **kwargs)
            except (Exception, OutOfTimeError):  # noqa: BLE001 - whatever a model says to inputs not meant for it
                return False
        return True


def _seconds(until: float) -> float:
    return min(ON_DRAWN_VALUES, max((until - time.monotonic()) / 2, 0.1))


def _names(model: Any, inputs: Inputs, leaves: Sequence[Any]) -> list[str]:
    """By parameters of forward, as `batch['mask']`; by their place where those cannot be told."""
    try:
        combined = pytree.by_parameter(model, *inputs)
    except Exception:  # noqa: BLE001 - inputs that do not bind by torch's own rules
        combined = {}
    named = [
        (f"{name}{pytree.keystr(path)}", leaf)
        for name, value in combined.items()
        for path, leaf in pytree.tree_flatten_with_path(value)[0]
    ]
    if [id(leaf) for _, leaf in named] == [id(leaf) for leaf in leaves]:
        return [name for name, _ in named]
    return [f"argument {index + 1}" for index in range(len(leaves))]


# Numbers.


def _numbers(sample: _Sample) -> Iterator[Change]:
    """Each number in small steps; a float in large ones too, for what is made of it may be rounded."""
    for index, leaf in enumerate(sample.leaves):
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            for steps in _steps_of(leaf):
                tried = (_number(sample, index, leaf, step) for step in steps)
                if found := next(filter(sample.takes, tried), None):
                    yield found


def _steps_of(number: float) -> tuple[tuple[float, ...], ...]:
    if isinstance(number, int):
        return ((1, -1, number or 2),)
    size = abs(number) or 1
    return (0.125 * size, -0.125 * size), (max(size, 1.0), -size / 4)


def _number(sample: _Sample, index: int, number: float, step: float) -> Change:
    def value(call: int) -> float:
        return number + step * call

    return Change(
        NUMBER, (sample.names[index],), value, lambda call: sample.with_leaves({index: value(call)}), (index,)
    )


# Sizes, in small steps and in large ones. Dims of one size are taken for one size; where eager does not take that, each
# alone.


_PACES = (1, 2, 4, 8, 16)
_LARGE, _LARGEST = 16, 64  # steps that leave a range of sizes with one graph for all of it
_MOST_GROUPS = 8
_MOST_ELEMENTS = 1 << 22
Dims = tuple[tuple[int, int], ...]  # leaf, dim


def _sizes(sample: _Sample) -> Iterator[tuple[Dims, Change]]:
    known: set[tuple[int, int]] = set()
    for dims in list(_groups(sample))[:_MOST_GROUPS]:
        if known.issuperset(dims):
            continue
        if found := _size_that_is_taken(sample, dims):
            known |= set(dims)
            yield dims, found
            size = found.values(0)
            larger = _size(sample, dims, partial(_larger, size, max(_LARGE, min(size, _LARGEST))))
            if larger.values(1) != found.values(1) and sample.takes(larger):
                yield dims, larger


def _doubled(sample: _Sample, sizes: Mapping[Dims, int]) -> Iterator[Change]:
    """Twice as large in each step: what is halved until it is small enough is another graph each time."""
    for dims, size in sizes.items():
        elements = max(sample.leaves[index].numel() for index, _ in dims)
        if elements << STEPS <= _MOST_ELEMENTS:
            yield _size(sample, dims, partial(_shifted, size))


def _groups(sample: _Sample) -> Iterator[Dims]:
    """First the dims in front, then those behind, together by size, then each alone."""
    places = [
        (index, dim, size)
        for index, leaf in enumerate(sample.leaves)
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and not leaf.is_nested
        for dim, size in enumerate(leaf.shape)
        if size
    ]
    for front in (True, False):
        own = [place for place in places if (place[1] == 0) is front]
        for size in dict.fromkeys(place[2] for place in own):
            yield tuple(place[:2] for place in own if place[2] == size)
    for index, dim, _ in places:
        yield ((index, dim),)


def _size_that_is_taken(sample: _Sample, dims: Dims) -> Change | None:
    size = sample.leaves[dims[0][0]].shape[dims[0][1]]
    tried = (_size(sample, dims, grown) for grown in _growths(size))
    return next(filter(sample.takes, tried), None)


def _growths(size: int) -> Iterator[Callable[[int], int]]:
    """By a few more each time; to the next square, as of the patches of an image; to the double."""
    for pace in dict.fromkeys((*_PACES, size)):
        yield partial(_larger, size, pace)
    if (root := math.isqrt(size)) ** 2 == size:
        yield lambda call: (root + call) ** 2
    yield partial(_shifted, size)


def _shifted(size: int, call: int) -> int:
    return size << min(call, STEPS)


def _larger(size: int, pace: int, call: int) -> int:
    return size + pace * call


def _size(sample: _Sample, dims: Dims, value: Callable[[int], int]) -> Change:
    def at(call: int) -> Inputs:
        fresh = pytree.tree_leaves(inputs_of(sample.loaded, 0))
        changed: dict[int, Any] = {}
        for index, dim in dims:
            changed[index] = _longer(changed.get(index, fresh[index]), dim, value(call))
        return sample.with_leaves(changed)

    names = tuple((sample.names[index], dim) for index, dim in dims)
    return Change(SIZE, names, value, at, tuple(dict.fromkeys(index for index, _ in dims)))


def _longer(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """With the tensor's own values, from the beginning again, so that ranges and kinds of values stay."""
    rows = torch.arange(size, device=tensor.device) % tensor.shape[dim]
    return tensor.detach().index_select(dim, rows).requires_grad_(tensor.requires_grad)


# Lengths of lists.


@dataclass
class _Lists:
    """The lists of the arguments, by the path to them."""

    found: list[tuple[tuple[Any, ...], str]] = field(default_factory=list)

    def look(self, value: Any, path: tuple[Any, ...], name: str) -> None:
        if isinstance(value, list) and value:
            self.found.append((path, name))
        items = value.items() if type(value) is dict else enumerate(value) if type(value) in (list, tuple) else ()
        for key, item in items:
            self.look(item, (*path, key), f"{name}[{key!r}]" if name else str(key))


def _lengths(sample: _Sample) -> Iterator[Change]:
    """Of lists that the target's own other inputs have in another length: how many there are, such as one for each
    level of a pyramid, is fixed for most models, though eager would take more."""
    if sample.loaded.other_args is None:
        return
    args, kwargs = inputs_of(sample.loaded, 0)
    other = inputs_of(sample.loaded, 1)
    lists = _Lists()
    try:
        named = pytree.by_parameter(sample.loaded.model(), args, kwargs)
    except Exception:  # noqa: BLE001 - inputs that do not bind by torch's own rules
        named = {}
    names = list(named)
    for index, value in enumerate(args):
        lists.look(value, (0, index), names[index] if index < len(names) else f"argument {index + 1}")
    for key, value in kwargs.items():
        lists.look(value, (1, key), key)
    for path, name in lists.found:
        change = _length(sample, path, name)
        if _length_at(other, path) not in (None, change.values(0)) and sample.takes(change):
            yield change


def _length_at(inputs: Inputs, path: tuple[Any, ...]) -> int | None:
    try:
        return len(_at_path(inputs, path))
    except (LookupError, TypeError):
        return None


def _length(sample: _Sample, path: tuple[Any, ...], name: str) -> Change:
    def at(call: int) -> Inputs:
        inputs: Inputs = copied(inputs_of(sample.loaded, 0))
        found = _at_path(inputs, path)
        found.extend(copied(found[-1]) for _ in range(call))
        return inputs

    length = len(_at_path(at(0), path))
    return Change(LENGTH, (name,), lambda call: length + call, at)


def _at_path(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value

"""Let torch's random functions give the numbers that Python's or NumPy's generator gives.

A rewrite that draws with torch what Python drew gives other numbers. It is right if the model computes the same from
the same numbers, and that a run can show: torch's functions draw from the generator that the unedited model draws from.
"""

from __future__ import annotations

import contextlib
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Generator:
    """A generator of random numbers outside of torch.

    unit      `count` numbers from 0 to 1
    normal    `count` numbers of the standard normal distribution
    between   `count` whole numbers from `low` to below `high`
    order     the numbers below `count` in another order
    """

    name: str
    unit: Callable[[int], Sequence[float]]
    normal: Callable[[int], Sequence[float]]
    between: Callable[[int, int, int], Sequence[int]]
    order: Callable[[int], Sequence[int]]


def generators() -> Iterator[Generator]:
    """Python's, with its ways to the normal distribution and to an order, and NumPy's (if the target uses it)."""
    yield _of_python(random.gauss, _shuffled)
    yield _of_python(random.normalvariate, _shuffled)
    yield _of_python(random.gauss, lambda count: random.sample(range(count), count))
    if numpy := sys.modules.get("numpy"):
        drawn = numpy.random
        bounded = _bounded(drawn.randint)
        yield Generator("numpy.random", drawn.random_sample, drawn.standard_normal, bounded, drawn.permutation)


def _bounded(draw: Callable[[int, int, int], Sequence[int]]) -> Callable[[int, int, int], Sequence[int]]:
    return lambda count, low, high: draw(low, high, count)


def _shuffled(count: int) -> Sequence[int]:
    numbers = list(range(count))
    random.shuffle(numbers)
    return numbers


def _of_python(normal: Callable[[float, float], float], order: Callable[[int], Sequence[int]]) -> Generator:
    return Generator(
        "random",
        lambda count: [random.random() for _ in range(count)],  # noqa: S311 - no secret
        lambda count: [normal(0.0, 1.0) for _ in range(count)],
        lambda count, low, high: [random.randrange(low, high) for _ in range(count)],  # noqa: S311 - as above
        order,
    )


@contextlib.contextmanager
def given_draws(generator: Generator) -> Iterator[None]:
    """Inside of the block torch draws from the generator; who seeds one there draws the same in every call, which is
    no random number, and raises.

    >>> import random
    >>> _ = random.seed(0)
    >>> with given_draws(next(generators())):
    ...     drawn = torch.rand(())
    >>> _ = random.seed(0)
    >>> drawn.item() == torch.tensor(random.random()).item()
    True
    """
    seeding: list[tuple[Any, str]] = [(random, "seed"), (torch, "manual_seed")]
    if numpy := sys.modules.get("numpy"):
        seeding.append((numpy.random, "seed"))
    kept = [getattr(module, name) for module, name in seeding]
    for module, name in seeding:
        setattr(module, name, _refuse)
    try:
        with _GivenDraws(generator):
            yield
    finally:
        for (module, name), function in zip(seeding, kept, strict=True):
            setattr(module, name, function)


def _refuse(*args: Any, **kwargs: Any) -> None:
    del args, kwargs
    raise RuntimeError("a generator is seeded in the model")


class _GivenDraws(TorchFunctionMode):  # type: ignore[misc]  # torch has no types for it
    """`torch.rand`, `randn`, `randint`, `randperm` and `multinomial` draw from the generator."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self._draw: Mapping[Any, Callable[..., Sequence[float]]] = {
            torch.rand: lambda count, _: generator.unit(count),
            torch.rand_like: lambda count, _: generator.unit(count),
            torch.randn: lambda count, _: generator.normal(count),
            torch.randn_like: lambda count, _: generator.normal(count),
            torch.randint: lambda count, args: generator.between(count, *_bounds(args)),
            torch.randperm: lambda count, _: generator.order(count),
            torch.multinomial: lambda count, args: _by_weight(generator.unit(count), args[0]),
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        if (draw := self._draw.get(func)) is not None:
            numbers = draw(result.numel(), args)
            result.copy_(torch.tensor(numbers, dtype=torch.float64).reshape(result.shape))
        return result


def _bounds(args: Sequence[Any]) -> tuple[int, int]:
    """`torch.randint(high, size)` begins with 0."""
    low, high, *_ = args
    return (int(low), int(high)) if isinstance(high, int) else (0, int(low))


def _by_weight(unit: Sequence[float], weights: torch.Tensor) -> Sequence[int]:
    """Which place each number from 0 to 1 falls on, where each place is as wide as its weight; of rows of weights, one
    row behind the other."""
    edges = weights.double().cumsum(-1)
    numbers = torch.tensor(unit, dtype=torch.float64).reshape(*weights.shape[:-1], -1)
    places = torch.searchsorted(edges / edges[..., -1:], numbers, right=True)
    return [int(one) for one in places.clamp(max=weights.shape[-1] - 1).flatten()]

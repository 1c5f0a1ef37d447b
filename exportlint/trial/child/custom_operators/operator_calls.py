"""The calls of custom operators that eager makes, and calls of them with other arguments than the model gives."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of, with_other_values
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import TorchDispatchMode, namespaces, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.trial.child.loading.loaded import Loaded

# Record the calls of custom operators that eager makes, each with copies of its arguments.


# What is there before a target is imported; the fake kernels of these operators are torch's own affair.
_OF_TORCH = namespaces() | {"prim", "prims", "higher_order"}
_MOST_CALLS = 2  # of each operator; the later ones mostly repeat the first
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class OperatorCall:
    """One call, with the arguments as they were before it."""

    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """`namespace::operator`, with its overload if it has a name."""
        return str(self.operator.name())


def custom_operator_calls(loaded: Loaded) -> list[OperatorCall]:
    """The first calls of each custom operator that eager makes on the sample."""
    if namespaces() <= _OF_TORCH:
        return []
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, 0)
    seed(0)
    kept = _KeptCalls()
    # Eager `torch.cond` compiles, and that fails under a mode: what was called until then counts.
    with suppress(Exception), torch.no_grad(), kept:
        model(*args, **kwargs)
    return kept.calls


@dataclass
class _KeptCalls(TorchDispatchMode):  # type: ignore[misc]  # torch leaves it untyped
    calls: list[OperatorCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "namespace", "higher_order") not in _OF_TORCH:
            self._keep(OperatorCall(func, tuple(args), dict(kwargs or {})))
        return func(*args, **(kwargs or {}))

    def _keep(self, call: OperatorCall) -> None:
        tensors = [leaf for leaf in pytree.tree_leaves((call.args, call.kwargs)) if isinstance(leaf, torch.Tensor)]
        small = sum(tensor.numel() * tensor.element_size() for tensor in tensors) < _MOST_BYTES
        if small and sum(known.operator is call.operator for known in self.calls) < _MOST_CALLS:
            self.calls.append(OperatorCall(call.operator, *copies((call.args, call.kwargs))))


def copies(value: Any) -> Any:
    """The same structure with tensors of its own, which keep their layout in memory."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), value)


# Call an operator as the model does, and with other values, other sizes, other numbers and another layout in memory.
#
# So it shows which sizes of its results follow from which argument, and which from data.


Arguments = dict[str, Any]  # every argument by its name in the schema


@dataclass(frozen=True)
class Result:
    """A tensor among the results."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: str
    stride: tuple[int, ...]


@dataclass(frozen=True)
class Observed:
    """What one call gave.

    numbers   every size, length and number among the arguments, by the expression that gives it: `x.shape[0]`, `k`
    tensors   every tensor among the arguments, by its expression
    results   tensors as `Result`, numbers as they are; in lists where the operator gives a list
    """

    numbers: Mapping[str, int]
    tensors: Mapping[str, Result]
    results: tuple[Any, ...]


def observed_calls(call: OperatorCall) -> Iterator[tuple[Arguments, Observed]]:
    """The call of the model first, then all others that the operator takes, each with its arguments."""
    arguments = by_name(call)
    yield arguments, _observed(call, arguments)
    for varied in _varied(arguments):
        try:
            yield varied, _observed(call, varied)
        except Exception:  # noqa: BLE001, S112 - it need not take what the model never gives it
            continue


def by_name(call: OperatorCall) -> Arguments:
    """Those that are given, positional or not, then those that are left to their default: torch leaves out what equals
    it, and a size may follow from it."""
    schema = schema_of(call.operator).arguments
    given = {**dict(zip([argument.name for argument in schema], call.args, strict=False)), **call.kwargs}
    defaults = {
        one.name: one.default_value for one in schema if one.has_default_value() and one.default_value is not None
    }
    return {**given, **{name: value for name, value in defaults.items() if name not in given}}


def called(operator: Any, arguments: Arguments) -> Any:
    """Call it with arguments by name; those that the schema allows by position only are given so."""
    given = dict(arguments)
    positional = []
    for argument in schema_of(operator).arguments:
        if argument.kwarg_only or argument.name not in given:
            break
        positional.append(given.pop(argument.name))
    return operator(*positional, **given)


def results_of(value: Any) -> tuple[Any, ...]:
    """Every result of a call, as `Observed` keeps them."""
    several = value if isinstance(value, tuple) else () if value is None else (value,)
    return tuple(pytree.tree_map_only(torch.Tensor, described, one) for one in several)


def described(tensor: torch.Tensor) -> Result:
    """A tensor without its data; its sizes may be symbols, of a fake one."""
    return Result(tuple(tensor.shape), tensor.dtype, str(tensor.device), tuple(tensor.stride()))


def _observed(call: OperatorCall, arguments: Arguments) -> Observed:
    numbers, tensors = dict(_numbers(arguments)), {path: described(one) for path, one in _tensors(arguments)}
    seed(0)
    with torch.no_grad():
        results = results_of(called(call.operator, copies(arguments)))
    return Observed(numbers, tensors, results)


def _tensors(arguments: Arguments) -> Iterator[tuple[str, torch.Tensor]]:
    for path, value in _leaves(arguments):
        if isinstance(value, torch.Tensor):
            yield path, value


def _leaves(arguments: Arguments) -> Iterator[tuple[str, Any]]:
    for name, value in arguments.items():
        if isinstance(value, (list, tuple)):
            yield f"len({name})", len(value)
            yield from ((f"{name}[{index}]", item) for index, item in enumerate(value))
        else:
            yield name, value


def _numbers(arguments: Arguments) -> Iterator[tuple[str, int]]:
    for path, value in _leaves(arguments):
        if isinstance(value, torch.Tensor):
            yield from ((f"{path}.shape[{dim}]", size) for dim, size in enumerate(value.shape))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield path, value


def _varied(arguments: Arguments) -> Iterator[Arguments]:
    yield from _other_values(arguments)
    yield from _other_sizes(arguments)
    yield from _other_numbers(arguments)
    yield _changed(arguments, _other_layout)


def _changed(arguments: Arguments, change: Any) -> Arguments:
    varied: Arguments = pytree.tree_map_only(torch.Tensor, change, arguments)
    return varied


def _other_values(arguments: Arguments) -> Iterator[Arguments]:
    for number in (1, 2, 3):
        yield with_other_values(arguments, number)
    for number in (4, 5, 6):
        generator = torch.Generator().manual_seed(number)
        yield _changed(arguments, lambda tensor, generator=generator: _drawn_again(tensor, generator))
    yield _changed(arguments, _half_zero)
    yield _changed(arguments, torch.zeros_like)
    yield _changed(arguments, lambda tensor: torch.full_like(tensor, _end(tensor, "min")))
    yield _changed(arguments, lambda tensor: torch.full_like(tensor, _end(tensor, "max")))


def _drawn_again(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Of the values that are there, so that an index stays one; their sum and their largest may be others."""
    if tensor.numel() == 0:
        return tensor
    chosen = torch.randint(tensor.numel(), (tensor.numel(),), generator=generator)
    return tensor.reshape(-1)[chosen].reshape(tensor.shape).clone()


def _half_zero(tensor: torch.Tensor) -> torch.Tensor:
    return tensor * (torch.arange(tensor.numel(), device=tensor.device).reshape(tensor.shape) % 2).to(tensor.dtype)


def _end(tensor: torch.Tensor, which: str) -> Any:
    if tensor.numel() == 0 or tensor.dtype.is_complex:
        return 0
    if tensor.dtype == torch.bool:
        return which == "max"
    return getattr(tensor, which)().item()


def _other_layout(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, -1).contiguous().transpose(0, -1) if tensor.ndim > 1 else tensor


def _other_sizes(arguments: Arguments) -> Iterator[Arguments]:
    """Dims of one size together, since most must stay equal; then each alone. Never 1, which spreads over others."""
    together: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for path, tensor in _tensors(arguments):
        for dim, size in enumerate(tensor.shape):
            together[size].append((path, dim))
    alone = [(size, [one]) for size, several in together.items() for one in several if len(several) > 1]
    for size, dims in (*together.items(), *alone):
        for new in dict.fromkeys((size * 2, size + 1, size + 2, size * 3, size - 1, size // 3)):
            if new > 1 and new != size:
                yield _resized(arguments, set(dims), new)


def _resized(arguments: Arguments, dims: set[tuple[str, int]], size: int) -> Arguments:
    def at(path: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            for dim in range(value.ndim):
                value = _repeated(value, dim, size) if (path, dim) in dims else value
        return value

    return _mapped(arguments, at)


def _repeated(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Its own values, over and over."""
    if tensor.shape[dim] == 0:
        return tensor
    return tensor.index_select(dim, torch.arange(size, device=tensor.device) % tensor.shape[dim])


def _mapped(arguments: Arguments, change: Any) -> Arguments:
    return {
        name: type(value)(change(f"{name}[{index}]", item) for index, item in enumerate(value))
        if type(value) in (list, tuple)
        else change(name, value)
        for name, value in arguments.items()
    }


_FAR = (29,)  # where a size and a number have a smallest or largest, the other one shows


def _other_numbers(arguments: Arguments) -> Iterator[Arguments]:
    for name, value in arguments.items():
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            yield {**arguments, name: type(value)([*value, value[-1]])}
    plain = [path for path, value in _leaves(arguments) if isinstance(value, int) and not isinstance(value, bool)]
    for path in plain:
        for step in (-1, 1, 2, *_FAR):
            yield _mapped(
                arguments, lambda where, value, path=path, step=step: value + step if where == path else value
            )

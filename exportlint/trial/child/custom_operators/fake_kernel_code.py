"""Write a fake kernel from what calls of an operator gave: its schema, and sizes that follow from its arguments."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, count, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from exportlint.trial.child.custom_operators.operator_calls import Observed, Result
from exportlint.trial.child.torch_private.operators import schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class _KernelText:
    """What is written so far. `data`: the sizes that follow from data, each with the name it got."""

    def __init__(self, calls: Sequence[Observed], parameters: Collection[str]) -> None:
        self.calls = calls
        self.parameters = parameters
        self.data: dict[tuple[int, ...], str] = {}
        self.remarks: list[str] = []

    def result(self, number: int) -> str:
        """The expression of one of the results."""
        sample = self.calls[0].results[number]
        if isinstance(sample, Result):
            return self.tensor([call.results[number] for call in self.calls])
        if isinstance(sample, (list, tuple)):
            if len({len(call.results[number]) for call in self.calls}) > 1:
                self.remarks.append(f"{len(sample)} tensors, as for the sample: their number is not always that")
                return f"[{', '.join(self._of_sample_alone(one) for one in sample)}]"
            parts = ([call.results[number][index] for call in self.calls] for index in range(len(sample)))
            return f"[{', '.join(map(self.tensor, parts))}]"
        if isinstance(sample, int) and not isinstance(sample, bool):
            return self.size([call.results[number] for call in self.calls])
        return repr(sample)

    def tensor(self, given: Sequence[Result]) -> str:
        """`x.new_empty((x.shape[0], 3))`, from what each call gave."""
        like = self._like(given)
        if like and all(one.shape == call.tensors[like].shape for one, call in self._pairs(given)):
            if all(one.stride == call.tensors[like].stride for one, call in self._pairs(given)):
                return f"torch.empty_like({like})"
            sizes: list[str] | None = None
        else:
            sizes = [self.size([one.shape[dim] for one in given]) for dim in range(len(given[0].shape))]
        return self._empty(given, like, sizes)

    def _empty(self, given: Sequence[Result], like: str | None, sizes: list[str] | None) -> str:
        order = _order_in_memory(given[0])
        back = ""
        if order != sorted(order):
            sizes = sizes or [f"{like}.shape[{dim}]" for dim in range(len(order))]
            sizes = [sizes[dim] for dim in order]
            back = f".permute({', '.join(str(order.index(dim)) for dim in range(len(order)))})"
        shape = f"{like}.shape" if sizes is None else _tuple(sizes)
        base = next(iter(self.calls[0].tensors), None)
        if like:
            return f"{like}.new_empty({shape}){back}"
        if base and self.calls[0].tensors[base].device == given[0].device:
            return f"{base}.new_empty({shape}, dtype={given[0].dtype}){back}"
        return f'torch.empty({shape}, dtype={given[0].dtype}, device="{given[0].device}"){back}'

    def _like(self, given: Sequence[Result]) -> str | None:
        """The argument of the same dtype and device; first one of the same shape."""
        names = [
            name
            for name in self.calls[0].tensors
            if all(
                name in call.tensors
                and (call.tensors[name].dtype, call.tensors[name].device) == (one.dtype, one.device)
                for one, call in self._pairs(given)
            )
        ]
        same = (n for n in names if all(call.tensors[n].shape == one.shape for one, call in self._pairs(given)))
        return next(same, names[0] if names else None)

    def _pairs(self, given: Sequence[Result]) -> list[tuple[Result, Observed]]:
        return list(zip(given, self.calls, strict=True))

    def size(self, sizes: Sequence[int]) -> str:
        """The expression of a size or a number; the sample's, with a remark, where it follows from nothing seen."""
        calls = [(call.numbers, size) for call, size in zip(self.calls, sizes, strict=True)]
        if depends_on_data(calls):
            return self.data.setdefault(tuple(sizes), self._free_name())
        found = expression_of(calls)
        if found is None:
            self.remarks.append(f"{sizes[0]} is the sample's size: it follows from nothing that was tried")
        return found or str(sizes[0])

    def _free_name(self) -> str:
        taken = {*self.data.values(), *self.parameters}
        return next(name for number in count() if (name := f"size{number or ''}") not in taken)

    def _of_sample_alone(self, result: Result) -> str:
        base = next(iter(self.calls[0].tensors), "torch")
        return f"{base}.new_empty({_tuple(list(map(str, result.shape)))}, dtype={result.dtype})"


def fake_kernel_code(operator: Any, calls: Sequence[Observed]) -> str:
    """`@torch.library.register_fake(…)` with a function, ready to paste; `calls` begins with the model's own."""
    names = [argument.name for argument in schema_of(operator).arguments]
    draft = _KernelText([call for call in calls if _alike(call, calls[0])], names)
    results = [draft.result(number) for number in range(len(calls[0].results))]
    if len(results) == 1 and isinstance(calls[0].results[0], Result) and len(draft.calls) == 1:
        draft.remarks.append("the sizes are the sample's: the operator took no others")
    lines = [f'@torch.library.register_fake("{operator.name()}")', f"def _({_parameters(operator)}):"]
    lines += [f"    # {remark}" for remark in dict.fromkeys(draft.remarks)]
    lines += [f"    {name} = torch.library.get_ctx().new_dynamic_size()" for name in draft.data.values()]
    lines.append(f"    return {', '.join(results)}" if results else "    return None")
    return "\n".join(lines)


def _alike(call: Observed, sample: Observed) -> bool:
    """Results of the same kinds: for one of other dims nothing is written."""
    kinds = [
        [(type(one), len(getattr(one, "shape", ())), getattr(one, "dtype", None)) for one in of.results]
        for of in (call, sample)
    ]
    return kinds[0] == kinds[1] and call.tensors.keys() >= sample.tensors.keys()


def _parameters(operator: Any) -> str:
    """As the schema has them: torch leaves out arguments that equal their default."""
    parts: list[str] = []
    for argument in schema_of(operator).arguments:
        if argument.kwarg_only and "*" not in parts:
            parts.append("*")
        default = f"={argument.default_value!r}" if argument.has_default_value() else ""
        parts.append(f"{argument.name}{default}")
    return ", ".join(parts)


def _tuple(sizes: Sequence[str]) -> str:
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _order_in_memory(result: Result) -> list[int]:
    """The dims, the outermost in memory first."""
    dims = list(range(len(result.shape)))
    known = [dim for dim in dims if result.shape[dim] > 1]
    if sorted(known, key=lambda dim: -result.stride[dim]) == known:
        return dims
    return sorted(dims, key=lambda dim: -result.stride[dim])


# Find which expression of an operator's arguments a size of its results is.


Numbers = Mapping[str, int]
Calls = Sequence[tuple[Numbers, int]]  # the numbers of each call by the expressions that give them, and the size
_MOST_SHIFT, _MOST_FACTOR = 16, 64
_IN_LIST = re.compile(r"(?P<list>\w+)\[(?P<index>\d+)\]\.shape\[(?P<dim>\d+)\]")
_ENOUGH = 3  # sizes that must agree before two unknown numbers are read from them


class Expression(NamedTuple):
    """Python, and the same as a function of the numbers that it names."""

    text: str
    compute: Callable[..., int]
    names: tuple[str, ...] = ()

    def gives(self, calls: Calls) -> bool:
        """Is it the size in every call?"""
        try:
            return all(self.compute(*(numbers[name] for name in self.names)) == size for numbers, size in calls)
        except (KeyError, ZeroDivisionError):
            return False


def depends_on_data(calls: Calls) -> bool:
    """Was the size another in two calls whose arguments had the same sizes and numbers?"""
    seen: dict[tuple[tuple[str, int], ...], set[int]] = {}
    for numbers, size in calls:
        seen.setdefault(tuple(sorted(numbers.items())), set()).add(size)
    return any(len(sizes) > 1 for sizes in seen.values())


def expression_of(calls: Calls) -> str | None:
    """The expression that gives the size in every call; None where none of those that are tried does.

    >>> calls = [({"x.shape[0]": 5, "k": 2}, 10), ({"x.shape[0]": 7, "k": 2}, 14), ({"x.shape[0]": 5, "k": 3}, 15)]
    >>> expression_of(calls)
    'x.shape[0] * k'
    """
    names = [name for name in calls[0][0] if all(name in numbers for numbers, _ in calls)]
    varied = [name for name in names if len({numbers[name] for numbers, _ in calls}) > 1]
    found = (one.text for one in _tried(names, varied, calls) if one.gives(calls))
    return next(found, None) or _sum_over_list(calls)


def _tried(names: Sequence[str], varied: Sequence[str], calls: Calls) -> Iterator[Expression]:
    """The simplest first. What never varied shows nothing."""
    yield from (Expression(name, int, (name,)) for name in varied)
    yield Expression(str(calls[0][1]), partial(int, calls[0][1]))
    yield from _of_all_dims(names, varied)
    yield from _of_two(varied)
    for name in varied:
        if len({numbers[name] for numbers, _ in calls}) >= _ENOUGH:
            yield from _lines(name)


_SYMMETRIC: Mapping[str, Callable[[int, int], int]] = {
    "{} * {}": operator.mul,
    "{} + {}": operator.add,
    "min({}, {})": min,
    "max({}, {})": max,
}
_ORDERED: Mapping[str, Callable[[int, int], int]] = {
    "{} - {}": operator.sub,
    "{} - {} + 1": lambda a, b: a - b + 1,
    "{} // {}": operator.floordiv,
}


def _of_two(names: Sequence[str]) -> Iterator[Expression]:
    for table, pairs in ((_SYMMETRIC, combinations(names, 2)), (_ORDERED, permutations(names, 2))):
        for one, other in pairs:
            if not _list_of(one) or _list_of(one) != _list_of(other):  # else true for so many tensors only
                yield from (Expression(text.format(one, other), both, (one, other)) for text, both in table.items())


def _list_of(name: str) -> str:
    found = _IN_LIST.fullmatch(name)
    return found["list"] if found else ""


def _of_all_dims(names: Sequence[str], varied: Sequence[str]) -> Iterator[Expression]:
    """`x.numel()`."""
    for tensor in dict.fromkeys(name.partition(".shape[")[0] for name in varied if ".shape[" in name):
        dims = tuple(name for name in names if name.startswith(f"{tensor}.shape["))
        yield Expression(f"{tensor}.numel()", lambda *sizes: math.prod(sizes), dims)


def _lines(name: str) -> Iterator[Expression]:
    """A number times, plus or by a constant; or `(n + a) // b`, as a window that moves over it gives it."""
    for factor in range(2, _MOST_FACTOR + 1):
        yield Expression(f"{name} * {factor}", partial(operator.mul, factor), (name,))
    for factor in range(1, _MOST_FACTOR + 1):
        for shift in sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs):
            moved = f"{name} {'-' if shift < 0 else '+'} {abs(shift)}" if shift else name
            text = f"{f'({moved})' if shift else moved} // {factor}" if factor > 1 else moved
            yield Expression(text, partial(_moved, shift, factor), (name,))


def _moved(shift: int, factor: int, number: int) -> int:
    return (number + shift) // factor


def _sum_over_list(calls: Calls) -> str | None:
    """Over all tensors of a list, however many each call had."""
    for first in filter(None, map(_IN_LIST.fullmatch, calls[0][0])):
        start, end = f"{first['list']}[", f"].shape[{first['dim']}]"
        if all(sum(_sizes(numbers, start, end)) == size for numbers, size in calls):
            return f"sum(one{end[1:]} for one in {first['list']})"
    return None


def _sizes(numbers: Numbers, start: str, end: str) -> Iterator[int]:
    return (size for name, size in numbers.items() if name.startswith(start) and name.endswith(end))

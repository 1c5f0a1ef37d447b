"""Write a fake kernel from what calls of an operator gave: its schema, and sizes that follow from its arguments."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.custom_operators.size_expressions import depends_on_data, expression_of
from exportlint.trial.child.custom_operators.varied_calls import Observed, Result

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


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
    names = [argument.name for argument in operator._schema.arguments]  # noqa: SLF001 - no public name
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
    for argument in operator._schema.arguments:  # noqa: SLF001 - no public name
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

"""Why targets refuse programs, and what to write instead: what is the same for every target that has converters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.lowering.backend import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

TENSORS_ONLY = "return tensors only, and let the caller add the other values"
TENSOR_ARGUMENTS = "export a module whose forward takes tensors only, with the other arguments fixed in its constructor"
REAL_NUMBERS = "compute with real numbers: keep the real and the imaginary part as two tensors"
OTHER_DTYPE = "use float32 for this target: model.float(), and float32 inputs"
SAME_DTYPES = "give both sides one dtype: x.to(y.dtype), torch.full_like in place of a number"
KNOWN_SIZES = "keep the size fixed: torch.where or a mask that multiplies, in place of picking elements"
NO_NOISE = "take the random values as an argument"
NO_LOOP = "write the loop out in Python, where its length is known when the model is exported"
SMALLER_STEPS = "write it with simpler operators, or compute it outside of the exported module"
_PROD = "of positive values: torch.exp(torch.log(x).sum(dim)) is prod, torch.exp(torch.log(x).cumsum(dim)) is cumprod"

# Where a rewrite is known; by the operator's name without its namespace, overload, and a leading underscore. Tests try
# each rewrite for one operator of its row.
_INSTEAD = (
    (r"fft\w*|stft|istft", "multiply with the matrices of cosines and sines, which are constants of the model"),
    (r"nonzero|masked_select", KNOWN_SIZES),
    (r"rand\w*|normal\w*|bernoulli|multinomial|native_dropout", NO_NOISE),
    (r"cumprod|prod", _PROD),
    (r"scan|map_impl|while_loop", NO_LOOP),
    (r"complex|view_as_complex|view_as_real|polar|angle", REAL_NUMBERS),
)
BOOL_PREDICATE = "give torch.cond a bool: `x.sum() != 0`"
_TORCH = ("aten", "prims", "higher_order")


_FUNCTION = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")


def no_converter(target: str, operators: Sequence[str], register: str, why: str = "") -> Reason:
    """For operators as torch prints them; `register` says how one may add a converter for an operator of one's own."""
    operators = [_FUNCTION.sub(r"\1", operator) for operator in operators]
    suggestion = next(filter(None, map(_instead, operators)), "")
    if not suggestion:
        own = [one for one in operators if one.partition(".")[0] not in _TORCH and "." in one]
        suggestion = f"write the operator in PyTorch operators, or {register}" if own else SMALLER_STEPS
    return Reason(f"{target} has no converter for {', '.join(operators)}{why}", tuple(operators), suggestion)


def _instead(operator: str) -> str:
    """`aten._fft_r2c.default` -> the rewrite for fft."""
    parts = operator.split(".")
    name = (parts[1] if len(parts) > 1 else parts[0]).lstrip("_")
    return next((words for pattern, words in _INSTEAD if re.fullmatch(pattern, name)), "")

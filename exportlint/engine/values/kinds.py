"""What sorts of things expressions are, and where tensors come from."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
    """One step of a trail: what was read, and on which line."""

    text: str
    line: int

"""The names that NumPy's functions have in torch."""

from __future__ import annotations

_SAME = (
    "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh exp expm1 log log2 log10 log1p sqrt abs square sign round "
    "floor ceil argsort cumsum cumprod stack hstack vstack where isnan isinf isfinite nan_to_num sum mean prod argmax "
    "argmin matmul dot outer reshape squeeze flip roll zeros_like ones_like full_like diff tril triu trace argwhere "
    "logical_and logical_or logical_not any all count_nonzero linspace arange zeros ones full eye einsum tile amax "
    "amin trunc swapaxes moveaxis reciprocal searchsorted bincount exp2 hypot float_power add linalg.norm linalg.inv "
    "linalg.det linalg.solve linalg.svd fft.fft fft.rfft fft.ifft fft.irfft"
)
FUNCTIONS = {name: name for name in _SAME.split()} | {
    "clip": "clamp", "concatenate": "cat", "absolute": "abs", "max": "amax", "min": "amin", "power": "pow",
    "expand_dims": "unsqueeze", "cross": "linalg.cross", "rint": "round", "fix": "trunc", "multiply": "mul",
    "subtract": "sub", "divide": "div", "negative": "neg", "mod": "remainder",
}  # fmt: skip
# Of two tensors in torch, of a tensor and a number in NumPy, too.
BOUNDS = {"maximum": "min", "minimum": "max"}
# What makes an array of something that is a tensor already.
UNCHANGED = frozenset({"asarray", "array", "ascontiguousarray", "asanyarray", "atleast_1d", "copy"})
DTYPES = {
    "float16": "float16", "float32": "float32", "float64": "float64", "int8": "int8", "int16": "int16",
    "int32": "int32", "int64": "int64", "uint8": "uint8", "bool_": "bool", "complex64": "complex64",
    "complex128": "complex128",
    "single": "float32", "double": "float64", "bool": "bool",
}  # fmt: skip
KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max", "decimals": "decimals"}
METHODS = {"copy": "clone", "clip": "clamp", "max": "amax", "min": "amin"}
# Spread over the population in NumPy, over a sample in torch.
SPREADS = frozenset({"std", "var"})

"""A tensor as bytes: what goes between the process that has torch and one that has only a target's runtime."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import torch

BFLOAT16 = "bfloat16"


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """A dense tensor on the CPU: its dtype as torch names it (`float32`), its shape, its values row by row."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, value: Any) -> TensorBytes:
        """Of a torch tensor or a NumPy array.

        >>> TensorBytes.of(np.zeros((2, 3), np.float32)).shape
        (2, 3)
        """
        if hasattr(value, "data_ptr"):  # without importing torch where only NumPy is
            plain: Any = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
            data = ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size()) if plain.numel() else b""
            return cls(str(value.dtype).removeprefix("torch."), tuple(value.shape), data)
        return cls(str(value.dtype), tuple(value.shape), value.tobytes())

    def torch(self) -> torch.Tensor:
        """As a torch tensor of its own memory."""
        import torch  # noqa: PLC0415 - only in a process whose runtime it is

        dtype = getattr(torch, self.dtype)
        if not math.prod(self.shape):
            return torch.empty(self.shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.data), dtype=dtype).reshape(self.shape)

    def numpy(self) -> np.ndarray[Any, Any]:
        """As a NumPy array of its own memory; bfloat16 needs ml_dtypes."""
        import numpy as np  # noqa: PLC0415 - only in a process whose runtime it is

        dtype = _bfloat16() if self.dtype == BFLOAT16 else np.dtype(self.dtype)
        array: np.ndarray[Any, Any] = np.frombuffer(bytearray(self.data), dtype).reshape(self.shape)
        return array


def _bfloat16() -> Any:
    import ml_dtypes  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - comes with onnx and tvm

    return ml_dtypes.bfloat16


def numpy_bits(leaf: Any) -> tuple[np.ndarray[Any, Any], bool]:
    """A leaf for a runtime that takes NumPy's arrays, and whether it is bfloat16, which NumPy lacks: it goes as the
    integers of its bits."""
    import numpy as np  # noqa: PLC0415 - only in a process whose runtime it is

    if not isinstance(leaf, TensorBytes):
        return np.asarray(leaf), False
    if leaf.dtype != BFLOAT16:
        return leaf.numpy(), False
    return np.frombuffer(bytearray(leaf.data), np.uint16).reshape(leaf.shape), True


def torch_leaves(leaves: Sequence[Any]) -> list[Any]:
    """The same values with torch tensors for arrays."""
    return [leaf.torch() if isinstance(leaf, TensorBytes) else leaf for leaf in leaves]


def array_leaves(leaves: Sequence[Any]) -> list[Any]:
    """The same values with arrays for tensors of torch or NumPy."""
    return [TensorBytes.of(leaf) if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else leaf for leaf in leaves]

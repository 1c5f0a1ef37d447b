"""Write the leaves of one call into a file, and read them in another process: JSON first, then the bytes of arrays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import TensorBytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def write_leaves(file: Path, leaves: Sequence[Any]) -> None:
    """Arrays and plain values; what is neither is written as the name of its class."""
    head = json.dumps([_described(leaf) for leaf in leaves]).encode()
    with file.open("wb") as stream:
        stream.write(len(head).to_bytes(8, "little") + head)
        for leaf in leaves:
            if isinstance(leaf, TensorBytes):
                stream.write(leaf.data)


def write_npz(file: Path, leaves: Sequence[Any]) -> None:
    """The arrays and numbers among the leaves, as arg0, arg1, … by their position, for a script with NumPy alone."""
    import numpy as np  # noqa: PLC0415 - comes with every runtime that takes arrays

    kept: Any = {
        f"arg{position}": leaf.numpy() if isinstance(leaf, TensorBytes) else np.asarray(leaf)
        for position, leaf in enumerate(leaves)
        if isinstance(leaf, (TensorBytes, int, float))
    }
    np.savez(file, **kept)


def read_leaves(file: Path) -> list[Any]:
    """What `write_leaves` wrote."""
    data = memoryview(file.read_bytes())
    size = int.from_bytes(data[:8], "little")
    return list(_leaves(json.loads(bytes(data[8 : 8 + size])), data[8 + size :]))


def _leaves(described: list[Any], data: memoryview) -> Iterator[Any]:
    at = 0
    for leaf in described:
        if isinstance(leaf, list):
            dtype, shape, length = leaf
            yield TensorBytes(dtype, tuple(shape), bytes(data[at : at + length]))
            at += length
        else:
            yield leaf["value"]


def _described(leaf: Any) -> Any:
    if isinstance(leaf, TensorBytes):
        return [leaf.dtype, leaf.shape, len(leaf.data)]
    plain = isinstance(leaf, (bool, int, float, str, type(None)))
    return {"value": leaf if plain else type(leaf).__name__}

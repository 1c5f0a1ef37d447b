"""A new process without exportlint: export each model of a file with a pasted declaration, run sizes within it.

    python run_pasted.py MODELS.py CODES.json

Prints as JSON, by model: how many sizes agreed with eager, how many eager refused, and what was wrong.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

DRAWS = 10
LARGEST = 300


def roots_of(shapes: Any) -> dict[str, Any]:
    """The named dims of a declaration, and those that others are computed from."""
    found = {}
    for dim in pytree.tree_leaves(shapes):
        named = getattr(dim, "root", dim)
        if hasattr(named, "__name__"):
            found[named.__name__] = named
    return found


def drawn(dims: dict[str, Any], draw: random.Random, number: int) -> dict[str, int]:
    """Sizes within the ranges: all at their least, all at most, then any."""
    sizes = {}
    for name, dim in dims.items():
        low, high = max(1, int(dim.min)), min(LARGEST, int(dim.max) if dim.max < 1 << 62 else 24)
        sizes[name] = [low, high][number] if number < 2 else draw.randint(low, high)
    return sizes


def size_of(dim: Any, sizes: dict[str, int], sample: int, draw: random.Random) -> int:
    if hasattr(dim, "root"):
        return int(dim.fn(sizes[dim.root.__name__]))
    if hasattr(dim, "__name__"):
        return sizes[dim.__name__]
    low, high = getattr(dim, "min", None), getattr(dim, "max", None)
    return draw.randint(int(low or 2), int(high) if high is not None and high < 1 << 62 else sample + 9)


def resized(tensor: torch.Tensor, declared: Any, sizes: dict[str, int], draw: random.Random) -> torch.Tensor:
    for dim, what in (declared or {}).items():
        size = size_of(what, sizes, tensor.shape[dim], draw)
        tensor = tensor.index_select(dim, torch.arange(size) % tensor.shape[dim])
    return tensor


def inputs_with(
    names: list[str], values: dict[str, Any], shapes: Any, sizes: dict[str, int], draw: Any
) -> dict[str, Any]:
    return {
        name: resized(values[name], shapes[name], sizes, draw)
        if isinstance(values[name], torch.Tensor)
        else values[name]
        for name in names
    }


def run(cls: Any, code: str) -> dict[str, Any]:
    torch.manual_seed(0)
    model, args = cls().eval(), cls.inputs()
    kwargs = cls.kwargs() if hasattr(cls, "kwargs") else {}
    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102 - this is what pasting is
    shapes = space["dynamic_shapes"]
    program = torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes).module()
    values = dict(zip(list(shapes)[: len(args)], args, strict=True)) | kwargs
    counts: dict[str, Any] = {"right": 0, "refused": 0, "wrong": []}
    draw = random.Random(1)  # noqa: S311 - no secret
    for number in range(DRAWS):
        sizes = drawn(roots_of(shapes), draw, number)
        given = inputs_with(list(values), values, shapes, sizes, draw)
        positional = [given[name] for name in list(shapes)[: len(args)]]
        named = {name: given[name] for name in kwargs}
        try:
            ours = model(*positional, **named)
        except Exception:  # noqa: BLE001 - whatever eager raises, it does not take these sizes
            counts["refused"] += 1
            continue
        try:
            torch.testing.assert_close(program(*positional, **named), ours, rtol=1e-3, atol=1e-4)
            counts["right"] += 1
        except Exception as exc:  # noqa: BLE001 - a program may raise anything, and all of it is wrong
            counts["wrong"].append(f"{sizes}: {exc}"[:300])
    return counts


def main(models: str, codes: str) -> None:
    spec = importlib.util.spec_from_file_location("pasted", models)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["pasted"] = module
    spec.loader.exec_module(module)
    wanted = json.loads(Path(codes).read_text("utf-8"))
    print(json.dumps({name: run(getattr(module, name), code) for name, code in wanted.items()}))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(*sys.argv[1:])

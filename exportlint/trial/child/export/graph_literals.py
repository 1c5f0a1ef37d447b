"""Read the literals of an exported graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor

from exportlint.trial.child.execution.graph_places import constant_place
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.protocol.frames import message_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")


def literals(program: Any) -> dict[str, Any]:
    """Node by node: what is called, the numbers and texts it is called with, and where the code stands.

    Plain data that pickles, with each node as text too; empty for a program that is no ExportedProgram.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        return {}
    nodes = [(str(node.target), _plain((node.args, node.kwargs)), place_of(node)) for node in program.graph.nodes]
    constants = {name: repr(snapshot(value)) for name, value in program.constants.items()}
    shown = {name: _brief(value) for name, value in program.constants.items()}
    places = {name: [list(frame) for frame in constant_place(program, name)] for name in constants}
    text = [str(node.format_node()) for node in program.graph.nodes]
    return {"nodes": nodes, "text": text, "constants": constants, "shown": shown, "places": places}


_FEW = 4  # numbers that a person reads in a sentence


def _brief(value: Any) -> str:
    """The first numbers of a constant."""
    if not isinstance(value, torch.Tensor) or value.is_sparse or value.is_quantized:
        return type(value).__name__
    first = value.detach().reshape(-1)[:_FEW].tolist()
    numbers = ", ".join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in first)
    return f"[{numbers}{', …' if value.numel() > _FEW else ''}]" if value.dim() else numbers


def _plain(value: Any) -> Any:
    return [text for _, text in _numbers(value)]


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, (bool, int, float, str)):
        yield path, repr(value)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _numbers(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}[{key!r}]")


def place_of(node: Any) -> list[list[Any]]:
    return [list(frame) for frame in message_frames(node.meta.get("stack_trace") or "")]


_BEFORE = 4  # FakeTensors that are made before the one that is meant


def perturbed(function: Callable[[], T]) -> T:
    """Call `function` while objects are made at other addresses: a fork has the very addresses of its parent.

    Python keeps a heap for each size of small objects (16 to 512 bytes), so there is ballast of every size for its
    free places. An object that dies in both processes leaves its place to the same new one, so other FakeTensors take
    such places first (8 of 40 exports of `id(x)` gave one address twice without them, 3 of 40 with one, 0 of 60 with
    four).
    """
    ballast: list[Any] = [bytes(size) for size in range(1, 480, 16) for _ in range(2_000)]
    make = FakeTensor.__new__

    def make_elsewhere(*args: Any, **kwargs: Any) -> Any:
        ballast.extend(make(*args, **kwargs) for _ in range(_BEFORE))
        return make(*args, **kwargs)

    with mock.patch.object(FakeTensor, "__new__", make_elsewhere):
        return function()

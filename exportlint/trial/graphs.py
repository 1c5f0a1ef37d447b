"""The literals of an exported graph: those that change from one export to the next were baked while tracing."""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from exportlint.trial.observation import Frame, Observation, message_frames, placed
from exportlint.trial.values import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")


def literals(program: Any) -> dict[str, Any]:
    """Node by node: what is called, the numbers and texts it is called with, and where the code stands.

    Plain data that pickles; empty for a program that is no ExportedProgram.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        return {}
    nodes = [(str(node.target), _plain((node.args, node.kwargs)), _place(node)) for node in program.graph.nodes]
    constants = {name: repr(snapshot(value)) for name, value in program.constants.items()}
    places = {name: [list(frame) for frame in constant_place(program, name)] for name in constants}
    return {"nodes": nodes, "constants": constants, "places": places}


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


def _place(node: Any) -> list[list[Any]]:
    return [list(frame) for frame in message_frames(node.meta.get("stack_trace") or "")]


def baked(ours: Mapping[str, Any], twin: Mapping[str, Any]) -> Iterator[Observation]:
    """Literals that differ between two exports of the same model with the same inputs."""
    if not ours or not twin:
        return
    pairs = list(zip(ours["nodes"], twin["nodes"], strict=False))
    if len(ours["nodes"]) != len(twin["nodes"]) or any(a[0] != b[0] for a, b in pairs):
        return  # another graph is no longer a question of literals
    for (called, first, place), (_, second, _) in pairs:
        for a, b in zip(first, second, strict=False):
            if a != b:
                yield _baked(f"{called} was called with {a} in one export and with {b} in the next", place)
    for name, value in ours["constants"].items():
        if twin["constants"].get(name, value) != value:
            yield _baked(f"constant {name!r} has other values in every export", ours["places"][name])


def constant_place(program: Any, name: str) -> tuple[Frame, ...]:
    """Where the code stands that first uses a constant of the program."""
    inputs = {constant: node for node, constant in program.graph_signature.inputs_to_lifted_tensor_constants.items()}
    node = next((node for node in program.graph.nodes if node.name == inputs.get(name)), None)
    users = list(node.users) if node is not None else []
    return message_frames(users[0].meta.get("stack_trace") or "") if users else ()


_ASSIGNED = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=")


def source_of(program: Any, exc: BaseException) -> tuple[Frame, ...]:
    """Where the code stands whose node raised while an exported program ran; empty when no node can be told."""
    if not isinstance(program, torch.fx.GraphModule):
        return ()
    nodes = {node.name: node for node in program.graph.nodes}
    for frame in reversed(traceback.extract_tb(exc.__traceback__)):
        found = _ASSIGNED.match(frame.line or "") if frame.filename.startswith("<eval_with_key>") else None
        if found and found[1] in nodes:
            return message_frames(nodes[found[1]].meta.get("stack_trace") or "")
    return ()


def _baked(text: str, place: list[list[Any]]) -> Observation:
    frames = [Frame(*frame) for frame in place]
    return placed("difference", f"baked while tracing: {text}", frames, details={"check": "baked"})


def perturbed(function: Callable[[], T]) -> T:
    """Call it where objects lie elsewhere in memory: a fork has the very addresses of its parent."""
    ballast = [object() for _ in range(54_321)]
    kept = ballast[::3]
    del ballast
    try:
        return function()
    finally:
        del kept

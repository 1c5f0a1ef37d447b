"""Check: a second export gives the same literals. Those that change were baked while tracing."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.graph_places import constant_place
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.torch_private.tensors import perturbed
from exportlint.trial.protocol.frames import Frame, message_frames
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.soundness.subject import Subject


_FILE = "second-export.pickle"
_WEIGHTS = "weights.pt"


def baked_literals(subject: Subject) -> Iterator[Observation]:
    """Literals that differ between the export and a second one."""
    if subject.exported.is_program and subject.second_export is not None:
        yield from changed_literals(literals(subject.exported.program), subject.second_export)


def literals_of_second_export(request: StageRequest, mode: str) -> dict[str, Any]:
    """Export with another seed, and where objects lie elsewhere in memory. To be run in a fork."""
    return literals(perturbed(lambda: export(request.loaded, mode, number=1)).program)


def keep_literals(folder: Path, found: Mapping[str, Any]) -> None:
    """Store the literals of a second export for the target's later stages."""
    (folder / _FILE).write_bytes(pickle.dumps(found))


def kept_literals(folder: Path) -> Mapping[str, Any] | None:
    """What `keep_literals` stored; None where a second export gave none."""
    file = folder / _FILE
    return pickle.loads(file.read_bytes()) if file.exists() else None  # noqa: S301 - our own fork wrote it


def keep_weights(folder: Path, model: Any) -> None:
    """Store what a module holds, for a process that makes it in another order."""
    if isinstance(model, torch.nn.Module):
        torch.save(model.state_dict(), folder / _WEIGHTS)


def kept_weights(folder: Path) -> Any:
    """What `keep_weights` stored; None where the model is no module."""
    file = folder / _WEIGHTS
    return torch.load(file, weights_only=False) if file.exists() else None


def changed_literals(ours: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Observation]:
    """Literals that differ between two exports of the same model with the same inputs."""
    if not ours or not second:
        return
    pairs = list(zip(ours["nodes"], second["nodes"], strict=False))
    if len(ours["nodes"]) != len(second["nodes"]) or any(a[0] != b[0] for a, b in pairs):
        return  # another graph is no longer a question of literals
    for (operator, first, place), (_, other, _) in pairs:
        for number, (a, b) in enumerate(zip(first, other, strict=False)):
            if a != b:
                output = {"output_of": ours["outputs"][number]} if operator == "output" else {}
                yield _baked(place, operator=operator, ours=a, theirs=b, **output)
    for name, value in ours["constants"].items():
        if second["constants"].get(name, value) != value:
            yield _baked(
                ours["places"][name], constant=name, ours=ours["shown"][name], theirs=second["shown"].get(name)
            )


def _baked(place: list[list[Any]], **fields: Any) -> Observation:
    return Observation("difference", details={"check": "baked", **fields}).at([Frame(*frame) for frame in place])


# Read the literals of an exported graph.


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
    return {
        "nodes": nodes,
        "text": text,
        "constants": constants,
        "shown": shown,
        "places": places,
        "outputs": _outputs(program),
    }


def _outputs(program: torch.export.ExportedProgram) -> list[tuple[int, int]]:
    """Of each number among the outputs: which of those that forward returns it is, and how many these are."""
    specs = program.graph_signature.output_specs
    (returned,) = next(node.args for node in program.graph.nodes if node.op == "output")
    own = [one.kind is torch.export.graph_signature.OutputKind.USER_OUTPUT for one in specs]
    return [
        (sum(own[:at]), sum(own))
        for at, (value, is_own) in enumerate(zip(returned, own, strict=False))
        for _ in (_numbers(value) if is_own else ())
    ]


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

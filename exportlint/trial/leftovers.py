"""What an export leaves in the program and in the model it was given. Runs in the child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.graphs import constant_place
from exportlint.trial.observation import Observation, placed
from exportlint.trial.values import is_fake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.exporting import Exported


def graph_notes(exported: Exported) -> Iterator[Observation]:
    """Inputs that the program does not use, and constants without data."""
    program = exported.program
    users = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in users and not node.users:
            text = f"the exported program never uses its input {node.name!r}"
            yield Observation("note", text, details={"note": "unused-input", "input": node.name})
    for name, value in program.constants.items():
        if is_fake(value):
            text = f"constant {name!r} of the exported program is a FakeTensor, without data"
            details = {"check": "fake-tensor-left", "where": "constants", "name": name}
            yield placed("difference", text, constant_place(program, name), details=details)


def leaks(exported: Exported) -> Iterator[Observation]:
    """The training mode that was exported, and fake tensors in the model that was."""
    if not isinstance(exported.model, torch.nn.Module):
        return
    modules = exported.model.named_modules()
    training = [name or "the model" for name, module in modules if module.training and _asks_for_mode(module)]
    if training:
        text = f"exported in training mode: {', '.join(training[:5])}"
        learns = any(m.training and getattr(m, "track_running_stats", False) for m in exported.model.modules())
        yield Observation("note", text, details={"note": "training-mode", "modules": training, "learns": learns})
    for name, module in exported.model.named_modules():
        held = {**vars(module), **dict(module.named_buffers(recurse=False))}
        for key, value in held.items():
            if is_fake(value) or (isinstance(value, (list, tuple)) and any(map(is_fake, value))):
                place = f"{name}.{key}".lstrip(".")
                text = f"the export left a FakeTensor in the model's attribute {place!r}: eager is broken from now on"
                details = {"check": "fake-tensor-left", "where": "model", "name": place}
                yield Observation("difference", text, details=details)


def _asks_for_mode(module: Any) -> bool:
    """Does the code of the module's class, torch.nn.Module's own aside, look at the flag?"""
    classes = type(module).__mro__[: type(module).__mro__.index(torch.nn.Module)]
    codes = (getattr(member, "__code__", None) for cls in classes for member in vars(cls).values())
    return any(code is not None and "training" in code.co_names for code in codes)

"""Check: no tensor of the trace, which has no data, is left in the program or in the model that was exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.graph_places import constant_place
from exportlint.trial.child.execution.inputs.pytree_leaves import is_fake
from exportlint.trial.child.soundness.attribute_lines import attribute_frame
from exportlint.trial.child.soundness.eager_after_export import changed_model
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject


def fakes_in_program(subject: Subject) -> Iterator[Observation]:
    """Constants of the program without data."""
    if not subject.exported.is_program:
        return
    program = subject.exported.program
    for name, value in program.constants.items():
        if is_fake(value):
            yield _left("constants", name).at(constant_place(program, name))


def fakes_in_model(subject: Subject) -> Iterator[Observation]:
    """Attributes and buffers of the exported model that hold a tensor without data, where its next calls show it.

    A leftover that is overwritten before it is read harms nobody.
    """
    left = list(fakes_left_in(subject.exported.model))
    if left and any(True for _ in changed_model(subject)):
        yield from left


def fakes_left_in(model: Any) -> Iterator[Observation]:
    """Attributes and buffers of any model that hold a tensor without data; none for what is no module."""
    for name, module in model.named_modules() if isinstance(model, torch.nn.Module) else ():
        held = {**vars(module), **dict(module.named_buffers(recurse=False))}
        for key, value in held.items():
            if is_fake(value) or (isinstance(value, (list, tuple)) and any(map(is_fake, value))):
                yield _left("model", f"{name}.{key}".lstrip(".")).at(attribute_frame(module, key))


def _left(where: str, name: str) -> Observation:
    return Observation("difference", details={"check": "fake-tensor-left", "where": where, "name": name})

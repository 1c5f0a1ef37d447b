"""Check: the model was not in training mode when it was exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject


def exported_in_training_mode(subject: Subject) -> Iterator[Observation]:
    """The modules in training mode whose code looks at the flag."""
    model = subject.exported.model
    if not isinstance(model, torch.nn.Module):
        return
    modules = model.named_modules()
    training = [name or "the model" for name, module in modules if module.training and _asks_for_mode(module)]
    if training:
        learns = any(m.training and getattr(m, "track_running_stats", False) for m in model.modules())
        yield Observation("note", details={"note": "training-mode", "modules": training, "learns": learns})


def _asks_for_mode(module: Any) -> bool:
    """Does the code of the module's class, torch.nn.Module's own aside, look at the flag?"""
    classes = type(module).__mro__[: type(module).__mro__.index(torch.nn.Module)]
    codes = (getattr(member, "__code__", None) for cls in classes for member in vars(cls).values())
    return any(code is not None and "training" in code.co_names for code in codes)

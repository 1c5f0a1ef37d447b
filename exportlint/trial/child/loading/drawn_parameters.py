"""Give an edited model the weights that the first call of the unedited one drew.

A rewrite that makes a lazy layer in `__init__` draws its weights at another moment, and with them those of all layers
that are made later. What is not drawn, such as a weight that begins with ones, is compared as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import other_randomness, seed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.loading.loaded import Loaded


Parameters = dict[str, torch.Tensor]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # positional and keyword arguments


def drawn_parameters(loaded: Loaded, inputs: Given, number: int) -> Parameters:
    """The parameters that random numbers made, by name, before the first call or in it, which `number` seeds."""
    before, ours = _parameters(loaded, inputs, number)
    with other_randomness():
        others_before, others = _parameters(loaded, inputs, number)
    return _differing({**ours, **before}, {**others, **others_before})


def names_of_parameters(model: Any) -> frozenset[str]:
    """Those that have values."""
    return frozenset(_snapshots(model))


def with_parameters(loaded: Loaded, drawn: Mapping[str, torch.Tensor]) -> Any:
    """A fresh model; what it draws has the values of `drawn` where they have the same name and shape."""
    model = loaded.eager()
    if drawn:
        with other_randomness():
            others = _snapshots(loaded.eager())
        own = dict(model.named_parameters())
        for name in _differing(_snapshots(model), others):
            if name in drawn and drawn[name].shape == own[name].shape and drawn[name].dtype == own[name].dtype:
                own[name].detach().copy_(drawn[name])
    return model


def _parameters(loaded: Loaded, inputs: Given, number: int) -> tuple[Parameters, Parameters]:
    """Before the first call, and after it."""
    model = loaded.eager()
    before = _snapshots(model)
    args, kwargs = copied(inputs)
    seed(number)
    try:
        model(*args, **kwargs)
    except BaseException:  # noqa: BLE001 - what a call raises is compared elsewhere
        return before, before
    return before, _snapshots(model)


def _snapshots(model: Any) -> Parameters:
    named = model.named_parameters() if isinstance(model, torch.nn.Module) else ()
    return {name: one.detach().clone() for name, one in named if not torch.nn.parameter.is_lazy(one)}


def _differing(ours: Parameters, theirs: Parameters) -> Parameters:
    shared = {name: one for name, one in ours.items() if name in theirs and one.shape == theirs[name].shape}
    return {name: one for name, one in shared.items() if not torch.equal(one, theirs[name])}

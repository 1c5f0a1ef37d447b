"""The first of several ways to build and call a model that runs. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch

Way = TypeVar("Way")
Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def first_that_runs(
    ways: Iterable[Way], make: Callable[[Way], Any], inputs: Callable[[Any], Iterable[Inputs]]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The model of a way, with inputs that it accepts. RuntimeError with the first reason when there is none."""
    why: Exception | None = None
    for way in ways:
        try:
            model = make(way).eval()
            for args, kwargs in inputs(model):
                try:
                    with torch.no_grad():
                        model(*args, **kwargs)
                except Exception as exc:  # noqa: BLE001 - other inputs may do
                    why = why or exc
                else:
                    return model, args, kwargs
        except Exception as exc:  # noqa: BLE001 - another way may do
            why = why or exc
    raise RuntimeError(f"no way to build and call it was found ({type(why).__name__}: {str(why)[:200]})")

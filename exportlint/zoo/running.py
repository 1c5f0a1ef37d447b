"""Build and call variants of a model until one runs; with the code that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Variant = TypeVar("Variant")
ModelInputs = tuple[tuple[Any, ...], dict[str, Any]]
ModelCode = tuple[str, str]  # an import, and the expression that makes the model
_MOST_IN_LINE = 4
Built = tuple[Any, tuple[Any, ...], dict[str, Any], ModelCode]


def first_that_runs(
    variants: Iterable[Variant], make: Callable[[Variant], Any], inputs: Callable[[Any], Iterable[ModelInputs]]
) -> tuple[Variant, Any, tuple[Any, ...], dict[str, Any]]:
    """The variant, its model and inputs that it accepts. RuntimeError with the first reason when there is none."""
    why: Exception | None = None
    for variant in variants:
        try:
            model = make(variant).eval()
            for args, kwargs in inputs(model):
                try:
                    with torch.no_grad():
                        model(*args, **kwargs)
                except Exception as exc:  # noqa: BLE001 - other inputs may do
                    why = why or exc
                else:
                    return variant, model, args, kwargs
        except Exception as exc:  # noqa: BLE001 - another way may do
            why = why or exc
    raise RuntimeError(f"no way to build and call it was found ({type(why).__name__}: {str(why)[:200]})") from why


def call(maker: str, options: Mapping[str, Any], *given: str) -> str:
    """The call as code; many options stand one on a line."""
    parts = [*map(repr, given), *(f"{name}={value!r}" for name, value in options.items())]
    between = f",\n{' ' * 8}" if len(parts) > _MOST_IN_LINE else ", "
    return f"{maker}({between.join(parts)})"

"""Build and call variants of a model until one runs; with the code that makes it."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.nn.modules import module as hooks

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
    """The variant, its model and inputs that it accepts.

    RuntimeError with the first reason when there is none, and with the package where one is missing.
    """
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
        except ImportError as exc:
            raise RuntimeError(_missing(exc)) from exc
        except Exception as exc:  # noqa: BLE001 - another way may do
            why = why or exc
    told = _missing(why) if isinstance(why, ImportError) else ""
    raise RuntimeError(
        told or f"no way to build and call it was found ({type(why).__name__}: {str(why)[:200]})"
    ) from why


class _TooLarge(Exception):  # noqa: N818 - the library's code that makes the model is to let it through
    pass


def within(most_parameters: int, most_modules: int, make: Callable[[], Any]) -> Any:
    """What `make` makes. It is stopped, with a RuntimeError, as soon as the model becomes larger than this."""
    parameters, modules = 0, 0

    def count_parameter(_module: Any, _name: str, parameter: Any) -> None:
        nonlocal parameters
        parameters += 0 if parameter is None else parameter.numel()
        if parameters > most_parameters:
            raise _TooLarge

    def count_module(_module: Any, _name: str, _child: Any) -> None:
        nonlocal modules
        modules += 1
        if modules > most_modules:
            raise _TooLarge

    # The exception is gone before the next is raised: its frames would keep what was made in memory.
    with (
        contextlib.suppress(_TooLarge),
        hooks.register_module_parameter_registration_hook(count_parameter),
        hooks.register_module_module_registration_hook(count_module),
    ):
        return make()
    size = f"{most_parameters:,} parameters" if parameters > most_parameters else f"{most_modules:,} modules"
    raise RuntimeError(f"it has more than {size}")


def _missing(exc: ImportError) -> str:
    """Libraries say in many sentences which package they lack."""
    said = re.search(r"requires (?:the )?'?([\w-]+)", str(exc))
    package = said[1] if said else exc.name
    return f"needs {package}, which is not installed: pip install {package}" if package else str(exc)


def call(maker: str, options: Mapping[str, Any], *given: str) -> str:
    """The call as code; many options stand one on a line."""
    parts = [*map(repr, given), *(f"{name}={value!r}" for name, value in options.items())]
    between = f",\n{' ' * 8}" if len(parts) > _MOST_IN_LINE else ", "
    return f"{maker}({between.join(parts)})"

"""load: the model and its sample inputs can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.calls import inputs_of
from exportlint.trial.observation import of_exception
from exportlint.trial.stage import PASSED, REFUSED, Answer, Request, short
from exportlint.trial.target import TargetError
from exportlint.trial.wrapping import Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def run(request: Request) -> Answer:
    """Make everything once. What raises makes the target broken: `data["broken"]` is the sentence."""
    what = "model"
    try:
        model = request.loaded.eager()
        what = "arguments"
        args, kwargs = inputs_of(request.loaded, 0)
        what = "dynamic shapes"
        shapes = request.loaded.dynamic_shapes()
    except TargetError as exc:
        return _broken(request, exc, str(exc))
    except BaseException as exc:  # noqa: BLE001 - the target's own code
        text = f"making the {what} raised {type(exc).__name__}: {short(str(exc))}"
        return _broken(request, exc, text)
    bare = ", wrapped in a module" if isinstance(model, Wrapped) else ""
    data = {
        "dynamic_shapes": None if shapes is None else repr(shapes),
        "other_inputs": request.loaded.other_args is not None,
        "code": request.loaded.code,
    }
    return Answer(PASSED, f"{_model_said(model)}({said(args, kwargs)}){bare}", data)


def _broken(request: Request, exc: BaseException, text: str) -> Answer:
    request.emit(of_exception(exc))
    return Answer(REFUSED, short(text), {"broken": f"target {request.loaded.target.name}: {text}"})


def _model_said(model: Any) -> str:
    return model.said if isinstance(model, Wrapped) else type(model).__name__


def said(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """The arguments of a call, by type and shape."""
    return ", ".join([*map(_said, args), *(f"{key}={_said(value)}" for key, value in kwargs.items())])


def _said(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__

"""load: the model and its sample inputs can be made."""

from __future__ import annotations

from typing import Any

from exportlint.trial.child.dynamic_shapes.declared_code import declared_code
from exportlint.trial.child.execution.call_text import arguments_text
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.model_places import ModelPlaces
from exportlint.trial.child.loading.module_wrapper import Wrapped
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import PASSED, REFUSED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.target import TargetError


def run(request: StageRequest) -> StageAnswer:
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
    wrapped = isinstance(model, Wrapped)
    data = {
        "declared_shapes": None if shapes is None else declared_code(shapes),
        "other_inputs": request.loaded.other_args is not None,
        "code": request.loaded.code,
        "wrapped": wrapped,
        "places": ModelPlaces(model).to_dict(),
    }
    around = ", wrapped in a module" if wrapped else ""
    return StageAnswer(PASSED, f"{_model_text(model)}({arguments_text(args, kwargs)}){around}", data)


def _broken(request: StageRequest, exc: BaseException, text: str) -> StageAnswer:
    request.emit(of_exception(exc))
    return StageAnswer(REFUSED, short(text), {"broken": f"target {request.loaded.target.name}: {text}"})


def _model_text(model: Any) -> str:
    return model.in_words if isinstance(model, Wrapped) else type(model).__name__

"""load: the model and its sample inputs can be made."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import tokenize
from functools import cached_property
from types import CodeType
from typing import Any

from exportlint.trial.child.dynamic_shapes.input_tensors import declared_code
from exportlint.trial.child.execution.call_record import arguments_text
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.module_wrapper import Wrapped
from exportlint.trial.protocol.frames import is_installed, is_user_path
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
        what = "other arguments"
        if request.loaded.other_args is not None:
            request.loaded.other_args()
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


# Where the model's class stands, its forward, and what that takes and returns: places for what torch gives no line.


class ModelPlaces:
    """Of a model whose code is the project's own; of a wrapped call, those of the call."""

    def __init__(self, model: Any) -> None:
        call = model.bare if isinstance(model, Wrapped) else getattr(type(model), "forward", model)
        self._forward = inspect.unwrap(getattr(call, "__func__", call)) if callable(call) else call
        self._class = None if isinstance(model, Wrapped) else type(model)

    def to_dict(self) -> dict[str, Any]:
        """`path`, the line of the `class`, of `forward`, of each of the `parameters`, and the `returns`; {} where the
        code is not the project's own."""
        code = getattr(self._forward, "__code__", None)
        if not isinstance(code, CodeType) or not is_user_path(code.co_filename) or is_installed(code.co_filename):
            return {}
        function = self._function(code)
        if function is None:
            return {}
        parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        returns = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
        return {
            "path": code.co_filename,
            "class": self._class_line or function.lineno,
            "forward": function.lineno,
            "parameters": {one.arg: one.lineno for one in parameters},
            "returns": sorted(returns),
        }

    @cached_property
    def _class_line(self) -> int | None:
        """Of the class whose file is that of forward."""
        try:
            own = self._class is not None and inspect.getsourcefile(self._class) == inspect.getsourcefile(self._forward)
            return inspect.getsourcelines(self._class)[1] if own and self._class else None
        except (OSError, TypeError):
            return None

    def _function(self, code: CodeType) -> ast.FunctionDef | None:
        """Forward as it is written, with the numbers of its lines in the file."""
        lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
        try:
            tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
        except (SyntaxError, tokenize.TokenError):  # an IndentationError is a SyntaxError
            return None
        ast.increment_lineno(tree, code.co_firstlineno - 1)
        return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)

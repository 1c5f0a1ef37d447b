"""Find the line that a refusal belongs to, where torch names none or one that does not help alone.

That is so for a class that torch cannot flatten, for declared sizes, and for a number that another line read from data.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.declarations import violations
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import Frame, frame_at, is_installed, is_user_path
from exportlint.trial.protocol.torch_messages import (
    given_class_name,
    is_outside_declared_range,
    misfit_of_shapes,
    unknown_class_name,
    unknown_symbols,
    violates_declared_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.torch_private.symbolic_shapes import ShapeDecisions
    from exportlint.trial.protocol.observation import Observation


def located_refusal(request: StageRequest, seen: Observation, decisions: ShapeDecisions) -> list[Observation]:
    """The refusal at the line that builds the object, or that defines the class of one that is given, or once at each
    line that breaks a declaration.

    With it the line that read the number which torch does not know.
    """
    if name := given_class_name(seen.text):
        return [at_definition(request, seen, name)]
    if misfit_of_shapes(seen.text) and (spare := _collected(request.loaded)):
        seen = seen.with_details(collected=spare)
    if violates_declared_sizes(seen.text) or is_outside_declared_range(seen.text):
        return violations(request.loaded, decisions, seen)
    return [_with_reading_line(at_construction(request, seen), decisions)]


def _collected(loaded: Loaded) -> list[str]:
    """The arguments that forward takes by no name of its own, but in `**kwargs`."""
    (_, kwargs), model = inputs_of(loaded, 0), loaded.model()
    forward: Any = getattr(model, "forward", model)
    with suppress(TypeError, ValueError):  # a scripted forward has no signature
        parameters = inspect.signature(forward).parameters
        return [name for name in kwargs if name not in parameters]
    return []


def _with_reading_line(seen: Observation, decisions: ShapeDecisions) -> Observation:
    """Torch names the line that uses the number; what reads it may stand in another function."""
    for symbol in unknown_symbols(seen.text):
        frames = decisions.read_at.get(symbol)
        if frames and (frames[-1].path, frames[-1].line) != (seen.user_path, seen.user_line):
            last = frames[-1]
            return seen.with_details(read={"symbol": symbol, "path": last.path, "line": last.line, "text": last.text})
    return seen


# Find the line that builds an object which torch cannot flatten: torch names only its class.


# A namedtuple has no __init__ of its own; its __new__ is a lambda, which is given the class.
_BUILDERS = ("__init__", "__new__", "<lambda>")


def construction_stack(call: Callable[[], Any], name: str) -> tuple[Frame, ...]:
    """Run `call`; the stack, outermost first, where the first object of the class is built; empty when none is."""
    bare = name.rpartition(".")[2]
    found: list[Frame] = []

    def on_event(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call" and not found and frame.f_code.co_name in _BUILDERS and _builds(frame, bare):
            found.extend(_stack(frame))

    sys.setprofile(on_event)
    try:
        call()
    except BaseException:  # noqa: BLE001, S110 - eager has its own stage
        pass
    finally:
        sys.setprofile(None)
    return tuple(found)


def _builds(frame: FrameType, name: str) -> bool:
    code = frame.f_code
    first = code.co_varnames[0] if code.co_argcount else ""
    given = frame.f_locals.get(first)
    return (given if isinstance(given, type) else type(given)).__name__ == name


def _stack(frame: FrameType) -> list[Frame]:
    """From the outermost call to the one that builds; the constructor itself, and what builds it, left out."""
    frames = []
    above = frame.f_back
    while above is not None:
        if is_user_path(above.f_code.co_filename):
            frames.append(frame_at(above.f_code.co_filename, above.f_lineno, above.f_code.co_name))
        above = above.f_back
    return frames[::-1]


def at_construction(request: StageRequest, seen: Observation) -> Observation:
    """The refusal of a class that torch cannot flatten, at the line that builds the object; any other as it is."""
    name = unknown_class_name(seen.text)
    if name is None or seen.user:
        return seen

    def eager() -> Any:
        args, kwargs = inputs_of(request.loaded, 0)
        model = request.loaded.eager()
        return construction_stack(lambda: model(*args, **kwargs), name)

    stack = in_fork(eager, request.folder).value or ()
    found = seen.with_details(**{"class": name, "built": bool(stack)})
    return found.at(stack or seen.frames)


# Find the class of an argument that torch cannot flatten. No line of the model makes the object; where its class is
# defined it can be registered.


def at_definition(request: StageRequest, seen: Observation, name: str) -> Observation:
    """The refusal of an argument, at the definition of its class where that is the project's own; else as it is."""
    given = next((type(one) for one in pytree.tree_leaves(inputs_of(request.loaded, 0)) if _dotted(one) == name), None)
    place = _definition(given, request.loaded.target.path) if given is not None else None
    target = request.loaded.target
    if given is None or place is None or not is_user_path(place.path) or is_installed(place.path):
        return seen
    details: dict[str, Any] = {"class": name, "defined": "dataclass" if is_dataclass(given) else "class"}
    if target.path is not None and target.line is not None:
        details["given_at"] = [os.path.abspath(target.path), target.line]  # noqa: PTH100 - no links resolved
    return seen.with_details(**details).at([place])


def _dotted(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _definition(cls: type, script: str | None) -> Frame | None:
    """Read in its file, which of a script's own class is the script."""
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    path = script if cls.__module__ == "__main__" else path
    try:
        tree = ast.parse(Path(path or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    named = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and one.name == cls.__name__]
    return frame_at(os.path.abspath(str(path)), named[0].lineno, "<module>") if len(named) == 1 else None  # noqa: PTH100 - as above

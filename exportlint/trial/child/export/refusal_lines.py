"""Find the line that a refusal belongs to, where torch names none or one that does not help alone.

That is so for a class that torch cannot flatten, for declared sizes, and for a number that another line read from data.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.declarations import violations
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path
from exportlint.trial.protocol.torch_messages import (
    is_outside_declared_range,
    unknown_class_name,
    unknown_symbols,
    violates_declared_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.torch_private.symbolic_shapes import ShapeDecisions
    from exportlint.trial.protocol.observation import Observation


def located_refusal(request: StageRequest, seen: Observation, decisions: ShapeDecisions) -> list[Observation]:
    """The refusal at the line that builds the object, or once at each line that breaks a declaration.

    With it the line that read the number which torch does not know.
    """
    if violates_declared_sizes(seen.text) or is_outside_declared_range(seen.text):
        return violations(request.loaded, decisions, seen)
    return [_with_reading_line(at_construction(request, seen), decisions)]


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

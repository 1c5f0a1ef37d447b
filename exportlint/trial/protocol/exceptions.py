"""Make an observation of an exception, at the innermost user line that it names."""

from __future__ import annotations

import json
import re
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import Frame, is_user_path, message_frames, package_folder, summary_frames
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def of_exception(exc: BaseException, **details: Any) -> Observation:
    """An observation with the exception's text, at the innermost user line that it, its causes or its message name."""
    text = str(exc).strip() or type(exc).__name__
    gb_type = getattr(exc, "gb_type", None)
    if isinstance(gb_type, str):
        details["gb_type"] = gb_type
    cause = exc.__cause__
    if cause is not None:
        details["cause"] = {"error_class": _class_name(cause), "text": str(cause)[:2000]}
    gb_id = graph_break_id(text, gb_type)
    seen = Observation("exception", text[:20_000], _class_name(exc), gb_id=gb_id, details=details)
    return seen.at(frames_of(exc))


def frames_of(exc: BaseException) -> tuple[Frame, ...]:
    """The first stack that reaches user code: Dynamo's own, else the traceback, else what the message quotes."""
    stacks = [*_stacks(exc), message_frames(str(exc))]
    return next((s for s in stacks if any(is_user_path(f.path) for f in s)), stacks[-2] if len(stacks) > 1 else ())


def _stacks(exc: BaseException) -> Iterator[tuple[Frame, ...]]:
    chain = list(_causes(exc))
    for one in chain:
        yield summary_frames(getattr(one, "real_stack", None) or ())
    # A cause lies deeper than what was raised from it, so its stack names the line more exactly.
    for one in reversed(chain):
        yield summary_frames(traceback.extract_tb(one.__traceback__))
    context = exc.__context__
    if exc.__cause__ is None and context is not None:
        yield summary_frames(traceback.extract_tb(context.__traceback__))
    yield summary_frames(traceback.extract_tb(exc.__traceback__))


def _causes(exc: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__


_GB_URL = re.compile(r"\bgb/(gb\d{4})\.html", re.IGNORECASE)


def graph_break_id(text: str, gb_type: str | None = None) -> str | None:
    """The id that the message links, or that the installed torch's registry has for the type; "GB0170"."""
    if found := _GB_URL.search(text):
        return found[1].upper()
    return _gb_types().get(gb_type or text.strip().partition("\n")[0])


@cache
def _gb_types() -> Mapping[str, str]:
    registry = package_folder("torch") / "_dynamo" / "graph_break_registry.json"
    if not registry.is_file():
        return {}
    entries = json.loads(registry.read_text("utf-8"))
    return {version["Gb_type"]: gb_id for gb_id, versions in entries.items() for version in reversed(versions)}


def _class_name(exc: BaseException) -> str:
    cls = type(exc)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"

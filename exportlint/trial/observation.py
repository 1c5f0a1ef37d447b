"""What a stage saw, in plain data: written in the child, read by the parent. Standard library only.

One `Observation` is one thing worth a sentence. Which fields are filled depends on `kind`:

exception    something raised, or ended the process. `text` is torch's whole message, `error_class` its dotted name
             (None when the process ended), `frames` where. `details`: "read" (what read the number that torch
             does not know, where another line uses it), "gb_type", "cause" {error_class, text}, "draft"
             (the type of an issue of draft_export), "class" (one that export cannot flatten; with "built" the frames
             lead to the line that builds the object), "ended" (crashed or timed-out) and "output" (its last words)
graph-break  one break of `torch._dynamo.explain`, each place once
difference   the exported program and eager disagree. `details["check"]` says in what:
             output, input-effect (writes into the arguments); state (only after an earlier call);
             stdout, log, files (written, or a process started), at the line that does it;
             raises (only the exported program does), raises-in-eager-only;
             buffer and observe (what the calls left behind); frozen (eager gives another value at every call, the
             program never); baked (a literal that is another one in a second export, at its line);
             eager-after-export and fake-tensor-left (the export broke the model);
             frozen-dim, narrowed-dim (a dim declared dynamic is a number, or takes less than asked), static-dim (other
             inputs need what nothing declares), sizes (the program with other sizes)
             Where they apply: "mode" (in soundness), "draw" (0 the sample, 1 other values), "call" (0 the first, 1 the
             second on the same program), "output" (path of the leaf, "[0].logits"), "max_error" (float or None)
warning      a Python warning raised during export: `error_class` is its category, path and line where it was raised
note         a fact without a verdict, named by `details["note"]`: draw-refused; attribute-changed ("attribute", such as
             `layer.count` or `global _CACHE`; "matters": it changes what the next call returns) and inputs-changed, at
             the line that writes; unused-input ("input");
             training-mode ("modules", and "learns" where running statistics change); eager-unstable; non-core
             ("operator", after decomposition)
"""

from __future__ import annotations

import json
import re
import sys
import sysconfig
import traceback
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

KINDS = ("exception", "graph-break", "difference", "warning", "note")

# Packages that torch calls into and that never are the model's own code.
MACHINERY = (
    "torch",
    "functorch",
    "torchgen",
    "sympy",
    "mpmath",
    "executorch",
    "onnxscript",
    "onnxruntime",
    "exportlint",
)


class Frame(NamedTuple):
    path: str
    line: int
    function: str
    text: str


@dataclass(frozen=True)
class Observation:
    """`path`, `line`, `function`, `source_text`: the innermost frame of all. `user_*`: the innermost frame that is in
    neither torch (and what torch calls into), nor the standard library, nor exportlint; None when torch names none.
    `frames` go from the outermost call inwards, user code and library alike, without exportlint's own."""

    kind: str
    text: str
    error_class: str | None = None
    path: str | None = None
    line: int | None = None
    function: str | None = None
    source_text: str | None = None
    frames: tuple[Frame, ...] = ()
    gb_id: str | None = None
    user_path: str | None = None
    user_line: int | None = None
    user_function: str | None = None
    user_text: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**asdict(self), "frames": [list(frame) for frame in self.frames], "details": dict(self.details)}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Observation:
        """The other way; keys that a newer child might add are left out."""
        known = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        return cls(**{**known, "frames": tuple(Frame(*frame) for frame in raw.get("frames", ()))})

    @property
    def first_line(self) -> str:
        """The first line of `text` that says something."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def placed(kind: str, text: str, frames: Iterable[Frame], **rest: Any) -> Observation:
    """An observation whose places are read off its frames."""
    own = tuple(frame for frame in frames if not _is_ours(frame.path))
    inner = own[-1] if own else Frame("", 0, "", "")
    user = next((frame for frame in reversed(own) if is_user_path(frame.path)), None)
    return Observation(
        kind,
        text,
        path=inner.path or None,
        line=inner.line or None,
        function=inner.function or None,
        source_text=inner.text or None,
        frames=own,
        user_path=user.path if user else None,
        user_line=user.line if user else None,
        user_function=user.function if user else None,
        user_text=user.text if user else None,
        **rest,
    )


def of_exception(exc: BaseException, **details: Any) -> Observation:
    """What an exception says, at the innermost user line that it, its causes or its message name."""
    text = str(exc).strip() or type(exc).__name__
    gb_type = getattr(exc, "gb_type", None)
    if isinstance(gb_type, str):
        details["gb_type"] = gb_type
    cause = exc.__cause__
    if cause is not None:
        details["cause"] = {"error_class": _class_name(cause), "text": str(cause)[:2000]}
    return placed(
        "exception",
        text[:20_000],
        frames_of(exc),
        error_class=_class_name(exc),
        gb_id=graph_break_id(text, gb_type),
        details=details,
    )


def frames_of(exc: BaseException) -> tuple[Frame, ...]:
    """The most telling stack: Dynamo's own, else the traceback, else what the message quotes."""
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


def summary_frames(stack: Iterable[traceback.FrameSummary]) -> tuple[Frame, ...]:
    """Frames of a `traceback.StackSummary`."""
    return tuple(Frame(f.filename, f.lineno or 0, f.name, (f.line or "").strip()) for f in stack)


_QUOTED = re.compile(
    r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:,? in (?P<function>[\w<>.]+))?'
    r'(?:, code: (?P<code>.*)|\n(?!\s*File ")(?P<text>.*))?'
)
_FROM_USER_CODE = "from user code:"


def message_frames(message: str) -> tuple[Frame, ...]:
    """The places a message quotes as `File "…", line N, in f`; those after "from user code:" alone, if it says so."""
    quoted = message.rpartition(_FROM_USER_CODE)[2] if _FROM_USER_CODE in message else message
    return tuple(
        Frame(m["path"], int(m["line"]), m["function"] or "", (m["code"] or m["text"] or "").strip())
        for m in _QUOTED.finditer(quoted)
    )


_GB_URL = re.compile(r"\bgb/(gb\d{4})\.html", re.IGNORECASE)


def graph_break_id(text: str, gb_type: str | None = None) -> str | None:
    """The id that the message links, or that the installed torch's registry has for the type; "GB0170"."""
    if found := _GB_URL.search(text):
        return found[1].upper()
    return _gb_types().get(gb_type or text.strip().partition("\n")[0])


@cache
def _gb_types() -> Mapping[str, str]:
    registry = _package_folder("torch") / "_dynamo" / "graph_break_registry.json"
    if not registry.is_file():
        return {}
    entries = json.loads(registry.read_text("utf-8"))
    return {version["Gb_type"]: gb_id for gb_id, versions in entries.items() for version in reversed(versions)}


def is_user_path(path: str) -> bool:
    """Is the file the model's own code, or a library of it: not torch, not the standard library, not exportlint?"""
    return bool(path) and not path.startswith("<") and not path.startswith(_foreign())


def _is_ours(path: str) -> bool:
    return path.startswith(_our_folders())


@cache
def _our_folders() -> tuple[str, ...]:
    return (f"{Path(__file__).resolve().parents[1]}/", f"{Path(__file__).parents[1]}/")


@cache
def _foreign() -> tuple[str, ...]:
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(Path(traceback.__file__).parent)}
    sites = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(_package_folder("torch").parent)}
    # site-packages lies inside the standard library's folder, so that folder is named entry by entry.
    entries = (
        entry
        for folder in stdlib
        for entry in Path(folder).iterdir()
        if entry.name not in ("site-packages", "dist-packages")
    )
    folders = {f"{e}/" if e.is_dir() else str(e) for e in entries}
    folders |= {f"{site}/{name}/" for site in sites for name in MACHINERY}
    return (*folders, *_our_folders())


def _package_folder(name: str) -> Path:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return Path(file).parent if file else Path("/nonexistent")


def _class_name(exc: BaseException) -> str:
    cls = type(exc)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"

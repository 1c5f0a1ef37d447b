"""What a stage saw, as plain data: written in the child, read by the parent.

One `Observation` is one thing worth a sentence. The sentence is not here: `exportlint.trial.findings.wording` makes it
from the fields. `text` holds only the words of torch or of the model, unchanged. By `kind`:

exception    something raised, or ended the process. `text` is torch's whole message, `error_class` its dotted name
             (None when the process ended), `frames` where. `details`: "read" (what read the number that torch
             does not know, where another line uses it), "gb_type", "cause" {error_class, text}, "draft" (the type of
             an issue of draft_export, with its "subject"), "class" (one that export cannot flatten; with "built" the
             frames lead to the line that builds the object, with "defined" (class or dataclass) to the class of one
             that is given to the export, "given_at"), "sizes" (facts about declared sizes that do not hold),
             "during" (the call of a script that raised, its "target", and "called_from", its line), "scripted" (of what
             TorchScript cannot compile or run: [path, line, function] of the call, and of each function on the way to
             the last frame), "not_traced" (what torch.jit.trace cannot give of an output), "bare_dict" (`args` is one),
             "unknown_axes" (what `dynamic_axes` name that is none of the "names"), "check" (other-size, of a script
             that gives a program a size that it was not exported for), "submodule" with "class_name" and "inputs"
             (refused by itself), "ended" (crashed or timed-out) and "output" (the last words of the process)
graph-break  one break of Dynamo's, each place once. In the stage `breaks`: "kind" (break, skipped, disabled, foreign)
recompile    a function that is compiled again each time that something changes; `text` is the guard that fails.
             "changed" (what did: a `Change` as JSON), "times" (in how many "calls"), "over_limit" (Dynamo gives the
             function up), "mends" (what was tried: "how", and "helped")
difference   the exported program and eager disagree. `details["check"]` names in what, see below
warning      a Python warning raised during export: `error_class` is its category
note         a fact without a verdict, named by `details["note"]`: input-set-refused; input-set-without-end (eager's
             call on it was given up); attribute-changed ("attribute", such as `layer.count` or `global _CACHE`;
             "matters": it changes what the next call returns) and inputs-changed, at the line that writes;
             unused-input ("input"); steering-input (one that decides a branch,
             at the branch: "steers" and "value"); fake-kernel ("operator", "arguments", what is "real" and what its
             "fake" kernel says; "sample": are these the model's own arguments? "fake_kernel": a draft that agrees);
             fake-kernel-draft ("operator", "code"); undeclared-write ("operator", and the names of the "arguments" that
             it changes); dropped-guard ("argument", its "value" and the "other" one that the exported program refuses
             and a lowered one takes; `text` is the refusal); training-mode ("modules", and "learns" where running
             statistics change); eager-unstable; non-core ("operator", after decomposition); size (eager refuses it);
             missing-operator (of a lowering's dry run: "operator", "count", "reason"; "compiled": was compiling tried?)

The checks of a difference, each with the fields of `details` that it fills:

output, state     other values than eager's; state: only after an earlier call. "output" (path of the value), "what"
input-effect      (values, value, shape, dtype, eager-only, program-only, order), "ours", "theirs", "max_error",
                  "input_set" (0 the sample, 1 other values) and "call" (0 the first on this input set, 1 the second)
raises            only the exported program raises: `text` and `error_class` are the exception's
raises-in-eager-only  "raised"
stdout, log, files    "ours" and "theirs": what was printed, how many records or accesses; "events" for files
buffer            as output, of a buffer after all calls
observe           "before" and "after": what a fixture looks at
outside-state     "name" of what every call of eager changes outside of the model, such as `global SEEN`
frozen            as output, of two calls of eager; the program gives the same value twice
baked             "ours" and "theirs", with "operator" or "constant": another literal in a second export
eager-after-export    as output or state: the model itself, called after the export
jit-trace         of torch.jit.trace: "how" the "inputs" were made, "output" (path and index), what eager gives there
                  ("ours"), the traced module ("theirs"), and both on the "sample"; or what this alone "raised"; "line":
                  [path, line, text] of the branch; "in_place": the code that changes a size
                  "resized": the inputs have other sizes, "doubted" are the lines of which the tracer warns, and
                  "declared" says whether the call asked for that
onnx-trace        the same of the file of torch.onnx.export(dynamo=False); "dynamo": the other exporter is right there
elsewhere         as output, of the program that another torch reads: "where"
fake-tensor-left  "where" (constants or model) and "name"
drawn-once        what was lowered gives the same in two calls that eager draws for anew: "output"
frozen-dim, narrowed-dim, static-dim   "sizes": facts, see `exportlint.trial.protocol.size_facts`
sizes             "tried" (name and size of each dim), and what differs or raises

Where they apply: "mode" (in the soundness stage), "tolerant" (seen in an error-tolerant export), "divergence" (where
eager and the program diverge: "why", and what belongs to it), "step" (of a lowering: compile, load, run, compare).

A difference of a lowering also has "inputs" (which call), and what makes it differ: "cause" (as-exported;
starts-at-zero, forgets, always-zero with "buffers"; not-written-back, never-read with "input"; order with "order"),
else "first": the "operator" that differs first and how, "only_fused" or "only_later". "suggestion": what its target
has to write instead.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import (
    Frame,
    innermost_user,
    is_own_path,
    is_user_path,
    message_frames,
    summary_frames,
)
from exportlint.trial.protocol.shortening import without_tensors
from exportlint.trial.protocol.size_facts import OF_THE_SAMPLE
from exportlint.trial.protocol.torch_messages import (
    graph_break_id,
    is_about_a_size,
    misfit_of_shapes,
    of_torchscript,
    torchscript_frames,
    uncompiled,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class Observation:
    """One thing that a stage saw.

    `frames` go from the outermost call inwards, user code and library alike, without exportlint's own. `user` is the
    innermost of them that is in neither torch (and what torch calls into), nor the standard library; None when torch
    names none. It is found where the stage runs, since the parent may have another environment.
    """

    kind: str
    text: str = ""
    error_class: str | None = None
    frames: tuple[Frame, ...] = ()
    user: Frame | None = None
    gb_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def at(self, frames: Iterable[Frame]) -> Observation:
        """The same, seen at these frames."""
        own = tuple(frame for frame in frames if not is_own_path(frame.path))
        return replace(self, frames=own, user=innermost_user(own))

    def with_details(self, **more: Any) -> Observation:
        """The same, with more details."""
        return replace(self, details={**self.details, **more})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Observation:
        """The other way; keys that a newer child might add are left out."""
        known = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        user = Frame(*raw["user"]) if raw.get("user") else None
        return cls(**{**known, "frames": tuple(Frame(*frame) for frame in raw.get("frames", ())), "user": user})

    @property
    def user_path(self) -> str | None:
        return self.user.path if self.user else None

    @property
    def user_line(self) -> int | None:
        return self.user.line if self.user else None

    @property
    def is_about_the_model(self) -> bool:
        """Is it the model itself that the export changed, and not what the program computes?"""
        left = self.check == "fake-tensor-left" and self.details.get("where") == "model"
        return left or self.check == "eager-after-export"

    @property
    def is_about_containers(self) -> bool:
        """Do only the lists and dicts of the arguments have other entries after the call, which no output shows?"""
        return self.check == "input-effect" and self.details.get("what") in ("eager-only", "program-only")

    @property
    def is_wrong_kernel(self) -> bool:
        """Is it a fake kernel that is wrong for what the model itself gives the operator?"""
        return self.details.get("note") == "fake-kernel" and bool(self.details.get("sample"))

    @property
    def is_about_a_size(self) -> bool:
        """Does the program raise at a size of its inputs, of which the export made a constant?"""
        return self.check == "raises" and is_about_a_size(self.text)

    @property
    def is_about_declaration(self) -> bool:
        """Does a `dynamic_shapes` not fit the sample, whatever the model does?"""
        facts = self.details.get("sizes", ())
        of_sample = bool(facts) and all(fact["fact"] in OF_THE_SAMPLE for fact in facts)
        return of_sample or (self.kind == "exception" and misfit_of_shapes(self.text) is not None)

    @property
    def is_as_exported(self) -> bool:
        """Of a lowering: does its target give just what the exported program gives?"""
        return self.details.get("cause") == "as-exported"

    @property
    def check(self) -> str | None:
        """Of a difference: in what the exported program and eager disagree."""
        return self.details.get("check")

    @property
    def first_line(self) -> str:
        """The first line of `text` that is not blank; the values of a tensor do not end it. Of TorchScript's compiler
        what it says first, without the schemas of operators."""
        if found := uncompiled(self.text):
            return found.sentence
        return next(
            (line.strip() for line in without_tensors(of_torchscript(self.text)).splitlines() if line.strip()), ""
        )

    @property
    def brief(self) -> str:
        """The first line behind the bare name of the class, as Python prints it."""
        bare = (self.error_class or "").rpartition(".")[2]
        return f"{bare}: {self.first_line}" if bare else self.first_line


# Make an observation of an exception, at the innermost user line that it names.


_COLOUR = re.compile(r"\x1b\[[\d;]*m")  # torch.onnx sets its headings off


def of_exception(exc: BaseException, **details: Any) -> Observation:
    """An observation with the exception's text, at the innermost user line that it, its causes or its message name."""
    text = _COLOUR.sub("", str(exc)).strip() or type(exc).__name__
    gb_type = getattr(exc, "gb_type", None)
    if isinstance(gb_type, str):
        details["gb_type"] = gb_type
    cause = exc.__cause__
    if cause is not None:
        details["cause"] = {"error_class": _class_name(cause), "text": str(cause)[:2000]}
    if inside := torchscript_frames(str(exc)):
        details["scripted"] = [[one.path, one.line, one.function] for one in (*_call_of(exc), *inside[:-1])]
    gb_id = graph_break_id(text, gb_type)
    seen = Observation("exception", text[:20_000], _class_name(exc), gb_id=gb_id, details=details)
    return seen.at(frames_of(exc))


def frames_of(exc: BaseException) -> tuple[Frame, ...]:
    """The first stack that reaches user code: Dynamo's own, else the traceback, else what the message quotes. Behind
    the traceback stands what TorchScript compiles or runs, of which Python knows nothing."""
    if inside := torchscript_frames(str(exc)):
        return (*_traceback(exc), *inside)
    stacks = [*_stacks(exc), message_frames(str(exc))]
    return next((s for s in stacks if any(is_user_path(f.path) for f in s)), stacks[-2] if len(stacks) > 1 else ())


def _traceback(exc: BaseException) -> tuple[Frame, ...]:
    return summary_frames(traceback.extract_tb(exc.__traceback__))


def _call_of(exc: BaseException) -> tuple[Frame, ...]:
    """The innermost line of user code that Python itself ran."""
    return next(((one,) for one in reversed(_traceback(exc)) if is_user_path(one.path)), ())


def _stacks(exc: BaseException) -> Iterator[tuple[Frame, ...]]:
    chain = list(causes_of(exc))
    for one in chain:
        yield summary_frames(getattr(one, "real_stack", None) or ())
    # A cause lies deeper than what was raised from it, so its stack names the line more exactly.
    for one in reversed(chain):
        yield summary_frames(traceback.extract_tb(one.__traceback__))
    context = exc.__context__
    if exc.__cause__ is None and context is not None:
        yield summary_frames(traceback.extract_tb(context.__traceback__))
    yield _traceback(exc)


def causes_of(exc: BaseException) -> Iterator[BaseException]:
    """The exception, and what each was raised from."""
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__


def _class_name(exc: BaseException) -> str:
    cls = type(exc)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"

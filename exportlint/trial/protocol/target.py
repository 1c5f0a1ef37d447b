"""A model with example inputs that a trial can run: plain data."""

from __future__ import annotations

import enum
import os
import shlex
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


# What may be named beside the model, each as FILE_OR_MODULE:CALLABLE.
PARTS = ("args", "kwargs", "dynamic_shapes", "other_args")
ZOOS = "exportlint.zoo"  # the entry point group of modules that make models by their names


# The exporter that goes by torch.export, and the one that goes by torch.jit.trace.
OLD_ONNX = "torch.onnx.export(dynamo=False)"
ONNX = ("torch.onnx.export", OLD_ONNX)
# Those that only prepare a model, whose inputs the first real call brings.
PREPARING = ("torch.compile", "torch.jit.script")


EXAMPLE_ARGS = "example_args"
EXAMPLE_INPUTS = "example_inputs"  # as ExportDB called them up to torch 2.4


class TargetKind(str, enum.Enum):
    MODULE = "module"  # ExportDB style: module-level `model` and `example_args`
    CALLABLES = "callables"  # MODEL and ARGS each named as FILE_OR_MODULE:CALLABLE
    FIXTURE = "fixture"  # a class with static `inputs()`
    SCRIPT = "script"  # a script to run; every model that it hands to torch is a target
    SEEN = "seen"  # one of those
    ZOO = "zoo"  # a model of a library, by its name
    OBJECTS = "objects"  # live objects of the caller's process, in a file


class TargetError(Exception):
    """A target that cannot be loaded as it is named; the text is one sentence for the person who wrote it."""


TARGET_ERROR = f"{TargetError.__module__}.{TargetError.__qualname__}"


@dataclass(frozen=True)
class Target:
    """`source` is FILE_OR_MODULE for a module target or a script, else FILE_OR_MODULE:NAME; so are the other parts.
    Of a module target, `args` is the name of its inputs where that is not `example_args`.

    `arguments` are a script's own; `given_to` are the calls that a script handed the model to, `asked_modes` those of
    export that they asked for, and `compiled` says that it was what `torch.compile` had made; it is the `number`th that
    the script gave to a call with inputs, or of those that it only prepared, and its process `waits` in that folder.
    `search` lists further folders to import from; `zoo` is the module that builds LIBRARY:MODEL.
    """

    name: str
    kind: TargetKind
    source: str
    args: str | None = None
    kwargs: str | None = None
    dynamic_shapes: str | None = None
    other_args: str | None = None
    path: str | None = None
    line: int | None = None
    arguments: tuple[str, ...] = ()
    given_to: str | None = None
    search: tuple[str, ...] = ()
    zoo: str | None = None
    asked_modes: tuple[str, ...] = ()
    compiled: bool = False
    number: int = 0
    waits: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**asdict(self), "kind": self.kind.value}

    @property
    def identity(self) -> tuple[object, ...]:
        """What is the same in every run: of a target that a script gave, also where lines of the script moved."""
        if self.kind is TargetKind.SEEN:
            return self.kind.value, self.source, self.arguments, self.is_prepared, self.number
        return (repr(self),)

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls that a script handed the model to."""
        return tuple((self.given_to or "").split(", ")) if self.given_to else ()

    @property
    def is_prepared(self) -> bool:
        """Was it compiled or scripted, and never given to a call with its inputs?"""
        return bool(self.calls) and {*self.calls} <= {*PREPARING}

    @property
    def only_compiled(self) -> bool:
        """Is there no call but `torch.compile` that a script hands the model to?"""
        return self.calls == ("torch.compile",)

    @property
    def command_line(self) -> str:
        """What `exportlint trial` is given to try the target again, quoted for a shell."""
        if self.kind is not TargetKind.CALLABLES:
            # A script's own arguments come last: everything behind `--` is theirs.
            return shlex.join([self.source, *(("--", *self.arguments) if self.arguments else ())])
        given = {"model": self.source} | {part: getattr(self, part) for part in PARTS}
        return " ".join(f"--{part.replace('_', '-')} {shlex.quote(text)}" for part, text in given.items() if text)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Target:
        known = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        lists = {name: tuple(raw.get(name, ())) for name in ("arguments", "search", "asked_modes")}
        return cls(**{**known, **lists, "kind": TargetKind(raw["kind"])})


def split_source(part: str, text: str) -> tuple[str, str]:
    """FILE_OR_MODULE:CALLABLE -> both halves; a file must exist."""
    home, _, attribute = text.rpartition(":")
    if not home or not attribute.replace(".", "").isidentifier():
        raise TargetError(f"{part} {text!r}: write FILE_OR_MODULE:CALLABLE, for instance model.py:make_model")
    if is_file_source(home) and not Path(home).is_file():
        raise TargetError(f"{part} {text!r}: there is no file {home}")
    return home, attribute


def is_file_source(home: str) -> bool:
    """Is what stands before the colon a path, or else a module's name?"""
    return home.endswith(".py") or os.sep in home or "/" in home

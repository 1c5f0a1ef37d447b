"""Watch the calls by which a script hands a model to torch; each is reported before it happens.

A call with inputs (export, trace) is seen at once; what only prepares (`torch.compile`, `torch.jit.script`) is seen at
its first real call, which brings the inputs. What a watched call calls itself is torch's own affair.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.capture.captured_call import (
    CallSite,
    CapturedCall,
    Parameters,
    bound,
    call_site,
    captured_call,
)
from exportlint.trial.child.server.process_control import process_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXPORT = Parameters("mod", "args", "kwargs", "dynamic_shapes")
_WITH_INPUTS = {
    "torch.export.export": _EXPORT,
    "torch.export.draft_export": _EXPORT,
    "torch.onnx.export": _EXPORT._replace(model="model"),
    "torch.jit.trace": Parameters("func", "example_inputs", "example_kwarg_inputs"),
    "torch.export.save": Parameters("ep"),
    "torch._inductor.aoti_compile_and_package": Parameters("exported_program"),
}
_PREPARING = {"torch.compile": "model", "torch.jit.script": "obj"}
_PREPARED = ("torch._dynamo.eval_frame.OptimizedModule", "torch.jit.RecursiveScriptModule")


class Prepared:
    """What `torch.compile` or `torch.jit.script` gave, which waits for the first call that brings its inputs."""

    def __init__(self, call: str, site: CallSite, model: Any, made: Any) -> None:
        self.call, self.site, self.model, self.made = call, site, model, made

    def seen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CapturedCall:
        given = {"model": self.model, "args": args, "kwargs": kwargs}
        return captured_call(self.call, self.site, given, Parameters("model", "args", "kwargs"))


class CallWatcher:
    """Reports every outermost call to `on_call`. A program whose export was seen stands for the model it came from."""

    def __init__(self, on_call: Callable[[CapturedCall], None]) -> None:
        self.on_call = on_call
        self.waiting: dict[int, Prepared] = {}  # holds what it waits for, so that no id is given twice
        self._programs: dict[int, tuple[Any, CapturedCall]] = {}
        self._pid = process_id()
        self._inside = threading.local()

    def is_unwatched(self) -> bool:
        """In a fork, or inside of a call that was seen."""
        return process_id() != self._pid or getattr(self._inside, "depth", 0) > 0

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            yield
        finally:
            self._inside.depth -= 1

    def with_inputs(self, call: str, original: Any) -> Any:
        """The same call, seen."""
        names, signature = _WITH_INPUTS[call], inspect.signature(original)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            given = {} if self.is_unwatched() else bound(signature, args, kwargs)
            if (model := given.get(names.model)) is None:
                return original(*args, **kwargs)
            _, earlier = self._programs.get(id(model), (None, None))
            if earlier:
                seen = earlier._replace(call=call, site=call_site())
            else:
                seen = captured_call(call, call_site(), given, names)
            self.on_call(seen)
            with self.unwatched():
                made = original(*args, **kwargs)
            if isinstance(made, torch.export.ExportedProgram):
                self._programs[id(made)] = made, seen
            return made

        return watched

    def preparing(self, call: str, original: Any) -> Any:
        """The same call; what it gives is seen when it is called."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if call == "torch.jit.script":  # it reads names off its caller's frame, now one further away
                kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + 1
            model = None if self.is_unwatched() else bound(signature, args, kwargs).get(_PREPARING[call])
            if model is None:
                return original(*args, **kwargs)
            with self.unwatched():
                made = original(*args, **kwargs)
            return self._awaited(Prepared(call, call_site(), model, made))

        return watched

    def _awaited(self, prepared: Prepared) -> Any:
        made = prepared.made
        if isinstance(made, torch.nn.Module):
            self.waiting[id(made)] = prepared
        elif prepared.call == "torch.compile" and prepared.site.in_project:  # libraries compile helpers of their own
            self.waiting[id(made)] = prepared
            return functools.wraps(made)(lambda *args, **kwargs: self.first_call(made, made, args, kwargs))
        return made

    def first_call(self, made: Any, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call of what was prepared; only the first is reported."""
        prepared = None if self.is_unwatched() else self.waiting.pop(id(made), None)
        if prepared is None:
            return run(*args, **kwargs)
        self.on_call(prepared.seen(args, kwargs))
        with self.unwatched():
            return run(*args, **kwargs)

    def prepared(self, original: Any) -> Any:
        """`__call__` of a class that preparing calls give."""

        @functools.wraps(original)
        def watched(made: Any, /, *args: Any, **kwargs: Any) -> Any:
            return self.first_call(made, functools.partial(original, made), args, kwargs)

        return watched


@contextmanager
def calls_watched(watcher: CallWatcher) -> Iterator[None]:
    """Put the watch into torch for the block; `from torch.export import export` inside it gets the watched one."""
    changed: list[tuple[Any, str, Any]] = []

    def put(dotted: str, make: Callable[[Any], Any]) -> None:
        home, _, name = dotted.rpartition(".")
        owner = _found(home)
        if (original := getattr(owner, name, None)) is not None:  # a version may lack it
            changed.append((owner, name, original))
            setattr(owner, name, make(original))

    for call in _WITH_INPUTS:
        put(call, functools.partial(watcher.with_inputs, call))
    for call in _PREPARING:
        put(call, functools.partial(watcher.preparing, call))
    for cls in _PREPARED:
        put(f"{cls}.__call__", watcher.prepared)
    try:
        yield
    finally:
        for owner, name, original in changed:
            setattr(owner, name, original)


def _found(dotted: str) -> Any:
    """A module, or a class in one."""
    try:
        return importlib.import_module(dotted)
    except ImportError:
        home, _, name = dotted.rpartition(".")
        return getattr(importlib.import_module(home), name, None)

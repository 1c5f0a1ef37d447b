"""A user's script, run as it is; every model that it hands to torch becomes a target.

A target is a fork of the script's own process, taken before the call: model, inputs and everything around them are what
the call would have met, whatever the script does to them afterwards.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import re
import runpy
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MethodType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.loading.loaded import Loaded, of_values
from exportlint.trial.child.server.process_control import leave, process_id
from exportlint.trial.child.torch_private.dynamo import called_one_further_away, uncompiled
from exportlint.trial.child.torch_private.module_names import COMPILED_MODULE, OLD_AOT, PACKAGE
from exportlint.trial.child.torch_private.symbolic_shapes import keep_small_sizes_free, write_recurrent_layers_as_loops
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.observation import Observation, causes_of, of_exception
from exportlint.trial.protocol.outcomes import NON_STRICT, STRICT
from exportlint.trial.protocol.shown_by import OTHER_SIZE
from exportlint.trial.protocol.target import OLD_ONNX, ONNX, Target, TargetKind
from exportlint.trial.protocol.torch_messages import is_about_a_size, is_about_axes, of_torchscript

if TYPE_CHECKING:
    from collections.abc import Iterator

# A call that a running script made: the model, its inputs, and the user's line.


class CallSite(NamedTuple):
    """A line of the user's; None when no frame is the user's."""

    path: str | None
    line: int | None

    @property
    def in_project(self) -> bool:
        return self.path is not None and not is_installed(self.path)


class Parameters(NamedTuple):
    """The names of a watched call's parameters for the model and its inputs; "" where it has none."""

    model: str
    args: str = ""
    kwargs: str = ""
    dynamic_shapes: str = ""


class CapturedCall(NamedTuple):
    """One call of the script: what it was given, in the form that torch.export.export takes, and the user's line.

    mode      of export that the call asks for; None where it is no export
    compiled  is what it was given what torch.compile had made? `model` is what that was made of
    options   its other arguments, as they were given
    """

    call: str
    site: CallSite
    model: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    dynamic_shapes: Any = None
    mode: str | None = None
    compiled: bool = False
    options: Mapping[str, Any] = {}


def captured_call(call: str, site: CallSite, given: Mapping[str, Any], names: Parameters) -> CapturedCall:
    """The call's arguments, in the one form that torch.export.export takes."""
    model, args, kwargs, shapes = (given.get(name) for name in names)
    mode = (STRICT if given.get("strict") else NON_STRICT) if call in _IN_A_MODE else None
    if isinstance(model, torch.export.ExportedProgram):
        args, kwargs = model.example_inputs or ((), {})
        return CapturedCall(call, site, _module_of(model), tuple(args), dict(kwargs), mode=mode)
    if is_bare_dict := isinstance(args, dict):
        args, kwargs = ((), args) if _is_bound(model, args) else ((args,), kwargs)
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args or ())
    if call in ONNX and not kwargs and not is_bare_dict and args and isinstance(args[-1], dict):
        args, kwargs = args[:-1], args[-1]  # what it makes of a dict at the end itself
    plain = uncompiled(model)
    options = {name: value for name, value in given.items() if name not in (*names, "f")}
    if is_bare_dict:
        options["bare_dict"] = True
    if shapes is not None and hasattr(shapes, "dynamic_shapes"):  # it knows the tensors of the call, no copies
        with suppress(Exception):  # what it refuses, the call itself will say
            shapes = shapes.dynamic_shapes(plain, args, dict(kwargs or {}))
    if call == "torch.onnx.export" and shapes is None:  # the old exporter does not check what it is told of sizes
        shapes = _shapes_of_axes(plain, given.get("dynamic_axes"), given.get("input_names"), args, kwargs or {})
    if call == "torch.onnx.export":
        shapes = _with_axes_as_dims(shapes)
    compiled = plain is not model
    return CapturedCall(call, site, plain, args, dict(kwargs or {}), shapes, mode, compiled, options)


def _is_bound(model: Any, kwargs: Mapping[str, Any]) -> bool:
    """Does forward have parameters of these names? Else the dict is itself what it takes."""
    with suppress(TypeError, ValueError):  # a scripted forward has no signature
        return bool(bound(inspect.signature(getattr(model, "forward", model)), (), kwargs))
    return True


def _with_axes_as_dims(shapes: Any) -> Any:
    """torch.onnx.export also takes the name of an axis for its dim, and declares it as `Dim.DYNAMIC`."""
    match shapes:
        case str():
            return torch.export.Dim.DYNAMIC
        case dict():
            return {key: _with_axes_as_dims(one) for key, one in shapes.items()}
        case list() | tuple():
            return type(shapes)(map(_with_axes_as_dims, shapes))
    return shapes


def _shapes_of_axes(
    model: Any, axes: Any, names: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The `dynamic_shapes` that the old `dynamic_axes` of torch.onnx.export declare; None where they name no input, or
    an input is no plain tensor, of which torch takes leaf by leaf."""
    parameters: Mapping[str, Any] = {}
    if isinstance(axes, Mapping):
        with suppress(TypeError, ValueError):  # a scripted forward has no signature
            parameters = bound(inspect.signature(getattr(model, "forward", model)), args, kwargs)
    if not all(isinstance(one, torch.Tensor) for one in parameters.values()):
        return None
    called = dict(zip(parameters, names or parameters, strict=False))
    declared = {
        parameter: dict.fromkeys(axes[called.get(parameter, parameter)], torch.export.Dim.DYNAMIC)
        if called.get(parameter, parameter) in axes
        else None
        for parameter in parameters
    }
    return declared if any(declared.values()) else None


def _module_of(program: Any) -> Any:
    """The module of a program, marked as in eval mode: its mode was fixed by the export, whatever its flags are."""
    module = program.module()
    for part in module.modules():
        part.training = False
    return module


def bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments by name; none when they do not fit, for which the call itself will raise."""
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}


def call_site() -> CallSite:
    """The innermost line of the user's own files that runs now; where there is none, of a library's."""
    frame, library = sys._getframe(1), CallSite(None, None)  # noqa: SLF001 - what inspect.currentframe() does
    while frame is not None:
        site = CallSite(os.path.abspath(frame.f_code.co_filename), frame.f_lineno)  # noqa: PTH100 - no links resolved
        if is_user_path(frame.f_code.co_filename):
            if site.in_project:
                return site
            library = library if library.path else site
        frame = frame.f_back  # type: ignore[assignment]
    return library


# Watch the calls by which a script hands a model to torch; each is reported before it happens.
#
# A call with inputs (export, trace) is seen at once; what only prepares (`torch.compile`, `torch.jit.script`) is seen
# at its first real call, which brings the inputs. What a watched call calls itself is torch's own affair.


_EXPORT = Parameters("mod", "args", "kwargs", "dynamic_shapes")
_WITH_INPUTS = {
    "torch.export.export": _EXPORT,
    "torch.export.draft_export": _EXPORT,
    "torch.onnx.export": _EXPORT._replace(model="model"),
    OLD_AOT: _EXPORT._replace(model="f"),
    "torch.jit.trace": Parameters("func", "example_inputs", "example_kwarg_inputs"),
    "torch.export.save": Parameters("ep"),
    PACKAGE: Parameters("exported_program"),
}
_TORCH = str(Path(torch.__file__).parent) + os.sep  # it compiles helpers of its own, such as `while_loop`
_MODULE = torch.nn.Module.compile.__code__.co_filename  # `model.compile()` is the user's
# Those that ask for one mode; torch.onnx.export takes the one that passes.
_IN_A_MODE = ("torch.export.export", "torch.export.draft_export")
_PREPARING = {"torch.compile": "model", "torch.jit.script": "obj"}
_PREPARED = (COMPILED_MODULE, "torch.jit.RecursiveScriptModule")


class Prepared:
    """What `torch.compile` or `torch.jit.script` gave, which waits for the first call that brings its inputs."""

    def __init__(self, call: str, site: CallSite, model: Any, made: Any) -> None:
        self.call, self.site, self.model, self.made = call, site, model, made

    def seen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CapturedCall:
        model = self.model
        if args and _is_method_of(model, args[0]):  # decorated where the class is written
            model, args = MethodType(model, args[0]), args[1:]
        given = {"model": model, "args": args, "kwargs": kwargs}
        return captured_call(self.call, self.site, given, Parameters("model", "args", "kwargs"))


def _is_method_of(function: Any, owner: Any) -> bool:
    """Is it a function that a class of the object has by its name?"""
    own = inspect.getattr_static(type(owner), getattr(function, "__name__", ""), None)
    return inspect.isfunction(function) and inspect.unwrap(own) is function if callable(own) else False


def _as_called(call: str, given: Mapping[str, Any], signature: inspect.Signature) -> str:
    """With what decides how it works: torch.onnx.export has an exporter of its own, and one that goes by torch.jit."""
    if call != "torch.onnx.export" or "dynamo" not in signature.parameters:
        return call
    return call if given.get("dynamo", signature.parameters["dynamo"].default) else OLD_ONNX


class CallWatcher:
    """Reports every outermost call to `on_call`. A program whose export was seen stands for the model it came from."""

    def __init__(self, on_call: Callable[[CapturedCall], None]) -> None:
        self.on_call = on_call
        self.waiting: dict[int, Prepared] = {}  # holds what it waits for, so that no id is given twice
        self._programs: dict[int, tuple[Any, CapturedCall]] = {}
        self.refused: tuple[BaseException, CapturedCall] | None = None  # the last call that raised
        self._pid = process_id()
        self._inside = threading.local()

    def is_unwatched(self) -> bool:
        """In a fork, or inside of a call that was seen."""
        return process_id() != self._pid or getattr(self._inside, "depth", 0) > 0

    @contextmanager
    def unwatched(self, seen: CapturedCall | None = None) -> Iterator[None]:
        """While torch does what the call that was `seen` asks of it."""
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            yield
        except BaseException as exc:
            if seen is not None:
                self.refused = exc, seen
            raise
        finally:
            self._inside.depth -= 1

    def with_inputs(self, name: str, original: Any) -> Any:
        """The same call, seen."""
        names, signature = _WITH_INPUTS[name], inspect.signature(original)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            given = {} if self.is_unwatched() else bound(signature, args, kwargs)
            if (model := given.get(names.model)) is None:
                return original(*args, **kwargs)
            call = _as_called(name, given, signature)
            _, earlier = self._programs.get(id(model), (None, None))
            if earlier:
                seen = earlier._replace(call=call, site=call_site())
            else:
                seen = captured_call(call, call_site(), given, names)
            self.on_call(seen)
            with self.unwatched(seen):
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
            if call == "torch.jit.script":
                called_one_further_away(kwargs)
            caller = sys._getframe(1).f_code.co_filename  # noqa: SLF001 - what inspect.currentframe() does
            by_torch = call == "torch.compile" and caller.startswith(_TORCH) and caller != _MODULE
            if by_torch or self.is_unwatched():
                return original(*args, **kwargs)
            model = bound(signature, args, kwargs).get(_PREPARING[call])
            with self.unwatched(CapturedCall(call, call_site(), model)):
                made = original(*args, **kwargs)
            if model is not None:
                return self._awaited(Prepared(call, call_site(), model, made))
            if not inspect.isfunction(made):
                return made
            return lambda model: self._awaited(Prepared(call, call_site(), model, made(model)))  # as a decorator

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
        seen = prepared.seen(args, kwargs)
        self.on_call(seen)
        with self.unwatched(seen):
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


# Each is a process, and a script that exports in a loop would start one for every turn.
MOST = 40

Hold = Callable[[socket.socket, Path, Loaded], Any]


def run_script(request: Mapping[str, Any], line: socket.socket, hold: Hold) -> None:
    """Run it to its end; send each target, with the socket its process listens to, then how the script ended.

    `hold` makes a fork a target's process, and never returns.
    """
    own = Target(request["script"], TargetKind.SEEN, request["script"], arguments=tuple(request["arguments"]))
    finder = _Finder(own, line, Path(request["folder"]), hold)
    path = os.path.abspath(request["script"])  # noqa: PTH100 - as Python names it: no links resolved
    sys.argv = [request["script"], *request["arguments"]]
    sys.path.insert(0, str(Path(path).parent))
    torch.set_num_threads = _one_thread
    watcher = CallWatcher(finder.on_call)
    end: dict[str, Any] = {"code": 0}
    try:
        with calls_watched(watcher):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as exc:
        end["code"] = _exit_code(exc.code)
    except BaseException as exc:  # noqa: BLE001 - the script's own failure is an answer
        traceback.print_exception(type(exc), exc, _from_script(exc.__traceback__, path))
        refused = watcher.refused[1] if watcher.refused and watcher.refused[0] is exc else None
        details: dict[str, Any] = {}
        if refused:
            details = {"during": refused.call, "target": finder.name_of(refused)}
            details |= {"called_from": list(refused.site)} if refused.site.path else {}
        if not refused and is_about_a_size(str(exc)):
            details |= {"check": OTHER_SIZE, "declares": finder.declares(str(exc))}
        if refused and refused.call in ONNX and isinstance(exc, KeyError) and refused.options.get("bare_dict"):
            details["bare_dict"] = True
        if refused and is_about_axes(str(exc)):
            details |= _unknown_axes(refused)
        end |= {"code": 1, "raised": _raised(exc, details).to_dict()}
    never = [{"call": prepared.call, "line": prepared.site.line} for prepared in watcher.waiting.values()]
    line.send(json.dumps({"ended": end, "never_called": never[:5], "left_out": finder.left_out}).encode())


def _raised(exc: BaseException, details: Mapping[str, Any]) -> Observation:
    """In the words that say what it is: torch.onnx and a compiler's wrapper leave them to the cause, and TorchScript to
    its last line."""
    seen = of_exception(exc, **details)
    if type(exc).__module__.startswith("torch.onnx") or type(exc).__name__ == "BackendCompilerFailed":
        *_, cause = causes_of(exc)
        return replace(seen, text=of_exception(cause).text)
    return replace(seen, text=of_torchscript(seen.text))


def _declares(seen: CapturedCall, name: str, dim: int) -> bool:
    """Do the call's `dynamic_shapes` say anything of a dim of an argument but that it is static?"""
    shapes = seen.dynamic_shapes
    by_name = shapes if isinstance(shapes, Mapping) else dict(zip(_parameters_of(seen), shapes or (), strict=False))
    if name not in by_name:
        return True  # a part of a nested argument
    match by_name[name]:
        case Mapping() as dims:
            return not isinstance(dims.get(dim), int | None)
        case [*dims]:
            return dim < len(dims) and not isinstance(dims[dim], int | None)
    return False


def _unknown_axes(seen: CapturedCall) -> dict[str, Any]:
    """What `dynamic_axes` name that is no name of an input or an output; nothing where all are known."""
    given = seen.options
    names = [*(given.get("input_names") or _parameters_of(seen)), *(given.get("output_names") or ())]
    unknown = [str(name) for name in given.get("dynamic_axes") or () if name not in names]
    return {"unknown_axes": unknown, "names": names} if unknown else {}


def _parameters_of(seen: CapturedCall) -> list[str]:
    with suppress(TypeError, ValueError):  # a scripted forward has no signature
        return [*bound(inspect.signature(getattr(seen.model, "forward", seen.model)), seen.args, seen.kwargs)]
    return []


def _from_script(stack: TracebackType | None, path: str) -> TracebackType | None:
    """As Python would print it: without what called the script."""
    first = stack
    while first is not None and first.tb_frame.f_code.co_filename != path:
        first = first.tb_next
    return first or stack


def _one_thread(_number: int) -> None:
    """A pool of threads does not survive a fork: operators in the target's process would wait for it for ever."""


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)  # noqa: T201 - what Python itself does with a text
    return 1


class _Finder:
    """What was found so far, and the forks that hold it."""

    def __init__(self, script: Target, line: socket.socket, folder: Path, hold: Hold) -> None:
        self.script, self.line, self.folder, self.hold = script, line, folder, hold
        self.found: list[tuple[str, CapturedCall, Leaves]] = []
        self.left_out = 0
        self.start = Path.cwd()  # a script may go elsewhere

    def on_call(self, seen: CapturedCall) -> None:
        inputs = snapshot((seen.args, dict(seen.kwargs)))
        if known := next((name for name, other, before in self.found if _same(seen, inputs, other, before)), None):
            self._send({"again": known, "call": seen.call, "mode": seen.mode})
        elif len(self.found) == MOST:
            self.left_out += 1
        else:
            name = self._name(seen.site)
            self.found.append((name, seen, inputs))
            self._fork(name, seen)

    def declares(self, message: str) -> bool:
        """Does a call declare a dim that torch's message names; where it names none, any dim?"""
        named = re.findall(r"(\w+)\.size\(\)\[(\d+)\]", message)
        calls = [seen for _, seen, _ in self.found if seen.dynamic_shapes is not None]
        return any(not named or any(_declares(seen, name, int(dim)) for name, dim in named) for seen in calls)

    def name_of(self, seen: CapturedCall) -> str | None:
        """The target that stands for a call."""
        inputs = snapshot((seen.args, dict(seen.kwargs)))
        return next((name for name, other, before in self.found if _same(seen, inputs, other, before)), None)

    def _name(self, site: CallSite) -> str:
        place = f"{os.path.relpath(site.path, self.start)}:{site.line}" if site.path else self.script.source
        taken = {name for name, *_ in self.found}
        names = (place, *(f"{place} #{number}" for number in range(2, MOST + 2)))
        return next(name for name in names if name not in taken)

    def _send(self, message: Mapping[str, Any], *fds: int) -> None:
        socket.send_fds(self.line, [json.dumps(message).encode()], list(fds))

    def _fork(self, name: str, seen: CapturedCall) -> None:
        # Twice, so that the target's process is no child of the script's: it outlives it, and counts for itself.
        between = os.fork()
        if between:
            os.waitpid(between, 0)
        elif os.fork():
            os._exit(0)
        else:
            self._become_target(name, seen)

    def _become_target(self, name: str, seen: CapturedCall) -> None:
        """In the fork; never comes back into the script."""
        try:
            folder = self.folder / f"target-{len(self.found)}"
            folder.mkdir()
            os.setsid()
            target = replace(
                self.script,
                name=name,
                path=seen.site.path,
                line=seen.site.line,
                given_to=seen.call,
                asked_modes=(seen.mode,) if seen.mode else (),
                compiled=seen.compiled,
                number=len(self.found),
                waits=str(folder),
            )
            ours, theirs = socket.socketpair()
            self._send({"target": target.to_dict(), "pid": process_id(), "folder": str(folder)}, theirs.fileno())
            theirs.close()
            self.line.close()
            loaded = of_values(target, seen.model, seen.args, dict(seen.kwargs), seen.dynamic_shapes)
            loaded = replace(loaded, call_options=seen.options)
            if seen.call == "torch.onnx.export":
                keep_small_sizes_free()
                if seen.dynamic_shapes is not None:
                    write_recurrent_layers_as_loops()
            self.hold(ours, folder / "output", loaded)
        finally:
            leave(1)


def _same(seen: CapturedCall, inputs: Leaves, other: CapturedCall, before: Leaves) -> bool:
    """The same model with the same inputs; a call that asks for no dynamic shapes adds none."""
    model = seen.model is other.model or (isinstance(seen.model, MethodType) and seen.model == other.model)
    shapes = seen.dynamic_shapes is None or repr(seen.dynamic_shapes) == repr(other.dynamic_shapes)
    return model and shapes and (seen.args is other.args or compare(before, inputs, exact=True) is None)

"""jit-trace: trace the model with torch.jit.trace, as its script did, and run the traced module beside eager on other
values, and on other sizes. Where both disagree the trace has kept the way that the sample takes.

onnx-trace: likewise of torch.onnx.export(dynamo=False), which traces so; its file runs in ONNX Runtime.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.dynamic_shapes.other_sizes import last_shared_line, lines_run_otherwise
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import Inputs, inputs_of, with_other_values
from exportlint.trial.child.execution.inputs.pytree_leaves import leaves, snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.sizes_in_place import SizesKept
from exportlint.trial.child.export.export_call import warnings_kept
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.onnx_file import OnnxFile, Places, tensors_of
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.stages import JIT_TRACE, ONNX_TRACE
from exportlint.trial.protocol.target import OLD_ONNX
from exportlint.trial.protocol.torch_messages import outputs_are_refused

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves
    from exportlint.trial.child.loading.loaded import Loaded


def run(request: StageRequest) -> StageAnswer:
    """A difference has "sample" (what both give there), "ours" and "theirs", "how" the "inputs" were made, and the
    "line" at which eager goes another way with them; "raised": by the traced module alone; without "how", both differ
    on the sample itself."""
    loaded, sample = request.loaded, inputs_of(request.loaded, 0)
    with warnings_kept() as warned:
        try:
            traced = OnnxFile(request, sample) if request.stage == ONNX_TRACE.name else _traced(loaded, sample)
        except ImportError as exc:
            return StageAnswer(SKIPPED, f"{exc.name} is not installed")
        except Exception as exc:  # noqa: BLE001 - torch lets anything through
            seen = of_exception(exc)
            if loaded.target.compiled:  # the script's own call failed of it, and tells it
                return StageAnswer(REFUSED, seen.first_line)
            request.emit(_with_untraced_outputs(seen, request))
            return StageAnswer(REFUSED, None)
    both = [
        in_fork(partial(_called, call, sample), request.folder) for call in (loaded.eager(), loaded.eager(), traced)
    ]
    if both[0].ok and both[1].ok and not both[2].ok:
        found = in_fork(partial(_beside, loaded, traced, sample), request.folder)
        if found.ok and found.value and isinstance(found.value[1], str):
            details = {"check": request.stage, "raised": found.value[1], **_with_dynamo(request, traced, sample)}
            request.emit(_at_the_call(Observation("difference", details=details), request))
            return StageAnswer(DIFFERS, None)
    if not all(one.ok for one in both):
        return StageAnswer(SKIPPED, "on the sample not both give something")
    eager, again, ours = (one.value for one in both)
    ours = _numbers_as(eager, ours)
    if len(eager) != len(ours):
        return StageAnswer(SKIPPED, "what eager gives is not what the file gives")
    if compare(eager, again, exact=True):
        return StageAnswer(SKIPPED, "eager gives other values in every run")
    if compare(eager, ours):
        details = {"check": request.stage, **values_beside(eager, ours, eager), **_with_dynamo(request, traced, sample)}
        seen = _at_the_call(Observation("difference", details=details), request)
        for place in (places := _sizes_in_place(request, eager)):
            request.emit(_in_place(seen, place))
        if not places:
            request.emit(seen)
        return StageAnswer(DIFFERS, None)
    if isinstance(traced, OnnxFile) and traced.unknown:
        details = {"check": request.stage, "unknown_axes": traced.unknown, "names": traced.names}
        request.emit(_at_the_call(Observation("difference", details=details), request))
        return StageAnswer(DIFFERS, None)
    answer = _on_other_values(request, traced, eager, warned)
    return answer if answer.status == DIFFERS else _on_other_sizes(request, traced, warned) or answer


def _on_other_values(
    request: StageRequest, traced: Any, eager: Leaves, warned: Sequence[warnings.WarningMessage]
) -> StageAnswer:
    """`eager` is what both give on the sample."""
    loaded, tried = request.loaded, 0
    for how, inputs in probing_inputs(inputs_of(loaded, 0)):
        found = in_fork(partial(_beside, loaded, traced, inputs), request.folder).value
        tried += found is not None
        if found:
            better = _with_dynamo(request, traced, inputs)
            request.emit(_difference(request, inputs, {"how": how, **_apart(eager, *found), **better}, warned))
            return StageAnswer(DIFFERS, None)
    if not tried:
        return StageAnswer(SKIPPED, f"eager refuses other values than the sample's{_doubt(warned)}")
    return StageAnswer(
        PASSED, f"{_TRACED[request.stage]} agrees with eager on {tried} sets of other values{_doubt(warned)}"
    )


# What was made is called so in answers.
_TRACED = {JIT_TRACE.name: "the traced module", ONNX_TRACE.name: "the file in ONNX Runtime"}


def _on_other_sizes(
    request: StageRequest, traced: Any, warned: Sequence[warnings.WarningMessage]
) -> StageAnswer | None:
    """Twice as large, then smaller, dim by dim: of a traced module every one that eager takes, of a file those of
    `dynamic_axes`. None where they agree, or eager takes no other."""
    loaded, declared = request.loaded, isinstance(traced, OnnxFile)
    sizes = traced.declared if isinstance(traced, OnnxFile) else _sizes(inputs_of(loaded, 0))
    failing: dict[str, tuple[Inputs, Any]] = {}
    for times, factor in _FACTORS.items():  # noqa: B007 - the one at which it ends is told
        for of, places in sizes.items():
            inputs = _resized(inputs_of(loaded, 0), places, factor)
            if found := in_fork(partial(_beside, loaded, traced, inputs), request.folder).value:
                failing[of] = inputs, found
        if failing:
            break
    else:
        return None
    inputs, found = next(iter(failing.values()))
    how = f"{times} the size of {', or of '.join(failing)}"
    fields = {"how": how, "resized": True, "declared": declared, **_apart([], *found)}
    details = {"check": request.stage, "inputs": inputs_in_words(inputs), **fields}
    doubted = _all_warned(warned)
    loops = _loops_of_another_length(loaded, inputs)
    details |= {"doubted": _plain(doubted), "loops": _plain(loops)}
    seen = _at_the_call(
        Observation("difference", details=details).with_details(**_with_dynamo(request, traced, inputs)), request
    )
    own = doubted if len(failing) == 1 else []
    (place,) = next((one for one in (loops, own) if len(one) == 1), (None,))  # of several it may be any
    request.emit(seen.at([place]) if place else seen)
    if declared:
        return StageAnswer(DIFFERS, None)
    return StageAnswer(PASSED, f"the traced module agrees with eager on other values, not with {how}")


def _plain(frames: Sequence[Frame]) -> list[list[Any]]:
    return [[one.path, one.line, one.text] for one in frames]


def _loops_of_another_length(loaded: Loaded, inputs: Inputs) -> list[Frame]:
    """The loops that eager goes round another number of times than on the sample: a trace keeps the sample's."""
    on_sample, on_these = (partial(_called, loaded.eager(), one) for one in (inputs_of(loaded, 0), inputs))
    try:
        found = lines_run_otherwise(on_sample, on_these)
    except Exception:  # noqa: BLE001 - eager may refuse these, in whatever way
        return []
    frames = (frame_at(path, line, "") for path, lines in found.items() for line in lines)
    return [one for one in frames if one.text.startswith(("for ", "while "))]


def _sizes(inputs: Inputs) -> Mapping[str, Places]:
    """Dims of one size go together: they mostly have to be equal."""
    found: dict[int, list[tuple[int, int]]] = {}
    for number, tensor in enumerate(tensors_of(inputs)):
        for dim, size in enumerate(tensor.shape):
            found.setdefault(size, []).append((number, dim))
    return {
        " and ".join(f"dim {dim} of input {number + 1}" for number, dim in places): places
        for size, places in found.items()
        if size
    }


# A test of a size in the model may lie on either side of the sample's.
_FACTORS = {"twice": 2.0, "half": 1 / 2, "an eighth of": 1 / 8}


def _resized(inputs: Inputs, places: Places, factor: float) -> Inputs:
    """Of one size or more in each dim; twice as large with the same elements again."""
    number = -1

    def resized(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal number
        number += 1
        for of, dim in places:
            if of == number and factor > 1:
                tensor = torch.cat([tensor, tensor], dim)
            elif of == number:
                tensor = tensor.narrow(dim, 0, max(1, int(tensor.shape[dim] * factor)))
        return tensor

    return pytree.tree_map_only(torch.Tensor, resized, inputs)  # type: ignore[no-any-return]


def _with_dynamo(request: StageRequest, traced: Any, inputs: Inputs) -> dict[str, Any]:
    """What the exporter that goes by torch.export was seen to do better with these inputs, as a detail."""
    if not isinstance(traced, OnnxFile):
        return {}
    try:
        better = OnnxFile(request, inputs_of(request.loaded, 0), dynamo=True)
    except Exception:  # noqa: BLE001 - it refuses, in whatever way
        return {}
    found = in_fork(partial(_beside, request.loaded, better, inputs), request.folder)
    return {"dynamo": True} if found.ok and found.value == () else {}


def _traced(loaded: Loaded, sample: Inputs) -> Any:
    args, kwargs = copied(sample)
    seed(0)
    named = {"example_kwarg_inputs": kwargs} if kwargs and not args else {}
    model = loaded.eager()
    if loaded.target.compiled:  # which torch.jit.trace refuses, so that what is compiled alone would not show it
        model = torch.compile(model)
    return torch.jit.trace(model, None if named else args, check_trace=False, strict=False, **named)


def _with_untraced_outputs(seen: Observation, request: StageRequest) -> Observation:
    """Of outputs that no trace can have: which they are, at the line that returns them."""
    if not outputs_are_refused(seen.text):
        return seen
    found = in_fork(partial(_untraced_outputs, request.loaded), request.folder)
    if not found.ok or not found.value[0]:
        return seen
    wrong, line = found.value
    path = inspect.getsourcefile(type(request.loaded.eager()).forward)
    seen = seen.at([frame_at(path, line, "forward")]) if path and line and is_user_path(path) else seen
    return seen.with_details(not_traced=wrong)


def _untraced_outputs(loaded: Loaded) -> tuple[list[str], int | None]:
    """The places of the output that hold no tensor, each with what it holds, and the line of forward that returns."""
    model, (args, kwargs) = loaded.eager(), copied(inputs_of(loaded, 0))
    code, lines = getattr(getattr(type(model), "forward", None), "__code__", None), list[int]()

    def watch(frame: Any, event: str, _value: Any) -> Any:
        if frame.f_code is code and event == "return":
            lines.append(frame.f_lineno)
        return watch if frame.f_code is code else None

    sys.settrace(watch)
    try:
        given = model(*args, **kwargs)
    finally:
        sys.settrace(None)
    wrong = [
        f"`{pytree.keystr(path)}` is {one if one is None else type(one).__name__}"
        for path, one in pytree.tree_flatten_with_path(given)[0]  # of which None is a leaf
        if not isinstance(one, torch.Tensor)
    ]
    return wrong, lines[-1] if lines else None


def _sizes_in_place(request: StageRequest, eager: Leaves) -> list[Frame]:
    """The lines that change a size in place, where the traced module gives what eager gives on the sample once they do
    not: each that is enough by itself, else all of them."""
    if request.stage != JIT_TRACE.name:
        return []
    found = in_fork(partial(_with_sizes_kept, request.loaded, eager), request.folder)
    places: list[Frame] = found.value if found.ok else []
    alone = [
        place
        for place in (places if len(places) > 1 else ())
        if (one := in_fork(partial(_with_sizes_kept, request.loaded, eager, place[:2]), request.folder)).ok
        and one.value
    ]
    return alone or places


def _with_sizes_kept(loaded: Loaded, eager: Leaves, only: tuple[str, int] | None = None) -> list[Frame]:
    """Where a size is changed in place; none, where that is not what makes the traced module differ."""
    sample = inputs_of(loaded, 0)
    with SizesKept(only) as watch:
        traced = _traced(loaded, sample)
    theirs = _numbers_as(eager, _called(traced, sample))
    return [] if compare(eager, theirs) else list(watch.places.values())


def _in_place(seen: Observation, place: Frame) -> Observation:
    """The same at that line, with the call that traces."""
    called = [[seen.user.path, seen.user.line, ""]] if seen.user else []
    return seen.at([place]).with_details(in_place=place.text, scripted=called)


def _numbers_as(eager: Leaves, theirs: Leaves) -> Leaves:
    """What a traced module gives, with numbers of Python where eager gives them: its own are tensors of one element."""
    numbers = {path: value for path, value in eager if isinstance(value, (bool, int, float))}
    return [(path, _number(numbers[path], value) if path in numbers else value) for path, value in theirs]


def _number(of_eager: float, value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        return value
    return of_eager if value.item() == of_eager else value.item()


def _called(model: Callable[..., Any], inputs: Inputs) -> Leaves:
    args, kwargs = copied(inputs)
    seed(0)
    return snapshot(model(*args, **kwargs))


def _beside(loaded: Loaded, traced: Any, inputs: Inputs) -> tuple[()] | tuple[Leaves, Leaves | str]:
    """What eager and the traced module give where they disagree, or what this raises; values that eager refuses raise,
    and are left out."""
    eager = _called(loaded.eager(), inputs)
    try:
        theirs = _called(traced, inputs)
    except Exception as exc:  # noqa: BLE001 - whatever it raises, eager does not
        return eager, of_exception(exc).first_line
    theirs = _numbers_as(eager, theirs)
    return (eager, theirs) if compare(eager, theirs) else ()


def _apart(sample: Leaves, eager: Leaves, theirs: Leaves | str) -> dict[str, str]:
    return {"raised": theirs} if isinstance(theirs, str) else values_beside(eager, theirs, sample)


def _difference(
    request: StageRequest, inputs: Inputs, fields: Mapping[str, Any], warned: Sequence[warnings.WarningMessage]
) -> Observation:
    parted = _branch(request, inputs)
    branch = parted or _warned_at(warned)
    details = {"check": request.stage, "inputs": inputs_in_words(inputs), **fields}
    seen = Observation("difference", details=details)
    if branch:
        seen = seen.at([branch])
    if parted:
        seen = seen.with_details(line=[parted.path, parted.line, parted.text])
    return _at_the_call(seen, request)


def _at_the_call(seen: Observation, request: StageRequest) -> Observation:
    """Where the script traces, which is what a person has to change."""
    target = request.loaded.target
    if target.given_to in ("torch.jit.trace", OLD_ONNX) and target.path and target.line:
        path = os.path.abspath(target.path)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
        seen = replace(seen, user=Frame(path, target.line, "", ""))
    return seen


def _branch(request: StageRequest, inputs: Inputs) -> Frame | None:
    """The last line that eager shares on both inputs."""
    loaded = request.loaded
    runs = (partial(_called, loaded.eager(), one) for one in (inputs_of(loaded, 0), inputs))
    found = in_fork(lambda: last_shared_line(*runs), request.folder).value
    return found[0] if found else None


def _warned_at(warned: Sequence[warnings.WarningMessage]) -> Frame | None:
    """The first line of the model that torch.jit.trace itself doubts."""
    return next(iter(_all_warned(warned)), None)


def _all_warned(warned: Sequence[warnings.WarningMessage]) -> list[Frame]:
    own = (one for one in warned if issubclass(one.category, torch.jit.TracerWarning) and is_user_path(one.filename))
    return list(dict.fromkeys(frame_at(one.filename, one.lineno, "") for one in own))


def _doubt(warned: Sequence[warnings.WarningMessage]) -> str:
    place = _warned_at(warned)
    return f"; it warns of line {place.line}, `{place.text}`" if place else ""


# Values that take a model other ways than its sample does: of other signs, sizes and extremes, of the same shapes.


_FEW = 4  # elements that are shown one by one


def probing_inputs(sample: Inputs) -> Iterator[tuple[str, Inputs]]:
    """Each with how it was made, the most usual first; what leaves the sample as it is, is left out."""
    known = snapshot(sample)
    for how, inputs in _changed(sample):
        if compare(known, snapshot(inputs), exact=True):
            yield how, inputs


def _changed(sample: Inputs) -> Iterator[tuple[str, Inputs]]:
    for number in (1, 2, 3):
        yield "other values of the same shapes", with_other_values(sample, number)
    for how, change in _CHANGES.items():
        yield how, pytree.tree_map_only(torch.Tensor, partial(_where_plain, change), sample)


def _where_plain(change: Callable[[torch.Tensor], torch.Tensor], tensor: torch.Tensor) -> torch.Tensor:
    return change(tensor) if _is_plain(tensor) else tensor


def _is_plain(tensor: torch.Tensor) -> bool:
    """Has it an order of values, and can they be written down?"""
    return tensor.layout is torch.strided and not (tensor.is_quantized or tensor.dtype.is_complex)


def _times(factor: float, tensor: torch.Tensor) -> torch.Tensor:
    return tensor * factor if tensor.is_floating_point() else tensor


def _filled(value: bool, tensor: torch.Tensor) -> torch.Tensor:
    return torch.full_like(tensor, value) if _is_mask(tensor) else tensor


def _alternating(tensor: torch.Tensor) -> torch.Tensor:
    if not _is_mask(tensor):
        return tensor
    return (torch.arange(tensor.numel()) % 2).reshape(tensor.shape).to(tensor)


def _is_mask(tensor: torch.Tensor) -> bool:
    """Truth values, or numbers that are nothing but 0 and 1; floats only where both occur."""
    if tensor.dtype == torch.bool:
        return True
    zeros, ones = tensor == 0, tensor == 1
    both = bool(zeros.any()) and bool(ones.any())
    return bool((zeros | ones).all()) and (both or not tensor.is_floating_point())


_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the sample's values, negated": partial(_times, -1.0),
    "the sample's values times 100": partial(_times, 100.0),
    "the sample's values times 0.001": partial(_times, 0.001),
    "masks with every other value True": _alternating,
    "masks all True": partial(_filled, True),
    "masks all False": partial(_filled, False),
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
}


def inputs_in_words(inputs: Inputs) -> str:
    """Few values are shown, of many their least and their largest."""
    return ", ".join(_in_words(value) for path, value in leaves(inputs) if not _is_structure(path))


def _is_structure(path: str) -> bool:
    return path.startswith("len(") or path.endswith(".keys()")


def _in_words(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if not _is_plain(value):
        return f"{_kind(value)}{list(value.shape)}"
    if value.numel() <= _FEW:
        return str([round(one, 4) if isinstance(one, float) else one for one in value.reshape(-1).tolist()])
    if value.dtype == torch.bool:
        return f"bool{list(value.shape)} with {int(value.sum())} True"
    least, most = value.min().item(), value.max().item()
    return f"{_kind(value)}{list(value.shape)} from {least:.4g} to {most:.4g}"


def _kind(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# Show two values side by side, at the place where they differ most.


def values_beside(ours: Leaves, theirs: Leaves, before: Leaves) -> dict[str, Any]:
    """ "output" (path, and index in a tensor), "ours", "theirs", and "sample": what stands there in `before`."""
    found = compare(ours, theirs)
    path = found.path if found else ""
    values = [dict(side).get(path) for side in (ours, theirs, before)]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    where, alike = "", values if before else values[:2]
    if len(tensors) == len(alike) and len({tensor.shape for tensor in tensors}) == 1 and tensors[0].numel():
        index = _widest(*(tensor.to(torch.cdouble).reshape(-1) for tensor in tensors[:2]))
        place = [int(one) for one in torch.unravel_index(torch.tensor(index), tensors[0].shape)]
        where = str(place) if place else ""
        values = [tensor.reshape(-1)[index].item() for tensor in tensors]
        values += [None] * (3 - len(values))
    ours_text, theirs_text, before_text = map(_text, values)
    return {"output": f"{path}{where}", "ours": ours_text, "theirs": theirs_text, "sample": before_text}


def _widest(ours: torch.Tensor, theirs: torch.Tensor) -> int:
    """Where they differ most; infinities that are equal do not, and what is no number on one side does most."""
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    gap = torch.nan_to_num((ours - theirs).abs(), nan=torch.inf, posinf=torch.inf)
    return int(gap.masked_fill(same, 0).argmax())


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)

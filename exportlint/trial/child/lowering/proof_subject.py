"""What a proof of a lowering is given, the calls that prove an artefact, and what the proof comes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import picks, resized, sizes_at, sizes_within, small_enough
from exportlint.trial.child.dynamic_shapes.size_facts import names
from exportlint.trial.child.dynamic_shapes.symbolic_trace import read_trace
from exportlint.trial.child.execution.inputs.input_sets import Inputs, inputs_of, with_other_values
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import torch

    from exportlint.lowering.arrays import TensorBytes
    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.export.export_call import Exported
    from exportlint.trial.child.loading.loaded import Loaded

# The calls that prove an artefact: the sample twice, other values, other sizes; each with what eager gives for it.


SAMPLE, AGAIN, OTHER_VALUES = "sample", "sample again", "other values"
_SIZES = 2  # so many other sizes are run: one larger, one at an end of the range


@dataclass(frozen=True)
class InputCall:
    """One call. `inputs` says which: the sample, other values, or sizes such as `batch=3`."""

    inputs: str
    given: Inputs


@dataclass(frozen=True)
class Expected:
    """What a call gives: the leaves of its output with their paths, and the leaves of the inputs after it."""

    paths: tuple[str, ...]
    outputs: list[Any]
    inputs: list[Any]
    raised: str = ""


def calls_of(loaded: Loaded, exported: Exported) -> list[InputCall]:
    """The sample twice in a row, so that state shows; then other values, then other sizes where dims are dynamic."""
    sample = inputs_of(loaded, 0)
    found = [InputCall(SAMPLE, sample), InputCall(AGAIN, sample), InputCall(OTHER_VALUES, inputs_of(loaded, 1))]
    return [*found, *_other_sizes(loaded, exported, sample)]


def _other_sizes(loaded: Loaded, exported: Exported, sample: Inputs) -> Iterator[InputCall]:
    # A fixture class with its own export call gives a program and no model.
    known = bool(exported.sizes) and exported.model is not None
    tensors = input_tensors(exported.model, sample, loaded.dynamic_shapes()) if known else []
    trace = read_trace(exported.sizes, tensors) if tensors else None
    if trace is None:
        return
    called, free = names(trace), sizes_within(trace, trace.ranges)
    for pick in picks(trace.samples(), free, trace.conditions)[:_SIZES]:
        sizes = sizes_at(trace, {**trace.samples(), **pick})
        if small_enough(tensors, sizes):
            text = ", ".join(f"{called[root]}={int(trace.of(root)[0].form.xreplace(pick))}" for root in pick)
            yield InputCall(text, with_other_values(resized(sample, tensors, sizes), 5))


def input_leaves(given: Inputs, in_spec: pytree.TreeSpec) -> list[Any]:
    """In the order in which the program takes them."""
    args, kwargs = given
    return list(pytree.tree_leaves((args, pytree.reorder_kwargs(kwargs, in_spec))))


def module_of(program: torch.export.ExportedProgram) -> Any:
    """What a user would call, with buffers of its own: `program.module()` writes to those of the program."""
    return copied(program.module())


def expected(
    model: Callable[..., Any], calls: Sequence[InputCall], in_spec: Any, first_seed: int = 0
) -> list[Expected]:
    """What the model gives, call after call on one model. A call that it refuses says so, and changes nothing more."""
    return [_one(model, call, in_spec, first_seed + number) for number, call in enumerate(calls)]


def _one(model: Callable[..., Any], call: InputCall, in_spec: Any, number: int) -> Expected:
    args, kwargs = copied(call.given)
    seed(number)
    try:
        leaves, _ = pytree.tree_flatten_with_path(model(*args, **kwargs))
    except Exception as exc:  # noqa: BLE001 - the model may raise anything
        return Expected((), [], [], f"{type(exc).__name__}: {exc}")
    paths = tuple(pytree.keystr(path) for path, _ in leaves)
    outputs = array_leaves([leaf for _, leaf in leaves])
    return Expected(paths, outputs, array_leaves(input_leaves((args, kwargs), in_spec)))


def shapes_only(results: Sequence[Expected]) -> list[Expected]:
    """Of a model whose values are random by design: what does not depend on the draw."""
    return [replace(one, outputs=shapes_of(one.outputs), inputs=shapes_of(one.inputs)) for one in results]


def shapes_of(leaves: Sequence[Any]) -> list[Any]:
    """Dtype and shape in the place of each tensor."""
    return [f"{leaf.dtype} {leaf.shape}" if hasattr(leaf, "shape") else leaf for leaf in leaves]


# What a proof of a lowering is given, and what it comes to: plain records.


@dataclass(frozen=True)
class Proved:
    """What a lowering came to.

    status        passed, refused, differs, crashed, timed-out, compiled or skipped
    detail        one line; None where the observation says it
    observations  what failed, at the line of the model that it is about; notes beside a pass
    data          JSON: "step" is the step that failed (compile, load, run, compare), "bytes" the size of the artefact,
                  "artefact" its path
    """

    status: str
    detail: str | None
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        kept = {name: value for name, value in self.data.items() if name != "artefact"}
        seen = [one.to_dict() for one in self.observations]
        return {"status": self.status, "detail": self.detail, "observations": seen, "data": kept}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Proved:
        """The other way."""
        seen = tuple(Observation.from_dict(one) for one in raw["observations"])
        return cls(raw["status"], raw["detail"], seen, raw["data"])


@dataclass(frozen=True)
class ProofSubject:
    """What is to be proved.

    name      where the lowering's class is: `module:Class`
    calls     the sample comes first
    folder    an empty folder for the artefact
    cache     a folder of earlier results; None: none are used or kept
    operators  say what becomes of every operator, even where finding out takes seconds
    seconds   so long may the fresh process take to load the artefact and to answer every call
    """

    name: str
    lowering: Lowering
    program: torch.export.ExportedProgram
    build_model: Callable[[], Any]
    calls: Sequence[InputCall]
    folder: Path
    cache: Path | None = None
    seconds: float = 120.0
    operators: bool = False


@dataclass(frozen=True)
class WrittenBuffer:
    """By its name in the model; the values of eager, before the first call and after the last one."""

    name: str
    before: TensorBytes
    after: TensorBytes


@dataclass(frozen=True)
class EagerReference:
    """What the artefact is held against.

    calls     those that eager and the exported program take
    eager     what eager gives for each
    exported  what the exported program gives
    steady    does eager give the same twice?
    written   of a target without state: the buffers whose values the calls changed
    """

    calls: list[InputCall]
    eager: list[Expected]
    exported: list[Expected]
    steady: bool
    written: tuple[WrittenBuffer, ...] = ()

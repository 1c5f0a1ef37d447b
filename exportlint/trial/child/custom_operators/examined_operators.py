"""What a target's custom operators are worth to the tracer: drafts of missing fake kernels, and wrong ones."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.fake_kernel_code import fake_kernel_code
from exportlint.trial.child.custom_operators.operator_calls import (
    Arguments,
    Observed,
    OperatorCall,
    Result,
    by_name,
    called,
    copies,
    custom_operator_calls,
    observed_calls,
    results_of,
)
from exportlint.trial.child.execution.call_record import arguments_text
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import told_in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import definition, fake_kernel, schema_of
from exportlint.trial.child.torch_private.tensors import with_fakes
from exportlint.trial.protocol.frames import Frame, frame_at, is_installed, is_user_path
from exportlint.trial.protocol.torch_messages import lacks_fake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.loading.loaded import Loaded


_SECONDS = 20  # of a processor, for all operators


@dataclass(frozen=True)
class Draft:
    """A fake kernel for an operator that has none. `place`: where the operator is defined, if Python knows it."""

    operator: str
    code: str
    place: Frame | None


@dataclass(frozen=True)
class WrongKernel:
    """A fake kernel that does not say what the operator gives.

    sample   with the arguments that the model gives it
    code     a draft of one that does
    """

    operator: str
    arguments: str
    real: str
    fake: str
    sample: bool
    code: str
    place: Frame | None


def drafts_of_missing(loaded: Loaded, folder: Path) -> list[Draft]:
    """One for each operator without a fake kernel that eager calls."""

    def look(tell: Callable[[Any], None]) -> None:
        known: set[str] = set()
        for call in custom_operator_calls(loaded):
            if call.name not in known and lacks_fake_kernel(call.operator, by_name(call)):
                known.add(call.name)
                calls = [observed for _, observed in observed_calls(call)]
                code = fake_kernel_code(call.operator, calls)
                if calls[0].results:
                    tell(Draft(call.name, code, defined_at(call.name)))

    return told_in_fork(look, folder, _SECONDS).parts


def wrong_operators(loaded: Loaded, folder: Path) -> list[WrongKernel | UndeclaredWrite]:
    """Of each operator that the model calls: what it writes into undeclared, and the first disagreement of its fake
    kernel."""

    def look(tell: Callable[[Any], None]) -> None:
        known: set[tuple[str, type[Any]]] = set()
        for call in custom_operator_calls(loaded):
            for found in (undeclared_write(call), next(disagreements(call), None)):
                if found and (call.name, type(found)) not in known:
                    known.add((call.name, type(found)))
                    tell(found)

    return told_in_fork(look, folder, _SECONDS).parts


def disagreements(call: OperatorCall) -> Iterator[WrongKernel]:
    """For the model's own arguments first, then for others that both the operator and its fake kernel take."""
    calls = list(observed_calls(call))
    for number, (arguments, real) in enumerate(calls):
        try:
            fake = fake_results(call.operator, arguments)
        except Exception:  # noqa: BLE001, S112 - what a fake kernel refuses, the export refuses loudly
            continue
        if found := disagreement(real, fake):
            text, code = arguments_text((), arguments), fake_kernel_code(call.operator, [one for _, one in calls])
            yield WrongKernel(call.name, text, *found, sample=number == 0, code=code, place=faked_at(call.name))


def registered(code: str) -> None:
    """Run a draft, so that the tracer has it; in this process, for good."""
    exec(compile(code, "<fake kernel>", "exec"), {"torch": torch})  # noqa: S102 - made from the schema above


# Run an operator on fake tensors, as the tracer does, and compare with what it really gave.


def fake_results(operator: Any, arguments: Arguments) -> tuple[Any, ...]:
    """What the tracer takes for the results; raises what torch raises."""
    return with_fakes(lambda fakes: results_of(called(operator, fakes)), arguments)


def lacks_fake_kernel(operator: Any, arguments: Arguments) -> bool:
    """Does torch say that it has none?"""
    try:
        fake_results(operator, arguments)
    except Exception as exc:  # noqa: BLE001 - a fake kernel may raise anything
        return lacks_fake(exc)
    return False


def disagreement(real: Observed, fake: Sequence[Any]) -> tuple[str, str] | None:
    """The first result that both describe otherwise, in words, the real one first."""
    if len(real.results) != len(fake):
        return f"{len(real.results)} results", str(len(fake))
    ours, theirs = (pytree.tree_leaves(list(side)) for side in (real.results, fake))
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors", str(len(theirs))
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, Result) and isinstance(other, Result) and not _alike(one, other):
            return _words(one), _words(other)
    return None


def _alike(real: Result, fake: Result) -> bool:
    """A size of the fake one that is a symbol stands for any size."""
    same_kind = real.dtype == fake.dtype and len(real.shape) == len(fake.shape)
    return same_kind and all(
        not isinstance(other, int) or size == other for size, other in zip(real.shape, fake.shape, strict=True)
    )


def _words(result: Result) -> str:
    return f"{str(result.dtype).removeprefix('torch.')}[{', '.join(map(str, result.shape))}]"


# Find the arguments that a custom operator writes into, though its schema says that it leaves them.


@dataclass(frozen=True)
class UndeclaredWrite:
    """An operator that changed `arguments`, by their names, with what the model gives it. `place`: its definition."""

    operator: str
    arguments: list[str]
    place: Frame | None


def undeclared_write(call: OperatorCall) -> UndeclaredWrite | None:
    """Call the operator as the model does, and compare its arguments with what they were."""
    declared = {
        argument.name
        for argument in schema_of(call.operator).arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    before: dict[str, Any] = by_name(call)
    after = copies(before)
    seed(0)
    with torch.no_grad():
        called(call.operator, after)
    changed = [
        name
        for name in before
        if name not in declared and compare(snapshot(before[name]), snapshot(after[name]), exact=True)
    ]
    return UndeclaredWrite(call.name, changed, defined_at(call.name)) if changed else None


# Find the lines that define a custom operator, and its fake kernel.


def defined_at(name: str) -> Frame | None:
    """Of one that `torch.library.custom_op` made, its function; else the line of the project that names it in quotes.

    Torch keeps no line of an operator that a schema defines.
    """
    if code := getattr(definition(name), "__code__", None):
        return frame_at(code.co_filename, code.co_firstlineno, code.co_name)
    namespace, _, operator = name.partition("::")
    patterns = [rf"""["']{namespace}::{operator}["'(]""", rf"""\.define\(\s*["']{operator}\("""]
    places = (place for file in _project_files() for pattern in patterns for place in _naming(file, pattern))
    return next(places, None)


def faked_at(name: str) -> Frame | None:
    """The function that was registered as its fake kernel; for want of one, where the operator is defined."""
    function, source = fake_kernel(name)
    if code := getattr(function, "__code__", None):
        return frame_at(code.co_filename, code.co_firstlineno, code.co_name)
    path, _, line = source.rpartition(":")
    if line.isdigit() and is_user_path(path):
        return frame_at(path, int(line), "")
    return defined_at(name)


def _project_files() -> Iterator[Path]:
    """Of the modules that are loaded, the project's own."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    for file in files:
        if file and is_user_path(file) and not is_installed(file):
            yield Path(file)


def _naming(file: Path, pattern: str) -> Iterator[Frame]:
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return
    for found in re.finditer(pattern, text):
        yield frame_at(str(file), text.count("\n", 0, found.start()) + 1, "")

"""Check: the program has eager's gradients. Only where the model is tried for training, which the caller says."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.call_gradients import may_have_gradient, weighted_sum
from exportlint.trial.child.soundness.differences import is_unsteady
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.server.forks import ForkResult
    from exportlint.trial.child.soundness.subject import Subject


@dataclass(frozen=True)
class Gradients:
    """Of the parameters and inputs, by name; and the lines of user code that ran to give them."""

    values: Mapping[str, torch.Tensor]
    lines: Mapping[str, set[int]]

    @property
    def first_lines(self) -> list[tuple[str, int]]:
        """Of each file the first line that ran inside of a function; its own line comes before."""
        return [(path, sorted(lines)[:2][-1]) for path, lines in self.lines.items()]


def other_gradients(subject: Subject) -> Iterator[Observation]:
    """The first parameter or input whose gradient is another than eager's, at the code that eager ran for it."""
    runs = _runs(subject)
    if runs is None:
        return
    eager, program = runs
    if fields := _difference(eager, program):
        seen = Observation("difference", details={"check": "gradients", "input_set": 0, **fields})
        yield seen.at([Frame(path, line, "", "") for path, line in eager.first_lines][:1])


def compares_gradients(subject: Subject) -> bool:
    """Was every gradient of eager compared with one of the program?"""
    runs = _runs(subject)
    if runs is None or runs[1].value is None:
        return False
    eager, program = runs
    compared: Gradients = program.value
    return eager.values.keys() <= compared.values.keys()


@lru_cache(maxsize=1)
def _runs(subject: Subject) -> tuple[Gradients, ForkResult] | None:
    """Eager's, and how the program's came out; None where nobody asked, and where eager has none or is unsteady."""
    if not subject.request.options.get("grad") or is_unsteady(subject.eager, subject.again):
        return None
    loaded, folder = subject.request.loaded, subject.request.folder
    eager = in_fork(lambda: _gradients(loaded, loaded.eager()), folder)
    if not eager.ok or not eager.value.values:
        return None
    return eager.value, in_fork(lambda: _gradients(loaded, subject.exported.module()), folder)


def _difference(eager: Gradients, program: ForkResult) -> Mapping[str, Any] | None:
    if program.raised:
        return {"raised": program.raised.first_line}
    if program.ended:
        return None
    if not program.value.values:
        return {"raised": "no output has a gradient"}
    shared = [name for name in eager.values if name in program.value.values]
    ours, theirs = ([(name, run.values[name]) for name in shared] for run in (eager, program.value))
    found = compare(ours, theirs)
    return found.fields() if found else None


def _gradients(loaded: Loaded, program: Callable[..., Any]) -> Gradients:
    """Of a weighted sum of all outputs; nothing where no output has a gradient."""
    args, kwargs = inputs_of(loaded, 0)
    inputs = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if may_have_gradient(leaf) and leaf.is_leaf]
    wanted = {f"input {number}": leaf.requires_grad_() for number, leaf in enumerate(inputs)}
    if isinstance(program, torch.nn.Module):
        wanted |= {name: weight for name, weight in program.named_parameters() if weight.requires_grad}
    seed(0)
    parts = [
        leaf for leaf in pytree.tree_leaves(program(*args, **kwargs)) if may_have_gradient(leaf) and leaf.requires_grad
    ]
    lines: Lines = defaultdict(set)
    if not parts or not wanted:
        return Gradients({}, lines)
    with recorded_lines(lines):
        found = torch.autograd.grad(weighted_sum(parts), list(wanted.values()), allow_unused=True)
    pairs = zip(wanted.items(), found, strict=True)
    values = {name: torch.zeros_like(leaf) if one is None else one.detach() for (name, leaf), one in pairs}
    return Gradients(values, dict(lines))

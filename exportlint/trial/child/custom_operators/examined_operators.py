"""What a target's custom operators are worth to the tracer: drafts of missing fake kernels, and wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.definition_places import defined_at, faked_at
from exportlint.trial.child.custom_operators.fake_kernel_code import fake_kernel_code
from exportlint.trial.child.custom_operators.real_and_fake import disagreement, fake_results, lacks_fake_kernel
from exportlint.trial.child.custom_operators.recorded_calls import OperatorCall, custom_operator_calls
from exportlint.trial.child.custom_operators.undeclared_writes import UndeclaredWrite, undeclared_write
from exportlint.trial.child.custom_operators.varied_calls import by_name, observed_calls
from exportlint.trial.child.execution.call_text import arguments_text
from exportlint.trial.child.server.forks import told_in_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.frames import Frame


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

"""Find the arguments that a custom operator writes into, though its schema says that it leaves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.definition_places import defined_at
from exportlint.trial.child.custom_operators.recorded_calls import OperatorCall, copies
from exportlint.trial.child.custom_operators.varied_calls import by_name, called
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.loading.seeding import seed

if TYPE_CHECKING:
    from exportlint.trial.protocol.frames import Frame


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
        for argument in call.operator._schema.arguments  # noqa: SLF001 - no public name
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

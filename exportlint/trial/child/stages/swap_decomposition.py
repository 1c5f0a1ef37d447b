"""swap-decomposition: the program decomposed with functions of the user's in the place of torch's, beside torch's own.

`data["cannot_be_done"]`: why what the user asks for names nothing.
`data["swapped"]`: [operator, how often it occurs with torch's table, how often with the user's], where both differ.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.loading.from_target import resolve
from exportlint.trial.child.soundness.differences import compared_on_sample
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.target import TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence


_KEEP = "keep"


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """`decompose` in the options: OP=FILE_OR_MODULE:FUNCTION, or OP=keep."""
    asked = [text.partition("=")[::2] for text in request.options["decompose"]]
    try:
        usual = program.run_decompositions(_table([]))
        swapped = program.run_decompositions(_table(asked))
    except TargetError as exc:
        return StageAnswer(SKIPPED, short(str(exc)), {"cannot_be_done": str(exc)})
    except Exception as exc:  # noqa: BLE001 - torch lets anything through, and so may the functions
        request.emit(of_exception(exc))
        return StageAnswer(REFUSED, None)
    before, after = _counted(usual), _counted(swapped)
    changed = [[name, before[name], after[name]] for name in sorted({*before, *after}) if before[name] != after[name]]
    detail = f"{len(changed)} operators occur otherwise than by torch's table" if changed else "changes nothing"
    return replace(compared_on_sample(request, swapped.module, detail), data={"swapped": changed})


def _table(asked: Sequence[tuple[str, str]]) -> Any:
    table = torch.export.default_decompositions()
    for name, source in asked:
        operator = _operator(name)
        if source == _KEEP:
            table.pop(operator, None)
        else:
            table[operator] = _function(source)
    return table


def _function(source: str) -> Any:
    """Raises TargetError, whatever the import raises: that is nothing about the program."""
    try:
        return resolve("--decompose", source)
    except TargetError:
        raise
    except Exception as exc:
        raise TargetError(f"--decompose {source}: {type(exc).__name__}: {exc}") from exc


def _operator(name: str) -> Any:
    """`aten.silu.default`, `aten::silu` or `aten.silu`."""
    namespace, _, rest = name.replace("::", ".").partition(".")
    operator, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), operator), overload or "default")
    except AttributeError as exc:
        raise TargetError(f"--decompose {name}: torch has no such operator") from exc


def _counted(program: Any) -> Counter[str]:
    return Counter(str(node.target) for node in program.graph.nodes if node.op == "call_function")

"""The call that exports the model, in the other mode: what a trial saw pass where the asked mode is refused."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError, changed_copy
from exportlint.rewrite.place import TORCH_EXPORT, call_at_line
from exportlint.rule.suspicion import SuspectedRewrite

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ModuleInfo


def in_non_strict_mode(module: ModuleInfo, line: int) -> SuspectedRewrite | None:
    """Without `strict=True`; None where no call at the line says that."""
    call = call_at_line(module, line, TORCH_EXPORT)
    asked = [one for one in call.keywords if one.arg == "strict"] if call is not None else []
    if call is None or not (asked and isinstance(asked[0].value, ast.Constant) and asked[0].value.value is True):
        return None
    draft = Draft(module)
    # By name: torch had `strict=True` for its default before 2.8.
    loose = ast.keyword("strict", ast.Constant(value=False))
    draft.swap(call, changed_copy(call, keywords=[loose if one is asked[0] else one for one in call.keywords]))
    try:
        return SuspectedRewrite("export in non-strict mode", Applicability.UNSAFE, draft.edits())
    except NoRoomError:
        return None

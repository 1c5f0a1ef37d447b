"""A flag of a model's own configuration, which a trial found to be in the way, is off before the model is exported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError, changed_copy, statements
from exportlint.rewrite.place import EXPORT_CALLS, call_at_line, model_of_call
from exportlint.rule.suspicion import SuspectedRewrite

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ModuleInfo

_CHAINED = frozenset({"eval", "train", "to", "cpu", "float", "double", "half"})


def switched_off(module: ModuleInfo, line: int, switch: str, *, loose_trace: bool) -> SuspectedRewrite | None:
    """Above the call at the line that is given the model, which has to be a name there. `loose_trace`: a call of
    `torch.jit.trace` is given `strict=False`."""
    call = call_at_line(module, line, EXPORT_CALLS)
    name = _model_name(call) if call is not None else None
    if call is None or name is None:
        return None
    draft = Draft(module)
    place = draft.statement_of(call)
    if place is None or f"{name}.{switch} = False" in module.parsed.text:
        return None
    draft.above(place, statements(f"{name}.{switch} = False"))
    is_loose = any(word.arg in {"strict", None} for word in call.keywords)
    if loose_trace and not is_loose and module.dotted(call.func) == "torch.jit.trace":
        strict = ast.keyword("strict", ast.Constant(value=False))
        draft.swap(call, changed_copy(call, keywords=[*call.keywords, strict]))
    try:
        return SuspectedRewrite(f"set `{name}.{switch}` to False", Applicability.UNSAFE, draft.edits())
    except NoRoomError:
        return None


def _model_name(call: ast.Call) -> str | None:
    """`model` of `model` and `model.eval()`."""
    given = model_of_call(call)
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _CHAINED:
        given = given.func.value
    return path_of(given) if isinstance(given, ast.Name | ast.Attribute) else None

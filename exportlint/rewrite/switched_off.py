"""A flag of a model's own configuration, which a trial found to be in the way, is off before the model is exported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError, changed_copy, statements
from exportlint.rewrite.interface import EXPORT_CALLS
from exportlint.rule.suspicion import SuspectedRewrite

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ModuleInfo

_CHAINED = frozenset({"eval", "train", "to", "cpu", "float", "double", "half"})


def switched_off(module: ModuleInfo, line: int, switch: str, *, loose_trace: bool) -> SuspectedRewrite | None:
    """Above the call at the line that is given the model, which has to be a name there. `loose_trace`: a call of
    `torch.jit.trace` is given `strict=False`."""
    calls = [
        one for one in ast.walk(module.tree) if isinstance(one, ast.Call) and module.dotted(one.func) in EXPORT_CALLS
    ]
    here = [one for one in calls if one.lineno <= line <= (one.end_lineno or one.lineno)]
    name = _model_name(here[0]) if len(here) == 1 else None
    if name is None:
        return None
    draft = Draft(module)
    (call,) = here
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
    by_name = (word.value for word in call.keywords if word.arg in {"mod", "model", "func"})
    given = call.args[0] if call.args else next(by_name, None)
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _CHAINED:
        given = given.func.value
    return path_of(given) if isinstance(given, ast.Name | ast.Attribute) else None

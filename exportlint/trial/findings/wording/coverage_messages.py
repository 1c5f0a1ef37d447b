"""Say of lines that never ran what kept the samples out, and which input would reach them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from exportlint.trial.findings.coverage.never_ran import Region


_ATTRIBUTE = ", an attribute of the model"
NOTHING_IS_KNOWN = "; no sample of a trial ran this line, so nothing is known of it"


def region_message(region: Region) -> str:
    """Without a final stop."""
    several = region.end_line > region.line
    lines = f"lines {region.line} to {region.end_line}" if several else "this line"
    return f"{lines} never ran: {_why(region)}; nothing is known of {'them' if several else 'it'}"


def _why(region: Region) -> str:
    at, words = f"line {region.at}", region.words
    match region.why:
        case "branch" if region.test is not None:
            return _branch(region, region.test, at)
        case "loop":
            return f"the loop of {at} never went round; needs an element in `{words}`"
        case "else":
            return f"the loop of {at} never came to its end"
        case "case":
            return f"needs {words}"
        case "handler":
            return f"needs {words} to be raised behind the `try` of {at}"
        case "call":
            return f"`{words}` is called at {at}, which never ran"
    return f"no call came past {at}"


def _branch(region: Region, test: ast.expr, at: str) -> str:
    """What the test gave; once, where the very test is what is needed."""
    text, needs = f"`{short(ast.unparse(test))}`", needed(test, region.parameters, wanted=region.wanted)
    if region.wanted and needs.startswith(text):
        attribute = _ATTRIBUTE if needs.endswith(_ATTRIBUTE) else ""
        return f"needs {text} ({at}){attribute}, which was false in every call"
    return f"{text} ({at}) was {'false' if region.wanted else 'true'} in every call; needs {needs}"


def needed(test: ast.expr, parameters: frozenset[str], *, wanted: bool) -> str:
    """What makes the test give the wanted answer, such as "train mode" or "`x.shape[0] > 8`"."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return needed(inner, parameters, wanted=not wanted)
        case ast.BoolOp(op=op, values=values):
            word = " and " if isinstance(op, ast.And) == wanted else " or "
            return word.join(needed(value, parameters, wanted=wanted) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr="training"):
            return "train mode" if wanted else "eval mode"
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            is_none = isinstance(op, ast.Is) == wanted
            if name in parameters:
                return f"`{name}` left out or None" if is_none else f"a `{name}`"
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            own = isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "self"
            kept = _ATTRIBUTE if own else ""
            return f"`{short(ast.unparse(test))}` to be {'true' if wanted else 'false'}{kept}"
    return f"`{short(ast.unparse(test if wanted else _opposite(test)))}`"


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _opposite(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)

"""Say of lines that never ran what kept the samples out, and which input would reach them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from exportlint.trial.findings.coverage.never_ran import Region


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
    text = f"`{short(ast.unparse(test))}`"
    if region.wanted and _in_words(test, region.parameters, wanted=True) is None:
        return f"needs {text} ({at}){_kept(test)}, which was false in every call"
    needs = needed(test, region.parameters, wanted=region.wanted)
    return f"{text} ({at}) was {'false' if region.wanted else 'true'} in every call; needs {needs}"


def needed(test: ast.expr, parameters: frozenset[str], *, wanted: bool) -> str:
    """What makes the test give the wanted answer, such as "train mode" or "`x.shape[0] > 8`"."""
    return _in_words(test, parameters, wanted=wanted) or _as_written(test, wanted=wanted)


def _in_words(test: ast.expr, parameters: frozenset[str], *, wanted: bool) -> str | None:
    """Of a test that is said otherwise than it is written; None for any other."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return needed(inner, parameters, wanted=not wanted)
        case ast.BoolOp(op=op, values=values):
            word = " and " if isinstance(op, ast.And) == wanted else " or "
            return word.join(needed(value, parameters, wanted=wanted) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr="training"):
            return "train mode" if wanted else "eval mode"
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            if name in parameters:
                return f"`{name}` left out or None" if isinstance(op, ast.Is) == wanted else f"a `{name}`"
    return None


def _as_written(test: ast.expr, *, wanted: bool) -> str:
    if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return f"`{short(ast.unparse(test))}` to be {'true' if wanted else 'false'}{_kept(test)}"
    return f"`{short(ast.unparse(test if wanted else _opposite(test)))}`"


def _kept(test: ast.expr) -> str:
    own = isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "self"
    return ", an attribute of the model" if own else ""


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

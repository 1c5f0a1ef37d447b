"""Where code catches what torch raises while it traces, so that a refusal does not end the export.

A refusal is an exception like any other. In non-strict mode the model's own Python runs, so a broad handler around the
line catches it, and the export goes on in the handler. In strict mode Dynamo reads the bytecode and nothing is caught.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.rule.sketch import Sketch

# Those that catch torch's refusals, which are RuntimeErrors; "" is an `except` without a name.
CATCH_REFUSALS = frozenset({"", "Exception", "BaseException", "RuntimeError"})


def caught_at(sketch: Sketch, line: int) -> int:
    """The line of the innermost handler that catches a refusal of what stands in `line`; 0 where none does.

    Only the function's own code is looked at, not where it is called.

    >>> from exportlint.testing import code_of
    >>> caught_at(code_of("try:\\n    y = f(x)\\nexcept Exception:\\n    y = x").sketch, 2)
    3
    >>> caught_at(code_of("try:\\n    y = f(x)\\nexcept KeyError:\\n    y = x").sketch, 2)
    0
    """
    around = [
        (one.lineno, handler) for one, handler in _broad(sketch) if _spans(one.body, line) and not _is_later(one, line)
    ]
    return max(around)[1] if around else 0


def _broad(sketch: Sketch) -> Iterator[tuple[ast.Try | ast.With | ast.AsyncWith, int]]:
    """What is tried, and the line of the handler that catches a refusal of it."""
    for tried in sketch.nodes(ast.Try):
        for handler in tried.handlers:
            if not names_of(handler.type).isdisjoint(CATCH_REFUSALS) and not _raises_again(handler.body):
                yield tried, handler.lineno
    if "suppress" in sketch.methods:
        for block in sketch.nodes(ast.With):
            for item in block.items:
                match item.context_expr:
                    case ast.Call(func=ast.Name("suppress") | ast.Attribute(attr="suppress"), args=[*caught]):
                        if any(not names_of(one).isdisjoint(CATCH_REFUSALS) for one in caught):
                            yield block, block.lineno


def names_of(caught: ast.expr | None) -> frozenset[str]:
    """The last names of what a handler catches; "" for one that catches everything.

    >>> sorted(names_of(ast.parse("(KeyError, torch.OutOfMemoryError)", mode="eval").body))
    ['KeyError', 'OutOfMemoryError']
    """
    match caught:
        case None:
            return frozenset({""})
        case ast.Tuple(elts=elements):
            return frozenset().union(*map(names_of, elements))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return frozenset({name})
    return frozenset({"?"})


def _raises_again(body: list[ast.stmt]) -> bool:
    """Does the handler end by raising, with no way out before?"""
    leaves = (ast.Return, ast.Continue, ast.Break)
    return isinstance(body[-1], ast.Raise) and not any(isinstance(n, leaves) for s in body for n in ast.walk(s))


def _spans(body: Iterable[ast.stmt], line: int) -> bool:
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in body)


def _is_later(tried: ast.AST, line: int) -> bool:
    """Does the line stand in a function that is only made there?"""
    made = (one for one in ast.walk(tried) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in made)

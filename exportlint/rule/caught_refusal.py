"""Where code catches what torch raises while it traces, so that a refusal does not end the export.

A refusal is an exception like any other. In non-strict mode the model's own Python runs, so a broad handler around the
line catches it, and the export goes on in the handler. In strict mode Dynamo reads the bytecode and nothing is caught.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.patterns import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exportlint.rule.code import Code

# Those that catch torch's refusals, which are RuntimeErrors; "" is an `except` without a name.
CATCH_REFUSALS = frozenset({"", "Exception", "BaseException", "RuntimeError"})


def caught_at(code: Code, node: cst.CSTNode) -> int:
    """The line of the innermost handler that catches a refusal of the node; 0 where none does.

    Only the function's own code is looked at, not where it is called.

    >>> from exportlint.testing import code_of
    >>> def tried(handler):
    ...     code = code_of(f"try:\\n    y = f(x)\\n{handler}:\\n    y = x")
    ...     return caught_at(code, code.tree.body[0].body.body[0])
    >>> tried("except Exception"), tried("except KeyError")
    (3, 0)
    """
    if next(code.sketch.nodes(ast.Try), None) is None and "suppress" not in code.sketch.methods:
        return 0  # to know what stands around a node costs a walk through the whole file
    inner, outer = node, code.parent(node)
    while outer is not None and not isinstance(outer, cst.FunctionDef | cst.Lambda):
        match outer:
            case cst.Try(body=body, handlers=handlers) if body is inner:
                for handler in handlers:
                    if not names_caught(handler).isdisjoint(CATCH_REFUSALS) and not raises_again(handler.body):
                        return code.place(handler).line
            case cst.With(body=body) if body is inner and suppressing(code, outer) is not None:
                return code.place(outer).line
        inner, outer = outer, code.parent(outer)
    return 0


def names_caught(handler: cst.ExceptHandler) -> frozenset[str]:
    """The last names of what a handler catches; "" for one that catches everything.

    >>> tried = cst.parse_statement("try: f()\\nexcept (KeyError, torch.OutOfMemoryError): pass")
    >>> sorted(names_caught(tried.handlers[0]))
    ['KeyError', 'OutOfMemoryError']
    """
    match handler.type:
        case None:
            return frozenset({""})
        case cst.Tuple(elements=elements):
            return _last_names(element.value for element in elements)
        case single:
            return _last_names([single])


def raises_again(body: cst.BaseSuite) -> bool:
    """Does a handler end by raising, with no way out before, so that nothing is swallowed?

    >>> tried = cst.parse_statement("try: f()\\nexcept Exception:\\n    log()\\n    raise")
    >>> raises_again(tried.handlers[0].body)
    True
    """
    last = body.body[-1] if body.body else None
    ends = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)
    return ends and not _has_return(body)


def suppressing(code: Code, block: cst.With) -> cst.Call | None:
    """The `contextlib.suppress(…)` of a `with` block that drops torch's refusals of what stands in it.

    >>> from exportlint.testing import code_of
    >>> code = code_of("import contextlib\\nwith contextlib.suppress(Exception):\\n    f()")
    >>> suppressing(code, code.tree.body[1]) is not None
    True
    """
    for item in block.items:
        match item.item:
            case cst.Call(func=function, args=args) as call if code.name(function) == "contextlib.suppress":
                if not _last_names(arg.value for arg in args).isdisjoint(CATCH_REFUSALS):
                    return call
    return None


def _last_names(nodes: Iterable[cst.BaseExpression]) -> frozenset[str]:
    return frozenset((dotted(node) or "?").rpartition(".")[2] for node in nodes)


def _has_return(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Return) or any(map(_has_return, node.children))

"""Nothing is tried: what a `try` guards runs without it, or what its handler does runs alone.

A handler that catches everything catches the tracer's refusals, too; one that waits for a failure that values cause
has nothing to wait for in a program. What the block tries is written in tensors where data decides in it
(`straight_line`); an `assert` on data whose handler waits for it is an `if`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.rewrite.decide_in_data import put
from exportlint.rewrite.draft import changed_copy, expression
from exportlint.rewrite.state_homes import rebuilt
from exportlint.rewrite.straight_line import StraightLine
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.transformation import Site

_BROAD = frozenset({"Exception", "BaseException", "RuntimeError"})


class Untried:
    """The block without its `try`, written in tensors; else what its one handler does, alone."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        block = _block(site.view, site.node)
        if isinstance(block, ast.With):
            yield from _written(site, block, [*block.body], "do not catch what it raises")
        if not isinstance(block, ast.Try):
            return
        if (decided := _asserted(block) or _whole(site.view, block)) is not None:
            yield from _written(site, block, decided, "decide in the data")
            return
        ways = [*_ways(block)]
        if not any(map(_is_for_all, block.handlers)):
            ways.reverse()
        for new, words in ways:
            yield from _written(site, block, new, words)


def _ways(block: ast.Try) -> Iterator[tuple[list[ast.stmt], str]]:
    """What may be done without a `try`. First what it tries, as long as its handlers catch everything."""
    broad = not block.handlers or all(map(_is_broad, block.handlers))
    if broad and not _ends_before(block):
        yield [*block.body, *block.orelse, *block.finalbody], "do not catch what it raises"
    if len(block.handlers) == 1 and block.handlers[0].name is None and not block.orelse:
        handled = [one for one in block.handlers[0].body if not isinstance(one, ast.Pass)]
        if handled and not any(isinstance(one, ast.Raise) for one in walked(block.handlers[0])):
            yield [*handled, *block.finalbody], "do what the handler does, in any case"


def _block(view: View, node: ast.AST) -> ast.Try | ast.With | None:
    """The innermost one that the node is a handler or an item of, or stands in."""
    around = [one for one in walked(view.node) if isinstance(one, ast.Try | ast.With)
              and any(inner is node for inner in walked(one))]  # fmt: skip
    return around[-1] if around else None


def _is_broad(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(one is None or getattr(one, "attr", getattr(one, "id", "")) in _BROAD for one in types)


def _is_for_all(handler: ast.ExceptHandler) -> bool:
    """Not one that names a failure of torch's: what it then does is right for all values, as a rule."""
    return handler.type is None or getattr(handler.type, "id", "") in {"Exception", "BaseException"}


def _ends_before(block: ast.Try) -> bool:
    """Would a statement behind another way out be there twice?"""
    return bool(block.finalbody) and any(isinstance(one, ast.Return) for part in block.body for one in walked(part))


def _asserted(block: ast.Try) -> list[ast.stmt] | None:
    """`try: assert test; …` with its handler, as an `if`."""
    match block:
        case ast.Try(body=[ast.Assert(test=test), *rest], handlers=[handler], finalbody=[]) if (
            rest and not handler.name
        ):
            caught = getattr(handler.type, "id", "")
            if caught in {"AssertionError", *_BROAD}:
                return [ast.If(test, [*rest, *block.orelse], handler.body)]
    return None


def _whole(view: View, block: ast.Try) -> list[ast.stmt] | None:
    """`try: k = int(t)` with what it is where `t` is no number, as an `if`: nothing else fails there."""
    match block:
        case ast.Try(
            body=[ast.Assign(value=ast.Call(func=ast.Name(id="int"), args=[number], keywords=[]))],
            handlers=[handler],
            finalbody=[],
        ) if view.is_data(number) and not handler.name:
            return [ast.If(expression("X.isfinite()", X=number), [*block.body, *block.orelse], handler.body)]
    return None


def _written(site: Site, block: ast.stmt, new: Sequence[ast.stmt], words: str) -> Iterator[Proposal]:
    """The function with these statements in the block's place, in tensors where data decides."""
    view = site.fresh_view()
    if isinstance(view.node, ast.Lambda):
        return
    node = cast("ast.FunctionDef", rebuilt(view.node, lambda one: list(new) if one is block else None))
    if node is view.node:
        return
    body = _without_dead(node.body)
    changed = changed_copy(node, body=body)
    own = View(view.module, FunctionInfo(changed.name, changed, view.module, view.cls), site.belief)
    try:
        body = StraightLine(own).body()
    except CannotError:
        return
    draft = site.draft()
    put(draft, view.node.body, body)
    yield Proposal(words, draft)


def _without_dead(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The block up to its first statement that surely leaves it."""
    kept: list[ast.stmt] = []
    for one in body:
        kept.append(one)
        if isinstance(one, ast.Return | ast.Raise):
            break
    return kept

"""Free numbers: a list of the numbers from 0 on, of which the best is taken and removed, as a mask.

    free = list(range(n))
    best = min(free, key=lambda column: costs[row, column])
    free.remove(best)

Which numbers the list holds is known only when the program runs. A tensor of bools says it of each number; the best is
the first of those that are free in the order of all keys, which the list keeps as well.
"""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.view import View


def free_numbers(view: View, draft: Draft, name: str, key_of: Callable[[ast.expr], tuple[str, ast.expr]]) -> Proposal:
    """The function with the list of this name as a mask. `key_of`: of a key, the name of what is compared and its key,
    in tensors. Raises CannotError where the list is another one, or read in a way that no mask answers."""
    begun = view.only_value(name)
    match begun:
        case ast.Call(func=ast.Name(id="list" | "set"), args=[ast.Call(func=ast.Name(id="range"), args=[count])]):
            pass
        case ast.List(elts=[ast.Starred(value=ast.Call(func=ast.Name(id="range"), args=[count]))]):
            pass
        case _:
            raise CannotError("it is no list of numbers from 0 on")
    if view.is_data(count):
        raise CannotError("data says how many there are")
    draft.swap(begun, expression(f"torch.ones(COUNT, dtype=torch.bool{_device(view)})", COUNT=count))
    for node in walked(view.node):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            _answer(view, draft, node, key_of)
    return Proposal("say with a mask which numbers are free", draft)


def _device(view: View) -> str:
    """Of the first tensor that the function is given."""
    names = (one for one in walked(view.node) if isinstance(one, ast.Name) and one.id in view.flow.parameters)
    given = next((one.id for one in names if view.value(one).is_tensor), None)
    return f", device={given}.device" if given else ""


def _answer(view: View, draft: Draft, node: ast.Name, key_of: Callable[[ast.expr], tuple[str, ast.expr]]) -> None:
    """One read of the list, as one of the mask."""
    name, around = node.id, draft.parent(node)
    if isinstance(around, ast.Attribute):
        around = draft.parent(around)
    match around:
        case ast.Call(func=ast.Name(id="min" | "max" as asked), args=[listed], keywords=[ast.keyword("key", key)]) if (
            listed is node and view.origin(around.func) == f"builtins.{asked}"
        ):
            _best(view, draft, around, name, asked, key_of(key))
        case ast.Call(func=ast.Attribute(value=owner, attr="remove" | "discard"), args=[taken], keywords=[]) if (
            owner is node and isinstance(statement := draft.parent(around), ast.Expr)
        ):
            places = expression("torch.arange(len(FREE), device=FREE.device)", FREE=name)
            kept = ast.Compare(places, [ast.NotEq()], [taken])
            draft.replace(statement, statements("FREE = FREE & KEPT", FREE=name, KEPT=kept))
        case ast.UnaryOp(op=ast.Not()):
            draft.swap(node, expression("FREE.any()", FREE=name))
        case ast.If(test=test) | ast.While(test=test) if test is node:
            draft.swap(node, expression("FREE.any()", FREE=name))
        case _:
            raise CannotError("a list of numbers is read in another way")


def _best(view: View, draft: Draft, call: ast.Call, name: str, asked: str, key: tuple[str, ast.expr]) -> None:
    """`min(free, key=…)`: the first of those that are free in the order of the keys. Nothing is less than a key that is
    nan, so Python keeps to the first number where its key is."""
    statement = draft.statement_of(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        raise CannotError("no line can stand above it")
    each, made = key
    keys, order, first = (draft.free_name(one, view.flow.names) for one in ("keys", "order", "first"))
    listed = expression("torch.stack([KEY for EACH in range(len(FREE))])", KEY=made, EACH=each, FREE=name)
    signed = "-KEYS.double()" if asked == "max" else "KEYS"  # an unsigned number has no negative one
    text = f"""
        KEYS = LISTED
        ORDER = ({signed}).argsort(stable=True)
        FIRST = FREE.int().argmax(keepdim=True)"""
    above = statements(textwrap.dedent(text), KEYS=keys, LISTED=listed, ORDER=order, FIRST=first, FREE=name)
    draft.above(statement, above)
    text = "torch.where(KEYS[FIRST].isnan(), FIRST, ORDER[FREE[ORDER].int().argmax(keepdim=True)]).squeeze(0)"
    draft.swap(call, expression(text, KEYS=keys, ORDER=order, FIRST=first, FREE=name))

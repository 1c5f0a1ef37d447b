"""What names are set to in one function of a script, or at its top level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def scope_of(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost function that the node stands in, else the whole piece of code."""
    while (above := code.parent(node)) is not None:
        node = above
        if isinstance(node, cst.FunctionDef):
            return node
    return node


def value_in_scope(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    """The expression that a name is set to, where that happens once in its function, else at the top level; any other
    node is its own."""
    seen: set[str] = set()
    while isinstance(node, cst.Name) and node.value not in seen:
        seen.add(node.value)
        found = list(settings_of(code, node))
        if len(found) != 1:
            break
        node = found[0]
    return node


def settings_of(code: Code, name: cst.Name) -> Iterator[cst.BaseExpression]:
    """What the name is set to, by every plain assignment of its function; of a whole file, those of the top level."""
    scope = scope_of(code, name)
    found = list(_assigned(scope, name.value))
    while not found and (above := code.parent(scope)) is not None:
        scope = scope_of(code, above) if not isinstance(above, cst.Module) else above
        found = list(_assigned(scope, name.value))
    yield from found


def _assigned(node: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression]:
    for child in node.children:
        match child:
            case cst.Assign(targets=targets, value=value):
                yield from (value for one in targets if isinstance(one.target, cst.Name) and one.target.value == name)
            case cst.AnnAssign(target=cst.Name(value=found), value=value) if value is not None and found == name:
                yield value
            case cst.FunctionDef() | cst.ClassDef() | cst.Lambda():
                pass
            case _:
                yield from _assigned(child, name)

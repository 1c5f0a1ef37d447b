"""Listed in `__init__`: numbers of a tensor that `__init__` makes, and nothing changes or loads, as a list of Python's.

What forward decides by them, or goes through, is then decided while torch traces: `for flag in self.flags`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Source
from exportlint.rewrite.draft import statements
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View


class ListedInInit:
    """At a decision, a number that is read, or a loop."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view, draft = site.fresh_view(), site.draft()
        if view.cls is None or not view.cls.is_module:
            return
        read = [one for one in _reads(draft, site.node) if _is_settled(view, view.cls, one)]
        if not read:
            raise CannotError("it reads nothing that `__init__` alone makes")
        names = dict.fromkeys(one.attr for one in read)
        for one in read:
            draft.swap(one, ast.Attribute(one.value, f"{one.attr}_list", ast.Load()))
        for name in names:
            own = ast.Name(view.function.parameters[0], ast.Load())
            kept = statements(
                "KEPT = OWN.tolist()",
                KEPT=ast.Attribute(own, f"{name}_list", ast.Load()),
                OWN=ast.Attribute(own, name, ast.Load()),
            )
            draft.in_init(view.cls.node, kept)
        yield Proposal("keep its numbers in a list, from `__init__` on", draft)


def _reads(draft: Draft, node: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes that the head of the statement reads, and those that the loops around it go through."""
    now = draft.statement_of(node)
    heads: list[ast.AST] = [node]
    while now is not None and not isinstance(now, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(now, ast.For):
            heads.append(now.iter)
        elif isinstance(now, ast.If | ast.While) and len(heads) == 1:
            heads.append(now.test)
        above = draft.parent(now)
        now = draft.statement_of(above) if above is not None else None
    found = (one for head in heads for one in walked(head) if isinstance(one, ast.Attribute))
    yield from {id(one): one for one in found}.values()


def _is_settled(view: View, cls: ClassInfo, node: ast.Attribute) -> bool:
    """Does `__init__` alone set it, to a tensor that no checkpoint brings?"""
    if not isinstance(node.value, ast.Name) or node.value.id != view.function.parameters[0]:
        return False
    if view.value(node).source not in {Source.ATTRIBUTE, Source.CONSTANT} or not view.is_data(node):
        return False
    methods = [one for one in cls.node.body if isinstance(one, ast.FunctionDef)]
    return all(not _writes(inner, node.attr) for one in methods if one.name != "__init__" for inner in walked(one))


def _writes(node: ast.AST, name: str) -> bool:
    """`self.flags = …`, `self.flags[0] = …`, `self.flags.fill_(…)`."""
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
            return attr == name
        case ast.Subscript(value=ast.Attribute(attr=attr), ctx=ast.Store() | ast.Del()):
            return attr == name
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=attr), attr=method)):
            return attr == name and method.endswith("_")
    return False

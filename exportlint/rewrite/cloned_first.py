"""Cloned first: what is written in place is a copy of its own, made right above the write.

And copied always: where it is asked whether two tensors are one, or share their memory, only to copy one of them then,
a copy in every case has the same values. A program has no addresses to ask for.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import blocks
from exportlint.engine.flow.def_use import changed, path_of
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site


_ALWAYS = "copy it always, also where nothing else has its memory"
_CONVERSIONS = frozenset(
    {"to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "bool"}
)
_COPYING = frozenset({"clone", "copy", "deepcopy"})


class ClonedFirst:
    """`ids[:, 0] = start`, `ids.fill_(0)`, `ids += 1`, of a name or an attribute; and what a test decides."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft = site.draft()
        asked = list(_decisions(site, draft, site.node))
        if asked and all(_decided(draft, one) for one in asked):
            yield Proposal("ask it in eager only" if all(map(_only_checks, asked)) else _ALWAYS, draft)
        if asked:
            return
        statement = draft.statement_of(site.node)
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=written)]):
                pass
            case ast.AugAssign(target=ast.Subscript(value=written)) | ast.AugAssign(target=written):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as func, args=[written, *_])) if (
                method.endswith("_") and site.view is not None and site.view.origin(func) is not None
            ):  # `nn.init.zeros_(ids)`
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=written, attr=method))) if method.endswith("_"):
                pass
            case _ if (inside := _written_by(site.node)) is not None:
                written = inside
            case _:
                return
        if isinstance(written, ast.Call) and _is_conversion(written):  # `x.float().mul_(2)`
            draft.swap(written, expression("MADE.clone()", MADE=written))
            yield Proposal("write into a clone", draft)
            return
        if site.view is not None and site.view.origin(written) is not None:
            return  # a function of a library that is called by its module
        while isinstance(written, ast.Subscript) or (
            isinstance(written, ast.Call) and isinstance(written.func, ast.Attribute)
        ):  # a view of what is written: `ids[0].view(-1).fill_(0)`
            written = written.value if isinstance(written, ast.Subscript) else written.func.value  # type: ignore[attr-defined] # see the loop's test
        known = site.view is not None and site.view.value(written).container is not None
        if statement is not None and path_of(written) is not None and not known:
            draft.above(statement, statements("OWN = OWN.clone()", OWN=written))
            yield Proposal("write into a clone", draft)


def _written_by(node: ast.AST) -> ast.expr | None:
    """What a call writes in place, in the middle of an expression."""
    match node:
        case ast.Call(func=ast.Attribute(value=written, attr=method)) if method.endswith("_"):
            return written
    return None


def _is_conversion(node: ast.Call) -> bool:
    """Does it give a tensor of another kind, and no view of one that is written, too?"""
    return isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERSIONS


_Decision = ast.If | ast.IfExp | ast.Assert


def _decisions(site: Site, draft: Draft, node: ast.AST, within: tuple[ast.AST, ...] = ()) -> Iterator[_Decision]:
    """What the node decides: where it stands in a test, or where the name is one that it is set to, or where the
    function of the file is called that returns it. `within`: the statements that are followed already."""
    above: ast.AST | None = node
    while isinstance(above, ast.expr):
        inner, above = above, draft.parent(above)
        if isinstance(above, ast.If | ast.IfExp | ast.Assert) and above.test is inner:
            if not any(path for one in walked(inner) for path in changed(one)):
                yield above
            return
    read: list[ast.AST] = []
    if above is None or above in within:  # `x = x + id(x)`
        return
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]) if site.view is not None:
            read = [one for one in walked(site.view.node) if isinstance(one, ast.Name) and one.id == name]
            read = [one for one in read if isinstance(getattr(one, "ctx", None), ast.Load)]
        case ast.Return() if site.view is not None and site.view.cls is None:
            name = site.view.function.name
            read = [one for one in walked(draft.tree) if isinstance(one, ast.Call) and path_of(one.func) == name]
    found = [list(_decisions(site, draft, one, (*within, above))) for one in read]
    decisions = [decision for one in found for decision in one]
    if isinstance(above, ast.Assign) and all(found) and found and not any(map(_only_checks, decisions)):
        draft.replace(above, [])
        yield from decisions
    elif isinstance(above, ast.Return) and all(found):
        yield from decisions


def _only_checks(decision: _Decision) -> bool:
    return isinstance(decision, ast.Assert) or (
        isinstance(decision, ast.If) and isinstance(decision.body[0], ast.Raise)
    )


def _decided(draft: Draft, decision: _Decision) -> bool:
    """`if out.data_ptr() == x.data_ptr(): out = out.clone()`, or `… else: raise`, without what it asks."""
    match decision:
        case ast.IfExp(body=body, orelse=orelse):
            one = next((one for one, other in ((body, orelse), (orelse, body)) if _is_copy(one, other)), None)
            if one is not None:
                draft.swap(decision, one)
            return one is not None
        case ast.Assert(test=test):
            draft.swap(test, expression("torch.compiler.is_exporting() or TEST", TEST=test))
            return True
        case ast.If(body=[ast.Raise()], orelse=[], test=test):
            draft.swap(test, expression("not torch.compiler.is_exporting() and TEST", TEST=test))
            return True
        case ast.If(body=[ast.Assign() | ast.Return() as first], orelse=[] | [ast.Assign() | ast.Return()] as orelse):
            above = draft.parent(decision)
            block = next((one for one in blocks(cast("ast.stmt", above)) if decision in one), [])
            behind = block[block.index(decision) + 1 :][:1] if isinstance(first, ast.Return) and not orelse else []
            other = next(iter((*orelse, *behind)), None)
            if (kept := _copying(first, other)) is not None:
                draft.replace(decision, [kept] if kept is first or other not in behind else [])
                if kept is first and other in behind:
                    draft.replace(behind[0], [])
                return True
    return False


def _copying(first: ast.Assign | ast.Return, other: ast.stmt | None) -> ast.stmt | None:
    """Of two statements that set or give the same, the one that copies it; the other one may be none, where the name
    holds it anyway."""
    match first, other:
        case ast.Assign(targets=[target], value=value), None:
            return first if _is_copy(value, target) else None
        case (ast.Assign(targets=[one]), ast.Assign(targets=[two])) if ast.unparse(one) != ast.unparse(two):
            return None
        case (ast.Assign(value=one), ast.Assign(value=two)) | (ast.Return(value=one), ast.Return(value=two)):
            return first if _is_copy(one, two) else other if _is_copy(two, one) else None
    return None


def _is_copy(node: ast.expr | None, of: ast.expr | None) -> bool:
    """`x.clone()`, `torch.clone(x)` or `copy.deepcopy(x)`, of `x`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="clone", value=copied), args=[]):
            pass
        case ast.Call(func=function, args=[copied, *_]) if (path_of(function) or "").rpartition(".")[2] in _COPYING:
            pass
        case _:
            return False
    return of is not None and ast.unparse(copied) == ast.unparse(of)

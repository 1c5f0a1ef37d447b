"""Cloned first: what is written in place is a copy of its own, made right above the write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.rewrite.draft import statements
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site


class ClonedFirst:
    """`ids[:, 0] = start`, `ids.fill_(0)`, `ids += 1`, of a name or an attribute."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft = site.draft()
        statement = draft.statement_of(site.node)
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=written)]):
                pass
            case ast.AugAssign(target=ast.Subscript(value=written)) | ast.AugAssign(target=written):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=written, attr=method))) if method.endswith("_"):
                pass
            case _:
                return
        while isinstance(written, ast.Subscript) or (
            isinstance(written, ast.Call) and isinstance(written.func, ast.Attribute)
        ):  # a view of what is written: `ids[0].view(-1).fill_(0)`
            written = written.value if isinstance(written, ast.Subscript) else written.func.value  # type: ignore[attr-defined] # see the loop's test
        if path_of(written) is not None:
            draft.above(statement, statements("OWN = OWN.clone()", OWN=written))
            yield Proposal("write into a clone", draft)

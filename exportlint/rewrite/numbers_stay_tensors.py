"""Numbers stay tensors: a number that is read from a tensor is carried on as the tensor, until it ends in one again.

Where it ends in a size, it is carried on as a symbol (`t.item()`), with `torch._check` for what must be so.
"""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import TYPE_CHECKING

from exportlint.rewrite.decide_in_data import rewritten, rewritten_file
from exportlint.rewrite.draft import statements
from exportlint.rewrite.straight_line import Style
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site


class NumbersStayTensors:
    """`item`, `int`, `float`, `tolist`, NumPy, `math`, `len` of what data counts."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        for everything in (False, True):
            proposal = rewritten(site, Style(), everything=everything)
            if proposal is not None:
                yield proposal
        if (proposal := rewritten_file(site, Style())) is not None:
            yield proposal
        yield from self._as_symbols(site)

    def _as_symbols(self, site: Site) -> Iterator[Proposal]:
        """Every `int(t)` of the function as `t.item()`; with the check that it is no negative number."""
        view = site.fresh_view()
        form = TensorForm(view)
        for checked in (False, True):
            draft, found = site.draft(), False
            for node in ast.walk(view.node):
                if not (
                    isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"int", "round"}
                ):
                    continue
                if not node.args or not view.is_data(node.args[0]):
                    continue
                new = form.number(node)
                if new is not node:
                    found = True
                    draft.swap(node, new)
            for statement, following in zip_longest(view.body, view.body[1:]):
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if checked and _is_count(value):
                        check = statements("torch._check(NAME >= 0)", NAME=name)
                        if following is None or ast.unparse(following) != ast.unparse(check[0]):
                            found = True
                            draft.below(statement, check)
            if found:
                what = ", and check that it is not negative" if checked else ""
                yield Proposal(f"read the number as a symbol of the program{what}", draft)


def _is_count(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="int")) | ast.Call(func=ast.Attribute(attr="item")):
            return True
    return False

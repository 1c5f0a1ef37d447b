"""Printed by the program: `print` of what forward computes as torch's operator for it, which a program keeps.

Python's `print` runs once, while torch traces. The operator takes a format, as `str.format` does, and prints in each
call: in eager, in the exported program, after decomposition, and after it was saved and loaded (measured with 2.13).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_NO_CONVERSION = -1
_ENDINGS = {"sep": " ", "end": "\n"}  # of these, what the operator does as `print` does it without


class PrintedByProgram:
    """All that the function prints, so that the order stays, where the site is in such a call."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view, draft = site.fresh_view(), site.draft()
        calls = [one for one in walked(view.node) if isinstance(one, ast.Call)
                 and view.origin(one.func) == "builtins.print"]  # fmt: skip
        around = {id(part) for one in calls for part in walked(one)}
        if not any(id(one) in around for one in walked(site.node)):
            return
        for one in calls:
            draft.swap(one, _Format(view).call(one))
        yield Proposal("print it with the operator that the program keeps", draft)


class _Format:
    """The format of one call, and what stands in its places by name."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.form = TensorForm(view)
        self.given: dict[str, ast.expr] = {}

    def call(self, node: ast.Call) -> ast.expr:
        """Raises CannotError for what `print` does and the operator does not: other files, other ends."""
        for word in node.keywords:
            plain = isinstance(word.value, ast.Constant) and _ENDINGS.get(word.arg or "") == word.value.value
            if not plain and word.arg != "flush":
                raise CannotError("it prints in another way than the operator")
        text = " ".join(map(self._part, node.args))
        operator = expression("torch._higher_order_ops.print")
        return ast.Call(operator, [ast.Constant(text)], [ast.keyword(name, one) for name, one in self.given.items()])

    def _part(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return _literal(str(value))
            case ast.JoinedStr(values=values):
                return "".join(map(self._part, values))
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                asked = f"!{chr(conversion)}" if conversion != _NO_CONVERSION else ""
                return f"{{{self._named(value)}{asked}{_spec(spec)}}}"
            case ast.Starred():
                raise CannotError("nothing says how much it prints")
        # `print` shows a tensor of one number as `tensor(2.5)`, where a format shows 2.5.
        return f"{{{self._named(node)}!s}}" if self.view.value(node).is_tensor else f"{{{self._named(node)}}}"

    def _named(self, node: ast.expr) -> str:
        """The name that the value gets in the format."""
        value = self.form.of(node)
        wanted = _wanted(node)
        name, number = wanted, 2
        while name in self.given and ast.dump(self.given[name]) != ast.dump(value):
            name, number = f"{wanted}_{number}", number + 1
        self.given[name] = value
        return name


def _wanted(node: ast.expr) -> str:
    """`loss` of `loss`, `self.loss` and `loss.item()`, `mean` of `x.mean()`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Call(func=ast.Attribute(value=owner, attr="item" | "tolist" | "detach" | "cpu" | "numpy")):
            return _wanted(owner)
        case ast.Call(func=ast.Name(id="float" | "int"), args=[given]):
            return _wanted(given)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
    return "value"


def _spec(node: ast.expr | None) -> str:
    match node:
        case None:
            return ""
        case ast.JoinedStr(values=[ast.Constant(value=str(text))]):
            return f":{text}"
    raise CannotError("a format is made of others")


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

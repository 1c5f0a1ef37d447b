"""Operators that read values become the formulas that they stand for."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, Where
from exportlint.rewriting.source.assigned_names import statement_of
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.source_of_calls import argument, operand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class WrittenOut(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if not isinstance(node, cst.Call):
            return
        match case:
            case "BadCov" | "BadCorrcoef":
                yield from self._spread(node, case)
            case "BadCombinations":
                yield from self._pairs(node)
            case "BadGaussianFunction" | "BadGaussianLayer":
                yield from self._likelihood(node, case)
            case "BadLstsq":
                yield from self._least_squares(node)
            case "BadLobpcg":
                yield from self._eigenvalues(node)
            case "BadAdaptiveSoftmax":
                yield from self._all_words(node)
            case "BadResize" if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Call):
                yield from self._resized(node, node.func.value)

    def _resized(self, node: cst.Call, owner: cst.Call) -> Iterator[Rewrite]:
        """To sizes that are written out: the first entries of them."""
        sizes = [arg.value for arg in node.args if not arg.keyword]
        sizes = (
            [one.value for one in sizes[0].elements] if len(sizes) == 1 and isinstance(sizes[0], cst.Tuple) else sizes
        )
        numbers = [one.evaluated_value for one in sizes if isinstance(one, cst.Integer)]
        if numbers and len(numbers) == len(sizes) == len(sizes or node.args):
            shape = ", ".join(map(str, numbers))
            text = f"{operand(self.code, owner)}.flatten()[:{math.prod(numbers)}].reshape({shape})"
            yield Rewrite("use `reshape`", (Change(node, text),))

    def _tensor(self, node: cst.Call) -> tuple[str, cst.Call] | None:
        """What `torch.cov(x)` or `x.cov()` is of, and the call with x as its first argument."""
        if (self.code.name(node.func) or "").startswith("torch."):
            given = argument(node, "input", 0)
            return (operand(self.code, given), node) if given is not None else None
        if isinstance(node.func, cst.Attribute):
            owner = node.func.value
            return operand(self.code, owner), node.with_changes(args=[cst.Arg(owner), *node.args])
        return None

    def _lines(self, node: cst.Call, *lines: str) -> tuple[Change, ...]:
        statement = statement_of(self.code, node)
        return (Change(statement, "\n".join(lines), Where.BEFORE),) if statement is not None else ()

    def _spread(self, node: cst.Call, case: str) -> Iterator[Rewrite]:
        found = self._tensor(node)
        if found is None or any(arg.keyword and arg.keyword.value in {"fweights", "aweights"} for arg in node.args):
            return
        tensor, call = found
        correction = argument(call, "correction", 1)
        fresh = FreshNames(self.code)
        centred, shared = fresh.of("centred"), fresh.of("covariance")
        less = self.source(correction) if correction is not None else "1"
        first = f"{centred} = {tensor} - {tensor}.mean(1, keepdim=True)"
        product = f"{centred} @ {centred}.T / ({centred}.shape[1] - {less})"
        if case == "BadCov":
            before, text = self._lines(node, first), f"({product})"
        else:
            spread = fresh.of("deviation")
            before = self._lines(node, first, f"{shared} = {product}", f"{spread} = {shared}.diag().sqrt()")
            text = f"({shared} / {spread}[:, None] / {spread}).clamp(-1, 1)"
        if before:
            yield Rewrite("write the formula", (*before, Change(node, text)))

    def _pairs(self, node: cst.Call) -> Iterator[Rewrite]:
        found = self._tensor(node)
        if found is None:
            return
        tensor, call = found
        number, again = argument(call, "r", 1), argument(call, "with_replacement", 2)
        pairs = number is None or self.source(number) == "2"
        same = again is not None and self.source(again) == "True"
        if not pairs or (again is not None and self.source(again) not in {"True", "False"}):
            return
        size = f"{tensor}.shape[0]"
        indices = f"torch.triu_indices({size}, {size}, offset={0 if same else 1}, device={tensor}.device)"
        yield Rewrite("index with `triu_indices`", (Change(node, f"{tensor}[{indices}].T"), ModuleImport("torch")))

    def _likelihood(self, node: cst.Call, case: str) -> Iterator[Rewrite]:
        parts = [argument(node, name, i) for i, name in enumerate(("input", "target", "var"))]
        options = self._options(node) if case == "BadGaussianFunction" else self._options_of_layer(node)
        if any(part is None for part in parts) or options is None:
            return
        eps, full, reduction = options
        value, target, var = (operand(self.code, part) for part in parts if part is not None)
        name = FreshNames(self.code).of("variance")
        check = f"torch._assert_async(({name} >= 0).all(), 'var has negative entry/entries')"
        before = self._lines(node, f"{name} = {var}", check, f"{name} = {name}.clamp(min={eps})")
        constant = " + 0.5 * math.log(2 * math.pi)" if full == "True" else ""
        loss = f"(0.5 * ({name}.log() + ({value} - {target}) ** 2 / {name}){constant})"
        end = f".{reduction}()" if reduction in {"mean", "sum"} else ""
        imports = (ModuleImport("torch"), ModuleImport("math")) if constant else (ModuleImport("torch"),)
        if before:
            yield Rewrite("write the formula", (*before, Change(node, f"{loss}{end}"), *imports))

    def _options(self, node: cst.Call) -> tuple[str, str, str] | None:
        """`eps`, `full` and the reduction, where they are written out."""
        given = argument(node, "eps", 4), argument(node, "full", 3), argument(node, "reduction", 5)
        texts = [
            self.source(one) if one is not None else default for one, default in zip(given, _DEFAULTS, strict=True)
        ]
        return _options(texts)

    def _options_of_layer(self, node: cst.Call) -> tuple[str, str, str] | None:
        init = self.code.cls.methods.get("__init__") if self.code.cls else None
        name = self.source(node.func)
        for statement in ast.walk(init.node) if init is not None else ():
            match statement:
                case ast.Assign(targets=[target], value=ast.Call(args=[], keywords=words)) if (
                    ast.unparse(target) == name
                ):
                    given = {word.arg: ast.unparse(word.value) for word in words}
                    return _options([given.get(*pair) for pair in zip(_OPTIONS, _DEFAULTS, strict=True)])
        return None

    def _least_squares(self, node: cst.Call) -> Iterator[Rewrite]:
        parts = argument(node, "A", 0) or argument(node, "input", 0), argument(node, "B", 1)
        above = self.code.parent(node)
        match above:
            case (
                cst.Attribute(attr=cst.Name(value="solution"))
                | cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))])
            ) if parts[0] is not None and parts[1] is not None:
                text = f"(torch.linalg.pinv({self.source(parts[0])}) @ {operand(self.code, parts[1])})"
                yield Rewrite("use the pseudo-inverse", (Change(above, text), ModuleImport("torch")))

    def _eigenvalues(self, node: cst.Call) -> Iterator[Rewrite]:
        """`torch.lobpcg(a, k)[0]`: the largest ones first."""
        matrix, number = argument(node, "A", 0), argument(node, "k", 1)
        plain = {arg.keyword.value for arg in node.args if arg.keyword} <= {"A", "k"}
        above = self.code.parent(node)
        match above:
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]) if (
                plain and matrix is not None
            ):
                count = self.source(number) if number is not None else "1"
                text = f"torch.linalg.eigvalsh({self.source(matrix)}).flip(-1)[..., :{count}]"
                yield Rewrite("use `eigvalsh`", (Change(above, text), ModuleImport("torch")))

    def _all_words(self, node: cst.Call) -> Iterator[Rewrite]:
        above = self.code.parent(node)
        match node, above:
            case cst.Call(func=cst.Attribute(value=layer, attr=cst.Name(value="predict")), args=[cst.Arg(value=x)]), _:
                text = f"{self.source(layer)}.log_prob({self.source(x)}).argmax(1)"
                yield Rewrite("compute all words", (Change(node, text),))
            case cst.Call(func=layer, args=[cst.Arg(value=x), cst.Arg(value=target)]), cst.Attribute(
                attr=cst.Name(value="output" | "loss" as part)
            ):
                words = f"{operand(self.code, target)}[:, None]"
                text = f"{self.source(layer)}.log_prob({self.source(x)}).gather(1, {words}).squeeze(1)"
                whole = text if part == "output" else f"(-{text}).mean()"
                yield Rewrite("compute all words", (Change(above, whole),))


_OPTIONS, _DEFAULTS = ("eps", "full", "reduction"), ("1e-6", "False", "'mean'")


def _options(texts: Sequence[str | None]) -> tuple[str, str, str] | None:
    eps, full, reduction = texts
    kind = (reduction or "").strip("'\"")
    if eps is None or full not in {"True", "False"} or kind not in {"mean", "sum", "none"}:
        return None
    return eps, full, kind

"""A branch or a loop on a size that depends on data.

Why: `x[mask]`, `nonzero`, `unique`, `masked_select` and one-argument `where` give tensors whose size is known only
when the program runs. torch traces them with a symbol for the size, and computing with that symbol is fine; a Python
branch on it ("is anything left?") or a Python loop over it is refused in both modes. An `assert` on it becomes a
run-time assertion in strict mode. The same goes for a loop over a number that was read with `.item()`.

Instead: keep everything and mask, which needs no question,

    keep = (scores > 0.5).to(boxes.dtype)
    (boxes * keep[:, None]).sum(0) / keep.sum().clamp(min=1)

take a fixed number (`scores.topk(k)`), use `one_hot` over a fixed number of groups instead of `unique`, or say what is
known with `torch._check(kept.shape[0] > 0)` and leave the branch out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Asked, Case, Instead, Severity, TruthRule, asked_for_truth, called, of_a_size, walked

if TYPE_CHECKING:
    from exportlint import Code, Value

_MASK = (
    "keep all and mask, take a fixed number with `topk`, or state what is known with `torch._check` and do not branch"
)
_FIXED = Instead("compute all at once, or loop a fixed number of times and mask", shown_in="GoodMaskedWrite")
_BRANCHES = "`{code}` branches on a size that depends on data"
_FORMS = {
    "while": "BadWhileSize",
    "ternary": "BadTernarySize",
    "assert": "BadAssertSize",
    "assert-message": "BadAssertSize",
    "assert-part": "BadAssertSize",
    "raise": "BadIfRaiseSize",
}
_ROUND = frozenset({"enumerate", "zip", "reversed", "iter", "list", "tuple", "sorted"})
_ROWS = frozenset({"tolist", "unbind"})


class DataDependentSizeBranch(TruthRule):
    mended_by = ("padded-rows", "decide-in-data", "loop-in-data", "numbers-stay-tensors")
    exportdb = ("dynamic_shape_if_guard", "constrain_as_size_example")
    graph_breaks = ("GB0170", "GB0036")
    torch_says = (r"Could not guard on data-dependent expression .*Size-like symbols: u\d",)
    cases: ClassVar = {
        "BadIfNumel": Case(_BRANCHES, _MASK),
        "BadTernarySize": Case(_BRANCHES, _MASK),
        "BadAssertSize": Case(
            "`{code}` asserts on a size that depends on data", "use `torch._check(…)`, which both modes keep"
        ),
        "BadIfRaiseSize": Case(
            "`{code}` raises on a size that depends on data", "use `torch._check(…)`, which both modes keep"
        ),
        "BadMatchSize": Case("`case {code}` compares `{name}`, a size that depends on data", _MASK),
        "BadWhileSize": Case("`{code}` ends the loop on a size that depends on data", _FIXED),
        "BadForShape": Case("`{code}` has as many steps as data says", _FIXED),
        "BadForRows": Case("`{code}` has as many rows as data says", _FIXED),
        "BadForZipped": Case("`{code}` has as many places as data says", _FIXED),
        "BadForCount": Case("`{code}` has as many steps as a tensor's value says", _FIXED),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a number that was read, or a size that depends on data, asked for its truth or looped over?"""
        sketch = code.sketch
        loops = [loop.iter for loop in sketch.nodes(ast.For)] + [loop.iter for loop in sketch.nodes(ast.comprehension)]
        over = (sketch.value(part) for iterated in loops for part in walked(iterated))
        tested = (*asked_for_truth(sketch), *(node.subject for node in sketch.nodes(ast.Match)))
        return any(sketch.value(node).is_unbacked for node in tested) or any(
            value.is_unbacked or value.unbacked for value in over
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._kept: cst.BaseExpression | None = None

    def visit_Assert(self, node: cst.Assert) -> None:
        self._kept = node.test if node.msg is None and not _asks_length(node.test) else None
        super().visit_Assert(node)

    def visit_Match(self, node: cst.Match) -> None:
        value = self.code.value(node.subject)
        first = next((case.pattern for case in node.cases if isinstance(case.pattern, cst.MatchValue)), None)
        if first is not None and value.is_unbacked and of_a_size(self.code, node.subject, value):
            self.report(first, "BadMatchSize", because=value, name=self.code.text(node.subject))

    def asked(self, asked: Asked) -> None:
        value = self.code.value(asked.node)
        if asked.form == "chained" or self.guarded(asked):
            return
        if self.checked.decide(asked.node):
            return  # measured: what `torch._check` said decides it
        if asked.node is self._kept:
            return  # measured: without a message, torch sees that only an AssertionError depends on it, and goes on
        if value.is_unbacked and of_a_size(self.code, asked.node, value):
            at_most = Severity.WARNING if asked.before else Severity.ERROR
            self.report(asked.node, _FORMS.get(asked.form, "BadIfNumel"), at_most=at_most, because=value)

    def visit_For(self, node: cst.For) -> None:
        self._loop(node.iter)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._loop(node.iter)

    def _loop(self, over: cst.BaseExpression) -> None:
        name = self.code.name(over.func) if isinstance(over, cst.Call) else None
        if isinstance(over, cst.Call) and name == "builtins.range":
            self._range(over)
            return
        zipped = self.code.value(over)
        if zipped.container == "list" and zipped.unbacked and zipped.certain:
            self.report(over, "BadForZipped", because=zipped)
            return
        if isinstance(over, cst.Call) and name and name.removeprefix("builtins.") in _ROUND:
            for arg in over.args:
                self._loop(arg.value)
            return
        rows = over
        if isinstance(over, cst.Call) and isinstance(over.func, cst.Attribute) and over.func.attr.value in _ROWS:
            rows = over.func.value
        value = self.code.value(rows)
        if value.is_tensor and value.unbacked:
            self.report(over, "BadForRows", because=value)

    def _range(self, over: cst.Call) -> None:
        for arg in over.args:
            value: Value = self.code.value(arg.value)
            if value.is_unbacked:
                case = "BadForShape" if of_a_size(self.code, arg.value, value) else "BadForCount"
                self.report(over, case, because=value)
                return


def _asks_length(node: cst.CSTNode) -> bool:
    """Is there a `len(…)`, which makes a Python number of a size?"""
    return (isinstance(node, cst.Call) and called(node) == "len") or any(map(_asks_length, node.children))

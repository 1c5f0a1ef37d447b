"""A size given to `torch.FloatTensor`, `torch.Tensor` and their kind.

Why: these take a size for a shape, and numbers for values. Dynamo knows no such difference: it takes the size for a
list of numbers, so that `torch.FloatTensor(x.size())` of four rows of five is a tensor of the two values 4 and 5.
Strict mode exports that, and torch.compile computes it, without a word. Non-strict mode runs Python, and is right.

Instead: say it by name, or hand the numbers over one by one.

    torch.zeros(x.size(), dtype=torch.float32)     # or torch.empty
    torch.FloatTensor(*x.size())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, Kind, Rule

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_NAMES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "")
_CONSTRUCTORS = frozenset(f"torch.{name}Tensor" for name in _NAMES)


class LegacyTensorConstructor(Rule):
    mended_by = ("templates",)
    words = r"Tensor\("
    cases: ClassVar = {
        "BadSize": Case(
            "`{code}` is given a size, which Dynamo takes for the values",
            Instead("say what it is: `torch.empty(size, dtype=…)`", shown_in="GoodEmpty"),
        )
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them named?"""
        return not _CONSTRUCTORS.isdisjoint(code.sketch.origins)

    def visit_Call(self, node: cst.Call) -> None:
        is_alone = len(node.args) == 1 and node.args[0].keyword is None and not node.args[0].star
        is_asked = is_alone and self.code.name(node.func) in _CONSTRUCTORS
        if is_asked and self.code.value(node.args[0].value).kind is Kind.SHAPE:
            self.report(node, "BadSize")

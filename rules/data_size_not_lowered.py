"""The values of a tensor decide how many elements come out, which a target of deployment refuses or gets wrong.

Why: torch exports such a size as an unknown number. The operators behind it need kernels of their own: ExecuTorch has
none for `unique` and `masked_select`, cannot take apart what `torch.where(mask)` gives, and gives other places than
torch for `nonzero` of several dims. ONNX has no `masked_select`.

Instead: index with the mask, which both do, or keep all elements and set those aside that do not count.

    scores[scores > limit]                                 # instead of torch.masked_select(scores, scores > limit)
    torch.where(scores > limit, scores, 0.0)

No repair: a mask or a fixed number of results changes what the caller gets, and torch exports the model as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, OperatorRule, dims_of

if TYPE_CHECKING:
    import libcst as cst

_MASK = Case(
    "`{code}` has as many elements as the values of its tensor say",
    Instead("return the mask, and select outside of the model", shown_in="GoodMask"),
)
_INDEX = Case(
    "`{code}` has as many elements as the values of its tensor say",
    Instead("write `x[mask]`", shown_in="GoodIndexedByMask"),
)


class DataSizeNotLowered(OperatorRule):
    lowerings = ("executorch", "onnxruntime")
    cases: ClassVar = {"BadNonzero": _MASK, "BadWhere": _MASK, "BadMaskedSelect": _INDEX, "BadUnique": _MASK}
    functions: ClassVar = {
        "BadNonzero": "torch.nonzero torch.argwhere",
        "BadWhere": "torch.where",
        "BadMaskedSelect": "torch.masked_select",
        "BadUnique": "torch.unique",
    }
    methods: ClassVar = {"BadNonzero": "nonzero argwhere", "BadMaskedSelect": "masked_select", "BadUnique": "unique"}

    def case_of(self, node: cst.Call) -> str | None:
        """`torch.where` of one argument gives places, as `nonzero(as_tuple=True)` does.

        As one tensor ExecuTorch gives the places in a tensor of one dim as torch does; more have to be known.
        """
        case = super().case_of(node)
        if case == "BadWhere":
            return case if len(node.args) == 1 else None
        if case != "BadNonzero":
            return case
        if any(arg.keyword and arg.keyword.value == "as_tuple" for arg in node.args):
            return "BadWhere"
        asked = self.code.value(node.args[0].value if node.args else getattr(node.func, "value", node.func))
        return case if len(dims_of(asked) or ()) > 1 else None

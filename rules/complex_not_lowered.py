"""Complex numbers are computed with, as every Fourier transform does, and a target of deployment has none.

Why: the kernels of runtimes for devices take real tensors only. torch traces complex ones, and the export passes.

Instead: two real tensors, one for each part. A transform of a fixed length is a product with two matrices:

    angles = 2 * torch.pi * torch.outer(steps, steps) / length      # steps = torch.arange(length)
    real, imaginary = x @ torch.cos(angles), -(x @ torch.sin(angles))

No repair: how the two parts run through the rest of the model is a design of its own, and torch exports the model as
it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, OperatorRule

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_MATRICES = Case(
    "`{code}` gives complex numbers",
    Instead(
        "a transform of a fixed length is a product with the matrices `torch.cos(2 * torch.pi * i * k / n)` and"
        " `-torch.sin(2 * torch.pi * i * k / n)`",
        shown_in="GoodMatrixOfCosines",
    ),
)
_PARTS = Case(
    "`{code}` gives complex numbers",
    Instead("compute with real and imaginary part as two real tensors", shown_in="GoodTwoParts"),
)


class ComplexNotLowered(OperatorRule):
    lowerings = ("executorch", "onnxruntime")
    cases: ClassVar = {
        "BadFft": _MATRICES,
        "BadRfft": _MATRICES,
        "BadFft2": _MATRICES,
        "BadStft": _MATRICES,
        "BadComplex": _PARTS,
        "BadPolar": _PARTS,
        "BadViewAsComplex": _PARTS,
    }
    functions: ClassVar = {
        "BadFft": "torch.fft.fft",
        "BadRfft": "torch.fft.rfft",
        "BadFft2": "torch.fft.fft2",
        "BadStft": "torch.stft",
        "BadComplex": "torch.complex",
        "BadPolar": "torch.polar",
        "BadViewAsComplex": "torch.view_as_complex",
    }
    methods: ClassVar = {"BadStft": "stft"}

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._real: set[cst.CSTNode] = set()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Whoever takes the real part at once computes with no complex number."""
        if node.attr.value == "real":
            self._real.add(node.value)

    def case_of(self, node: cst.Call) -> str | None:
        """All but the real part of `rfft`."""
        case = super().case_of(node)
        return None if case == "BadRfft" and node in self._real else case

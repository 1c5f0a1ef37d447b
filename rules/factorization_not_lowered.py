"""A matrix is inverted, solved for or factorized, for which a target of deployment has no kernel.

Why: these are routines of LAPACK, which torch calls and which no decomposition writes with simpler operators. Runtimes
of devices and of ONNX ship without them.

Instead: compute the factor or the inverse before the model runs, and pass it in or keep it as a buffer.

    self.register_buffer("whitening", torch.linalg.inv(factor))

No repair: what may be computed before the model runs depends on where its operands come from at the caller.
"""

from __future__ import annotations

from typing import ClassVar

from exportlint import Case, Instead, OperatorRule

_OUTSIDE = Case(
    "`{code}` is a routine of LAPACK",
    Instead("compute it before the model runs: keep it as a buffer, or pass it in", shown_in="GoodPassedInMatrix"),
)


class FactorizationNotLowered(OperatorRule):
    lowerings = ("executorch", "onnxruntime")
    functions: ClassVar = {
        "BadInverse": "torch.linalg.inv torch.inverse",
        "BadDeterminant": "torch.linalg.det torch.det",
        "BadCholesky": "torch.linalg.cholesky torch.cholesky",
        "BadSingularValues": "torch.linalg.svdvals torch.linalg.svd torch.svd",
        "BadEigenvalues": "torch.linalg.eigvalsh torch.linalg.eigh",
        "BadSolve": "torch.linalg.solve",
        "BadMatrixExp": "torch.linalg.matrix_exp torch.matrix_exp",
    }
    cases: ClassVar = dict.fromkeys(functions, _OUTSIDE)
    methods: ClassVar = {
        "BadInverse": "inverse",
        "BadDeterminant": "det",
        "BadCholesky": "cholesky",
        "BadMatrixExp": "matrix_exp",
    }

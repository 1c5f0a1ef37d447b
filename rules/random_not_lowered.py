"""Random numbers are drawn in forward, and a target of deployment has no generator for them.

Why: torch draws from a generator that it owns. A target brings its own for some operators, or none.

Instead: draw outside of the model and pass the numbers in, which also makes its results repeatable.

    def forward(self, mean, log_variance, noise):          # noise = torch.randn_like(mean)
        return mean + noise * torch.exp(0.5 * log_variance)

No repair: numbers that are passed in are arguments, and the callers have to change with them.
"""

from __future__ import annotations

from typing import ClassVar

from exportlint import Case, Instead, OperatorRule

_OUTSIDE = Case(
    "`{code}` draws random numbers",
    Instead("draw outside of the model and pass the numbers in", shown_in="GoodDrawnOutside"),
)


class RandomNotLowered(OperatorRule):
    lowerings = ("executorch", "onnxruntime")
    cases: ClassVar = dict.fromkeys(
        ("BadRandnLike", "BadRandLike", "BadMultinomial", "BadNormal", "BadRandint"), _OUTSIDE
    )
    functions: ClassVar = {
        "BadRandnLike": "torch.randn_like",
        "BadRandLike": "torch.rand_like",
        "BadMultinomial": "torch.multinomial",
        "BadNormal": "torch.normal",
        "BadRandint": "torch.randint",
    }
    methods: ClassVar = {"BadMultinomial": "multinomial"}

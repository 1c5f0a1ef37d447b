"""An operator that torch exports, and for which a target of deployment has no kernel or converter.

Why: torch has some two thousand operators, and `run_decompositions()` writes most of them with the few of Core ATen.
Those that are left need a kernel of the target: ExecuTorch's portable library has none that sorts, ONNX has no median.
The lowering says so, or the runtime when it loads the file.

Instead: the formula in operators that every target has.

    torch.topk(x, x.shape[-1], largest=False)              # instead of torch.sort(x)
    (x.unsqueeze(-1) > boundaries).sum(-1)                 # instead of torch.bucketize(x, boundaries)
    x.mean(1), x.var(1)                                    # instead of torch.var_mean(x, 1)

No repair: what else may take the operator's place depends on how exact the result has to be.
"""

from __future__ import annotations

from typing import ClassVar

from exportlint import Case, Instead, OperatorRule

_SAYS = "`{code}` needs a kernel that not every target has"
_GIVEN = Case(_SAYS, Instead("compute it before the model runs and pass it in", shown_in="GoodPassedIn"))
_BUCKETS = Case(_SAYS, Instead("write `(x.unsqueeze(-1) > boundaries).sum(-1)`", shown_in="GoodBuckets"))
_MOMENTS = Case(
    _SAYS, Instead("compute each by itself: `x.var(dim)` or `x.std(dim)`, and `x.mean(dim)`", shown_in="GoodMoments")
)


class OperatorNotLowered(OperatorRule):
    lowerings = ("executorch", "onnxruntime")
    cases: ClassVar = {
        "BadSort": Case(
            _SAYS, "write `torch.topk(x, x.shape[-1], largest=False)`, or `largest=True` for the descending order"
        ),
        "BadArgsort": Case(
            _SAYS, "write `torch.topk(x, x.shape[-1], largest=False)[1]`, or `largest=True` for the descending order"
        ),
        "BadMedian": Case(_SAYS, "write `torch.topk(x, (x.shape[-1] + 1) // 2, largest=False)[0][..., -1]`"),
        "BadKthValue": Case(_SAYS, "write `torch.topk(x, k, largest=False)[0][..., -1]`"),
        "BadQuantile": _GIVEN,
        "BadMode": _GIVEN,
        "BadBucketize": _BUCKETS,
        "BadSearchsorted": _BUCKETS,
        "BadVarMean": _MOMENTS,
        "BadStdMean": _MOMENTS,
        "BadHypot": Case(_SAYS, "write `(x * x + y * y).sqrt()`"),
        "BadBincount": Case(_SAYS, "write `(x.unsqueeze(-1) == torch.arange(length)).sum(0)`"),
        "BadCumprod": Case(_SAYS, "of positive numbers, write `x.log().cumsum(dim).exp()`"),
        "BadLogCumSumExp": Case(_SAYS, "where no number is large, write `x.exp().cumsum(dim).log()`"),
        "BadCummax": _GIVEN,
        "BadHistogram": _GIVEN,
        "BadErfinv": _GIVEN,
        "BadLgamma": _GIVEN,
        "BadCopysign": Case(_SAYS, "write `torch.where(y < 0, -x.abs(), x.abs())`"),
        "BadEmbeddingBag": Case(_SAYS, "take `torch.nn.Embedding`, and the mean of its rows: `.mean(1)`"),
        "BadAdaptiveMaxPool": Case(
            _SAYS,
            Instead(
                "where the size is known, take `max_pool2d` with its parts as the kernel",
                shown_in="GoodAdaptiveMaxPool",
            ),
        ),
    }
    functions: ClassVar = {
        "BadSort": "torch.sort torch.msort",
        "BadArgsort": "torch.argsort",
        "BadMedian": "torch.median",
        "BadKthValue": "torch.kthvalue",
        "BadQuantile": "torch.quantile",
        "BadMode": "torch.mode",
        "BadBucketize": "torch.bucketize",
        "BadSearchsorted": "torch.searchsorted",
        "BadVarMean": "torch.var_mean",
        "BadStdMean": "torch.std_mean",
        "BadHypot": "torch.hypot",
        "BadBincount": "torch.bincount",
        "BadCumprod": "torch.cumprod",
        "BadLogCumSumExp": "torch.logcumsumexp",
        "BadCummax": "torch.cummax",
        "BadHistogram": "torch.histc",
        "BadErfinv": "torch.erfinv torch.special.erfinv",
        "BadLgamma": "torch.lgamma torch.special.gammaln",
        "BadCopysign": "torch.copysign",
        "BadEmbeddingBag": "torch.nn.functional.embedding_bag",
        "BadAdaptiveMaxPool": "torch.nn.functional.adaptive_max_pool2d",
    }
    methods: ClassVar = {
        "BadSort": "sort msort",
        "BadArgsort": "argsort",
        "BadMedian": "median",
        "BadKthValue": "kthvalue",
        "BadQuantile": "quantile",
        "BadMode": "mode",
        "BadHypot": "hypot",
        "BadBincount": "bincount",
        "BadCumprod": "cumprod",
        "BadLogCumSumExp": "logcumsumexp",
        "BadCummax": "cummax",
        "BadHistogram": "histc",
        "BadErfinv": "erfinv",
        "BadLgamma": "lgamma",
        "BadCopysign": "copysign",
    }
    layers: ClassVar = {
        "BadEmbeddingBag": "torch.nn.EmbeddingBag",
        "BadAdaptiveMaxPool": "torch.nn.AdaptiveMaxPool2d",
    }

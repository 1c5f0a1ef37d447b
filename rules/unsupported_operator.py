"""An operator or layer of torch that reads values, or gives sizes that no fake tensor can have.

Why: tracing runs on fake tensors, which have shapes and no values. A few operators look at values before they compute
(`torch.cov` compares its weights, `gaussian_nll_loss` checks the variance, an adaptive softmax asks which words occur),
and a few have no rule for the shape of their result (`ctc_loss`, `linalg.lstsq`). Both modes refuse those. `resize_`,
the plain observer of eager-mode quantization and autograd's functional interface are refused in strict mode only.

Instead: write the formula with operators that compute without a look, or keep losses out of the exported model.

    centred = x - x.mean(1, keepdim=True)
    centred @ centred.T / (x.shape[1] - 1)                     # instead of torch.cov(x)
    torch.linalg.pinv(a) @ b                                   # instead of torch.linalg.lstsq(a, b).solution
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, Kind, Rule, called

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Called, Code, Sketch, Value

_LOSS = Instead("keep the loss out of the exported model", compiled="keep the loss out of the compiled model")
_FORMULA = "write the formula with operators of torch"
_PINV = "use `torch.linalg.pinv(a) @ b`, or the normal equations with `torch.linalg.solve`"
_BY_NAME = {
    "BadCov": "torch.cov",
    "BadCorrcoef": "torch.corrcoef",
    "BadCombinations": "torch.combinations",
    "BadCtcFunction": "torch.nn.functional.ctc_loss",
    "BadGaussianFunction": "torch.nn.functional.gaussian_nll_loss",
    "BadLobpcg": "torch.lobpcg",
    "BadLstsq": "torch.linalg.lstsq",
    "BadLinearize": "torch.func.linearize",
    "BadShapeAsTensor": "torch._shape_as_tensor",
    "BadFunctionalVjp": "torch.autograd.functional.vjp",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_LAYERS = {
    "torch.nn.CTCLoss": "BadCtcLayer",
    "torch.nn.GaussianNLLLoss": "BadGaussianLayer",
    "torch.nn.AdaptiveLogSoftmaxWithLoss": "BadAdaptiveSoftmax",
    "torch.ao.quantization.FakeQuantize": "BadFakeQuantize",
    "torch.ao.quantization.MinMaxObserver": "BadObserver",
    "torch.ao.quantization.MovingAverageMinMaxObserver": "BadMovingObserver",
    "torch.ao.quantization.HistogramObserver": "BadHistogramObserver",
}
_OF_TENSOR = {"cov": "BadCov", "corrcoef": "BadCorrcoef", "resize_": "BadResize"}
_OBSERVES = Case(
    "`{code}` observes values",
    Instead(
        "quantize after the export with torchao's PT2E flow",
        compiled="end the quantization (`convert`) before the model is compiled",
    ),
)


class UnsupportedOperator(Rule):
    mended_by = ("templates",)
    torch_says = (r"DynamicOutputShapeException", r"Dynamic shape operator \(no meta kernel\)")
    cases: ClassVar = {
        "BadCov": Case("`{code}` compares its weights", _FORMULA),
        "BadCorrcoef": Case("`{code}` compares its weights", _FORMULA),
        "BadCombinations": Case("`{code}` selects by a mask", "index with `torch.triu_indices`"),
        "BadCtcFunction": Case("`{code}` has no fake kernel", _LOSS),
        "BadCtcLayer": Case("`{code}` has no fake kernel", _LOSS),
        "BadGaussianFunction": Case("`{code}` checks the variance", _LOSS),
        "BadGaussianLayer": Case("`{code}` checks the variance", _LOSS),
        "BadLobpcg": Case("`{code}` iterates in Python until the values are good enough", "use `torch.linalg.eigh`"),
        "BadLstsq": Case("`{code}` has no fake kernel", _PINV),
        "BadLinearize": Case("`{code}` traces inside the trace", "compute the linear part outside of the model"),
        "BadShapeAsTensor": Case(
            "`{code}` makes a tensor of sizes outside of the trace",
            Instead("make it of the numbers: `torch.tensor(x.shape)`", shown_in="GoodShapeTensor"),
        ),
        "BadFunctionalVjp": Case("`{code}` asks autograd for a gradient", "use `torch.func.vjp` outside of the model"),
        "BadAdaptiveSoftmax": Case("`{code}` asks which words occur", "call `log_prob`, which computes all words"),
        "BadFakeQuantize": _OBSERVES,
        "BadObserver": _OBSERVES,
        "BadMovingObserver": _OBSERVES,
        "BadHistogramObserver": _OBSERVES,
        "BadResize": Case("`{code}` changes the storage of a tensor", "use `view`, `reshape` or slices"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called?"""
        sketch = code.sketch
        return not sketch.origins.isdisjoint(_CASE_OF) or any(_may_be_one(sketch, call) for call in sketch.calls)

    def visit_Call(self, node: cst.Call) -> None:
        function, method = self.code.value(node.func), called(node) or ""
        owner = self.code.value(getattr(node.func, "value", node.func))
        name = self.code.name(node.func) or ""
        if case := _CASE_OF.get(name) or (_layer(function) if name not in _LAYERS else None):
            self.report(node, case)
        elif method == "predict" and _layer(owner) == "BadAdaptiveSoftmax":
            self.report(node, "BadAdaptiveSoftmax")
        elif method in _OF_TENSOR and owner.is_tensor:
            self.report(node, _OF_TENSOR[method], because=owner)


def _layer(module: Value) -> str | None:
    """The case of a layer, or of a subclass that has its forward."""
    if module.kind not in {Kind.MODULE, Kind.UNKNOWN}:
        return None
    if module.cls is None:
        return _LAYERS.get(module.name or "")
    if module.cls.method("forward") is not None:
        return None
    return next((_LAYERS[base] for base in module.cls.foreign_bases if base in _LAYERS), None)


def _may_be_one(sketch: Sketch, call: Called) -> bool:
    if call.method in _OF_TENSOR or call.method == "predict":
        return True
    return _layer(sketch.value(call.node.func)) is not None

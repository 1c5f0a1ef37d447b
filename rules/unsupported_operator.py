"""An operator or layer of torch that reads values, or gives sizes that no fake tensor can have.

Why: tracing runs on fake tensors, which have shapes and no values. A few operators look at values before they compute
(`torch.cov` compares its weights, `gaussian_nll_loss` checks the variance, an adaptive softmax asks which words occur),
and a few have no rule for the shape of their result (`ctc_loss`, `linalg.lstsq`). Both modes refuse those. A
transformer of torch that is given a mask compares it with the causal one to learn whether it may take a shorter way,
unless `is_causal` says so; its layers alone, and masks of three dims, are not compared. `resize_`,
the plain observer of eager-mode quantization and autograd's functional interface are refused in strict mode only.

Instead: write the formula with operators that compute without a look, or keep losses out of the exported model.

    centred = x - x.mean(1, keepdim=True)
    centred @ centred.T / (x.shape[1] - 1)                     # instead of torch.cov(x)
    torch.linalg.pinv(a) @ b                                   # instead of torch.linalg.lstsq(a, b).solution
    self.encoder(x, mask=mask, is_causal=False)                # the mask is applied as it is
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, Kind, Rule, Severity, called, dims_of

if TYPE_CHECKING:
    from collections.abc import Container

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
# Where a layer is given a mask that it compares: the place of the mask, its name, and what answers the question.
_MASKED = {
    "torch.nn.TransformerEncoder": ((1, "mask", "is_causal"),),
    "torch.nn.TransformerDecoder": ((2, "tgt_mask", "tgt_is_causal"),),
    "torch.nn.Transformer": ((2, "src_mask", "src_is_causal"), (3, "tgt_mask", "tgt_is_causal")),
}
_MASK_CASE = {
    "torch.nn.TransformerEncoder": "BadMaskedEncoder",
    "torch.nn.TransformerDecoder": "BadMaskedDecoder",
    "torch.nn.Transformer": "BadMaskedTransformer",
}
_FLAT = (None, None)  # a mask of two dims; one for each head has three
_COMPARES = "`{code}` compares the mask with the causal one"
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
        "BadMaskedEncoder": Case(
            _COMPARES,
            Instead("say whether it is causal: `is_causal=False` applies the mask as it is", shown_in="GoodMaskSaid"),
        ),
        "BadMaskedDecoder": Case(
            _COMPARES,
            Instead(
                "say whether it is causal: `tgt_is_causal=False` applies the mask as it is", shown_in="GoodMaskSaid"
            ),
        ),
        "BadMaskedTransformer": Case(
            _COMPARES,
            Instead(
                "say whether they are causal: `src_is_causal=False`, `tgt_is_causal=False` apply the masks as they are",
                shown_in="GoodMaskSaid",
            ),
        ),
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
        elif (layer := _transformer(function)) and (mask := self._compared_mask(node, layer)):
            sure = function.certain and mask.certain and not mask.maybe_none
            self.report(node, _MASK_CASE[layer], because=mask, at_most=Severity.ERROR if sure else Severity.WARNING)

    def _compared_mask(self, node: cst.Call, layer: str) -> Value | None:
        """The mask that a transformer is given without a word on whether it is causal."""
        if any(arg.star for arg in node.args):
            return None
        named = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
        by_place = [arg.value for arg in node.args if not arg.keyword]
        for place, mask, answer in _MASKED[layer]:
            given = named.get(mask) or (by_place[place] if place < len(by_place) else None)
            answered = answer in named and self.code.value(named[answer]).kind is not Kind.NONE
            value = self.code.value(given) if given is not None and not answered else None
            if value is not None and value.kind is Kind.TENSOR and len(dims_of(value) or _FLAT) == len(_FLAT):
                return value
        return None


def _layer(module: Value) -> str | None:
    """The case of a layer, or of a subclass that has its forward."""
    return _LAYERS.get(_torch_layer(module, _LAYERS) or "")


def _torch_layer(module: Value, names: Container[str]) -> str | None:
    """Which of these layers of torch it is, or is a subclass of that has its forward."""
    if module.kind not in {Kind.MODULE, Kind.UNKNOWN}:
        return None
    if module.cls is None:
        return module.name if module.name in names else None
    if module.cls.method("forward") is not None:
        return None
    return next((base for base in module.cls.foreign_bases if base in names), None)


def _transformer(function: Value) -> str | None:
    """Which stack of layers it is, on one path at least: an attribute may be None in some configurations."""
    modules = function.only(Kind.MODULE)
    return _torch_layer(modules, _MASKED) if modules is not None else None


def _may_be_one(sketch: Sketch, call: Called) -> bool:
    if call.method in _OF_TENSOR or call.method == "predict":
        return True
    function = sketch.value(call.node.func)
    return _layer(function) is not None or _transformer(function) is not None

"""An operation needs a size, or a number, that only data gives.

Why: torch traces `x[mask]`, `nonzero` and `.item()` with symbols, and most operations carry a symbol along: slices,
`topk`, `zeros`, `repeat_interleave`, matrix products, bilinear resizing. Some must know more than that there is a size:
pieces of a fixed size (`chunk`, `split`, `unbind`), batch normalisation and recurrent layers over rows, adaptive
pooling and `mode="area"`, which loop over the size they are given. Both modes refuse those. A write into a
slice whose bound was read is refused where the tensor needs gradients.

Instead: keep all rows and mask, so that the sizes are known,

    masked = torch.where(keep[:, None], x, 0)                # instead of x[keep]

resize with `mode="bilinear"` or to a fixed size, and write with a mask: `torch.where(position >= length, 0, x)`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, Rule, Severity, Source, called, flat_targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Called, Sketch, Value

_MASK = Instead(
    "keep all rows and mask them (`torch.where`), so that the number of rows is known", shown_in="GoodWhere"
)
_WRITE = Instead("write with a mask: `torch.where(position >= length, 0, x)`", shown_in="GoodWhere")
_FIXED = 'give a fixed size, or resize with `mode="bilinear"`'
_ROWS = "`{code}` must know how many rows there are, and data says how many"
_GIVEN = "`{code}` is given a size that was read from a tensor, and must know it"
_OF_ROWS = {
    "chunk": "BadChunkRows",
    "split": "BadSplitRows",
    "unbind": "BadUnbindRows",
    "cdist": "BadCdistRows",
    "batch_norm": "BadBatchNormRows",
    "group_norm": "BadGroupNormRows",
    "instance_norm": "BadGroupNormRows",
    "tolist": "BadListRows",
    "roll": "BadRollRows",
    "diff": "BadDiffRows",
    "tensor_split": "BadTensorSplitRows",
    "max_pool1d": "BadMaxPoolRows",
    "adaptive_max_pool1d": "BadAdaptiveMaxPoolRows",
    "logsumexp": "BadLogSumExpRows",
}
_LAYERS = {
    "torch.nn.BatchNorm1d": "BadBatchNormRows",
    "torch.nn.BatchNorm2d": "BadBatchNormRows",
    "torch.nn.GroupNorm": "BadGroupNormRows",
    "torch.nn.LSTM": "BadRecurrentRows",
    "torch.nn.GRU": "BadRecurrentRows",
    "torch.nn.RNN": "BadRecurrentRows",
    "torch.nn.TransformerEncoderLayer": "BadEncoderRows",
    "torch.nn.MaxPool1d": "BadMaxPoolRows",
}
# Where a method that cuts takes its dim; a function takes the tensor first.
_DIM_AT = {"chunk": 1, "split": 1, "unbind": 0, "tensor_split": 1, "diff": 1}
_POOLS = frozenset({"max_pool1d", "adaptive_max_pool1d", "torch.nn.MaxPool1d"})
# These refuse such a dim wherever it stands; the others where it is the first.
_ANYWHERE = frozenset({"roll", "cdist", "tolist", "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"}) | {
    "torch.nn.TransformerEncoderLayer"
}
_OF_NUMBER = {"linspace": "BadLinspace", "unfold": "BadUnfold", "one_hot": "BadOneHotClasses"}
_ADAPTIVE = ("adaptive_", "Adaptive")  # the functions, and the layers that are made in forward
_OPERATIONS = frozenset({*_OF_ROWS, *_OF_NUMBER, "interpolate", "pad_sequence"})


class OperationNeedsSize(Rule):
    mended_by = ("templates", "padded-rows", "decide-in-data", "loop-in-data", "numbers-stay-tensors")
    torch_says = (r"Pending unbacked symbols \{[^}]*\} not in returned outputs FakeTensor\(.*grad_fn=<SliceBackward",)
    cases: ClassVar = {
        "BadAdaptivePool": Case(_GIVEN, _FIXED),
        "BadAreaInterpolate": Case(_GIVEN, _FIXED),
        "BadLinspace": Case(_GIVEN, "use `torch.arange(n) / (n - 1)`, which takes a number that was read"),
        "BadUnfold": Case(_GIVEN, "fix the size in the configuration"),
        "BadOneHotClasses": Case(_GIVEN, "say a fixed `num_classes=`"),
        "BadSliceWrite": Case(
            "`{code}` writes into a slice whose bound was read from a tensor; where gradients are needed",
            _WRITE,
        ),
        "BadSliceWriteTensor": Case("`{code}` writes into a slice whose bound is a tensor", _WRITE),
        "BadChunkRows": Case(_ROWS, _MASK),
        "BadSplitRows": Case(_ROWS, _MASK),
        "BadUnbindRows": Case(_ROWS, _MASK),
        "BadCdistRows": Case(_ROWS, _MASK),
        "BadListRows": Case(_ROWS, _MASK),
        "BadLogSumExpRows": Case(_ROWS, _MASK),
        "BadBatchNormRows": Case(_ROWS, _MASK),
        "BadGroupNormRows": Case(_ROWS, _MASK),
        "BadRecurrentRows": Case(_ROWS, _MASK),
        "BadEncoderRows": Case(_ROWS, _MASK),
        "BadRollRows": Case(_ROWS, _MASK),
        "BadDiffRows": Case(_ROWS, _MASK),
        "BadTensorSplitRows": Case(_ROWS, _MASK),
        "BadMaxPoolRows": Case(_ROWS, _MASK),
        "BadAdaptiveMaxPoolRows": Case(_ROWS, _MASK),
        "BadLen": Case(
            "`{code}` makes a Python number of how many rows there are, and data says how many",
            "use `.shape[0]`, which stays a symbol",
        ),
        "BadPadSequence": Case(
            "`{code}` compares lengths that were read from a tensor", "pad with a mask, or export in non-strict mode"
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is there a number that was read, or a tensor with a size that depends on data, where a size is needed?"""
        sketch = code.sketch
        needed = any(_may_need_size(sketch, call) for call in sketch.calls)
        bounded = any(sketch.value(bound).is_data for bound in _bounds_of_writes(sketch))
        return bounded or (needed and any(map(_may_matter, sketch.values)))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._looped: set[cst.CSTNode] = set()  # what a branch or a loop asks for, which is another rule's business

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._looped.update((node.left, *(part.comparator for part in node.comparisons)))

    def visit_For(self, node: cst.For) -> None:
        self._loop(node.iter)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._loop(node.iter)

    def _loop(self, over: cst.BaseExpression) -> None:
        self._looped.add(over)
        if isinstance(over, cst.Call):
            for arg in over.args:
                self._loop(arg.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Subscript):
                self._write(node, target, self.code.value(node.value))

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.target, cst.Subscript):
            self._write(node, node.target, self.code.value(node.value))

    def _write(self, node: cst.CSTNode, target: cst.Subscript, new: Value) -> None:
        owner = self.code.value(target.value)
        needs_gradient = owner.source in {Source.COMPUTED, Source.PARAMETER} or new.source is Source.COMPUTED
        if not owner.is_tensor:
            return
        bound = next((value for value in self._bounds(target) if value.is_data), None)
        if bound is not None and bound.is_tensor:
            self.report(node, "BadSliceWriteTensor", because=bound)
        elif bound is not None and needs_gradient:
            self.report(node, "BadSliceWrite", at_most=Severity.WARNING, because=bound)

    def _bounds(self, node: cst.Subscript) -> Iterator[Value]:
        """What bounds the slices of an index."""
        slices = [part.slice for part in node.slice if isinstance(part.slice, cst.Slice)]
        yield from (self.code.value(bound) for one in slices for bound in (one.lower, one.upper) if bound is not None)

    def visit_Call(self, node: cst.Call) -> None:
        name, method = self.code.name(node.func) or "", called(node) or ""
        given = [self.code.value(arg.value) for arg in node.args]
        of_torch = name.startswith("torch.")
        owner = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) and not of_torch else None
        if name == "builtins.len":
            if given and given[0].is_tensor and given[0].unbacked and node not in self._looped:
                self.report(node, "BadLen", because=given[0])
        elif method == "pad_sequence" and given and given[0].element is not None and given[0].element.unbacked:
            self.report(node, "BadPadSequence")
        elif of_torch or (owner is not None and owner.is_tensor):
            self._operation(node, method, owner or next(iter(given), None), given)
        elif given and (layer := (self.code.value(node.func).name or "")) in _LAYERS and _refuses(layer, given[0]):
            self._rows(node, _LAYERS[layer], given[0])

    def _rows(self, node: cst.Call, case: str, tensor: Value | None) -> None:
        """Group normalisation is refused for rows alone, which the code may not tell."""
        at_most = Severity.WARNING if case == "BadGroupNormRows" else Severity.ERROR
        self.report(node, case, at_most=at_most, because=tensor)

    def _operation(self, node: cst.Call, method: str, tensor: Value | None, given: list[Value]) -> None:
        read = next((value for value in given if value.is_unbacked or _in(value)), None)
        if method == "interpolate" and read and _mode(node) == "area":
            self.report(node, "BadAreaInterpolate", because=read)
        elif method.startswith(_ADAPTIVE) and read:
            self.report(node, "BadAdaptivePool", because=read)
        elif method in _OF_NUMBER and read:
            self.report(node, _OF_NUMBER[method], because=read)
        elif (
            method in _OF_ROWS
            and node not in self._looped
            and not read
            and tensor is not None
            and (self._cuts(node, method, tensor) if method in _DIM_AT else _refuses(method, tensor))
        ):
            self._rows(node, _OF_ROWS[method], tensor)

    def _cuts(self, node: cst.Call, method: str, tensor: Value) -> bool:
        """Is it the dim with a size from data that is cut?"""
        is_function = (self.code.name(node.func) or "").startswith("torch.")
        given = [arg.value for arg in node.args if not arg.keyword][_DIM_AT[method] + is_function :]
        dims = [*given, *(arg.value for arg in node.args if arg.keyword and arg.keyword.value == "dim")]
        default = "-1" if method == "diff" else "0"
        cut = self.code.text(dims[0]) if dims else default
        return tensor.is_tensor and tensor.data_dim is not None and cut == str(tensor.data_dim)


def _may_need_size(sketch: Sketch, call: Called) -> bool:
    if call.origin == "builtins.len":
        return any(sketch.value(given).unbacked for given in call.arguments)
    layer = sketch.value(call.node.func).name
    return call.method in _OPERATIONS or call.method.startswith(_ADAPTIVE) or layer in _LAYERS


def _bounds_of_writes(sketch: Sketch) -> Iterator[ast.expr]:
    """The bounds of the slices that are written to."""
    for target in sketch.targets():
        index = target.slice if isinstance(target, ast.Subscript) else None
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(part, ast.Slice):
                yield from filter(None, (part.lower, part.upper))


def _mode(node: cst.Call) -> object:
    """The text given as `mode=`."""
    given = (arg.value for arg in node.args if arg.keyword and arg.keyword.value == "mode")
    return next((text.evaluated_value for text in given if isinstance(text, cst.SimpleString)), None)


def _refuses(name: str, value: Value) -> bool:
    """Does the operation or layer look at the dim whose size depends on data?"""
    at = value.data_dim if value.is_tensor else None
    if at is None or name in _ANYWHERE:
        return at is not None
    return at > 0 if name in _POOLS else at == 0


def _may_matter(value: Value) -> bool:
    """A number that was read, a size that depends on data, or something that holds such."""
    sized = value.data_dim is not None or (value.element is not None and value.element.unbacked)
    return sized or value.is_unbacked or _in(value)


def _in(value: Value) -> bool:
    """Does a tuple or list hold a number that was read?"""
    return value.element is not None and any(item.is_unbacked for item in (*(value.items or ()), value.element))

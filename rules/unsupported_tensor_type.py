"""A kind of tensor that export, or the saved program, has no form for.

Why: the tracer works with fake tensors, which exist for dense and coordinate-sparse layouts. Nested, oneDNN and
compressed sparse tensors, quantized layers of eager mode, packed sequences, and Python functions applied to elements
need real memory and are refused. Some quantized and sparse tensors pass the export and fail when the program is
decomposed or saved.

Instead: padded tensors with a mask for rows of different lengths, operators on whole tensors or `torch.vmap` for
element functions, PT2E quantization (torchao) after the export for quantized models, dense or `to_sparse()` tensors.

    mask = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    out, _ = self.lstm(x)
    out = out * mask[..., None]                       # instead of pack_padded_sequence
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Kind, Rule, Severity, called, root_name

if TYPE_CHECKING:
    from exportlint import Code

_PADDED = "keep padded rows and a mask"
_PADDED_ROWS = Instead(
    "keep padded rows and a mask; a backward direction reads each row reversed within its length",
    shown_in="GoodPaddedAndMask",
)
_AFTER = "quantize after the export with torchao's PT2E flow"
_DENSE = "use a dense tensor, or `to_sparse()` (coordinates), which is traced"
_WHOLE = Instead("use operators on the whole tensor, or `torch.vmap`", shown_in="GoodVmap")
_DIRECT = "keep to ordinary tensor operators, or do it outside of the model"
_BY_NAME = {
    "BadNestedTensor": (
        "torch.nested.nested_tensor torch.nested.nested_tensor_from_jagged torch.nested.narrow"
        " torch._nested_tensor_from_tensor_list"
    ),
    "BadAsNestedTensor": "torch.nested.as_nested_tensor",
    "BadPackedFields": ("torch.nn.utils.rnn.pack_padded_sequence torch._pack_padded_sequence"),
    "BadPackedRows": "torch.nn.utils.rnn.pack_sequence",
    "BadUnpacked": "torch.nn.utils.rnn.pad_packed_sequence",
    "BadQuantized": "torch.quantize_per_tensor",
    "BadQuantizedChannels": "torch.quantize_per_channel torch.quantize_per_tensor_dynamic",
    "BadSparseMade": "torch.sparse_coo_tensor torch.sparse.FloatTensor",
    "BadSparseRowsMade": (
        "torch.sparse_csr_tensor torch.sparse_csc_tensor torch.sparse_bsr_tensor torch.sparse_bsc_tensor"
        " torch.sparse_compressed_tensor"
    ),
    "BadMaskedTensor": "torch.masked.masked_tensor torch.masked.as_masked_tensor torch.masked.MaskedTensor",
    "BadDlpack": "torch.from_dlpack torch.utils.dlpack.from_dlpack torch.utils.dlpack.to_dlpack",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_PACKED = "torch.nn.utils.rnn.PackedSequence"
_RECURRENT = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})
_METHODS = {
    "to_mkldnn": "BadMkldnn",
    "apply_": "BadApply",
    "map_": "BadMap",
    "to_sparse_csr": "BadSparseRows",
    "to_sparse_csc": "BadSparseRows",
    "to_sparse_bsr": "BadSparseRows",
    "to_sparse_bsc": "BadSparseRows",
    "share_memory_": "BadSharedMemory",
    "untyped_storage": "BadStorage",
    "storage": "BadStorage",
}
# Names that only tensors carry, so that an owner of unknown kind is enough.
_TELLING = frozenset(
    {"to_mkldnn", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "untyped_storage"}
)
_QUANTIZED = (
    "torch.ao.nn.quantized.",
    "torch.nn.quantized.",
    "torch.ao.nn.intrinsic.quantized.",
    "torch.ao.nn.sparse.quantized.",
)
_FLOATING = frozenset({"FloatFunctional", "FXFloatFunctional", "QFunctional"})
_CONVERTERS = frozenset(
    {"torch.ao.quantization.quantize_dynamic", "torch.quantization.quantize_dynamic", "torch.ao.quantization.convert"}
    | {"torch.quantization.convert", "torch.ao.quantization.quantize", "torch.quantization.quantize"}
)


class UnsupportedTensorType(Rule):
    mended_by = ("padded-rows", "templates", "numbers-stay-tensors")
    graph_breaks = ("GB0087", "GB0090", "GB0055", "GB0374")
    torch_says = (
        r"_nested_tensor_from_tensor_list",
        r"OpaqueTensorImpl",
        r"LinearPackedParamsBase",
        r"quantized nyi in meta tensors",
        r"\.map_ is not supported for tensor subclasses",
        r"_share_fd_",
    )
    cases: ClassVar = {
        "BadNestedTensor": Case("`{code}` makes a nested tensor", _PADDED),
        "BadAsNestedTensor": Case("`{code}` makes a nested tensor", _PADDED),
        "BadJaggedTensor": Case("`{code}` makes a jagged tensor", _PADDED),
        "BadMkldnn": Case("`{code}` changes to a layout of oneDNN", "leave the layout to the backend"),
        "BadPackedFields": Case("`{code}` packs rows by their lengths, which are data", _PADDED_ROWS),
        "BadUnpacked": Case("`{code}` asks how long the longest row is, which is data", _PADDED_ROWS),
        "BadPackedRows": Case("`{code}` packs rows of different lengths", _PADDED_ROWS),
        "BadPackedLayer": Case("`{code}` runs over packed rows, whose number at each step is data", _PADDED_ROWS),
        "BadApply": Case("`{code}` calls a Python function for every element", _WHOLE),
        "BadMap": Case("`{code}` calls a Python function for every pair of elements", _WHOLE),
        "BadQuantized": Case("`{code}` makes a quantized tensor, which a saved program cannot hold", _AFTER),
        "BadQuantizedChannels": Case("`{code}` makes a quantized tensor", _AFTER),
        "BadQuantizedModule": Case("`{code}` runs a layer of eager-mode quantization", _AFTER),
        "BadQuantizeDynamic": Case("`{code}` runs a model that was quantized in eager mode", _AFTER),
        "BadSparseRows": Case(
            "`{code}` makes a compressed sparse tensor, which can be neither decomposed nor saved", _DENSE
        ),
        "BadSparseRowsMade": Case("`{code}` makes a compressed sparse tensor", _DENSE),
        "BadSparseMade": Case("`{code}` makes a sparse tensor from its parts", _DENSE),
        "BadMaskedTensor": Case(
            "`{code}` makes a masked tensor, a tensor class of Python", "keep the mask beside the tensor"
        ),
        "BadSharedMemory": Case("`{code}` moves a tensor to shared memory", _DIRECT),
        "BadDlpack": Case("`{code}` hands a tensor over by its address", _DIRECT),
        "BadStorage": Case("`{code}` looks at the memory under a tensor", _DIRECT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a special tensor made, or a layer called that holds one?"""
        names = {*code.sketch.origins, *(code.sketch.value(call.node.func).name or "" for call in code.sketch.calls)}
        return (
            not code.sketch.methods.isdisjoint(_METHODS)
            or not names.isdisjoint(_CASE_OF.keys() | _CONVERTERS)
            or any(name.startswith(_QUANTIZED) for name in names)
        )

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if case := _CASE_OF.get(name):
            self.report(node, "BadJaggedTensor" if _jagged(node, self.code.name) else case)
        elif isinstance(node.func, cst.Attribute) and (method := called(node)) in _METHODS:
            self._method(node, node.func.value, method or "")
        else:
            self._layer(node)

    def _method(self, node: cst.Call, owner: cst.BaseExpression, method: str) -> None:
        value = self.code.value(owner)
        if value.is_tensor:
            self.report(node, _METHODS[method], because=value)
        elif value.kind in (Kind.UNKNOWN, Kind.TENSOR) and (method in _TELLING or root_name(owner) in self._inputs()):
            self.report(node, _METHODS[method], at_most=Severity.WARNING)

    def _inputs(self) -> set[str]:
        """What forward is called with: tensors, as a rule."""
        function = self.code.function
        arguments = getattr(function.node, "args", None) if function and function.name == "forward" else None
        return {argument.arg for argument in arguments.args[1:]} if arguments else set()

    def _layer(self, node: cst.Call) -> None:
        """`self.linear(x)` with a quantized layer, or a model that `quantize_dynamic` gave."""
        value = self.code.value(node.func)
        name = value.name or ""
        if not value.certain or not isinstance(node.func, cst.Attribute):
            return
        if name in _RECURRENT and node.args and self._is_packed(node.args[0].value):
            self.report(node, "BadPackedLayer")
        elif name.startswith(_QUANTIZED) and _FLOATING.isdisjoint(name.split(".")):
            self.report(node, "BadQuantizedModule")
        elif name in _CONVERTERS:
            self.report(node, "BadQuantizeDynamic")

    def _is_packed(self, node: cst.BaseExpression) -> bool:
        """On one path at least."""
        return any(getattr(option, "name", None) == _PACKED for option in self.code.value(node).options)


def _jagged(call: cst.Call, name_of: object) -> bool:
    layouts = [arg.value for arg in call.args if arg.keyword and arg.keyword.value == "layout"]
    return callable(name_of) and any(name_of(layout) == "torch.jagged" for layout in layouts)

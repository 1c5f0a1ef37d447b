"""Tensors of special kinds become dense ones: padded and masked, coordinates, or rounded as a quantizer rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, Where
from exportlint.rewriting.operations.elementwise import as_tensor_function
from exportlint.rewriting.operations.packed_rows import padded_and_masked
from exportlint.rewriting.operations.ragged_rows import padded_rows
from exportlint.rewriting.operations.stepped_rows import stepped_rows
from exportlint.rewriting.source.assigned_names import statement_of
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.source_of_calls import argument, in_statement_alone, operand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange


_RANGES = {"torch.qint8": "-128, 127", "torch.quint8": "0, 255"}


class DenseInstead(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if not isinstance(node, cst.Call):
            return
        match case:
            case "BadMkldnn" | "BadSharedMemory":
                yield from self._made("leave it out", self._unmoved(node))
            case "BadDlpack":
                yield from self._made("use the tensor itself", self._handed_over(node))
            case "BadSparseRows":
                yield from self._made("use coordinates", self._coordinates(node))
            case "BadSparseRowsMade":
                yield from self._made("use coordinates", self._coordinates_of_rows(node))
            case "BadQuantized" | "BadQuantizedChannels":
                yield from self._made("round without leaving floating point", self._rounded(node, case))
            case "BadPackedSequence":
                yield from padded_and_masked(self.code, node)
                yield from stepped_rows(self.code, node)
            case "BadNestedTensor" | "BadAsNestedTensor" | "BadJaggedTensor":
                yield from padded_rows(self.code, node)
            case "BadApply" | "BadMap":
                yield from self._made("compute it on the whole tensor", as_tensor_function(self.code, node))

    def _made(self, description: str, changes: tuple[AnyChange, ...]) -> Iterator[Rewrite]:
        if changes:
            yield Rewrite(description, changes)

    def _unmoved(self, node: cst.Call) -> tuple[AnyChange, ...]:
        if not isinstance(node.func, cst.Attribute):
            return ()
        alone = in_statement_alone(self.code, node)
        return (Change(alone, "") if alone else Change(node, operand(self.code, node.func.value)),)

    def _handed_over(self, node: cst.Call) -> tuple[AnyChange, ...]:
        tensor = argument(node, "ext_tensor", 0) or argument(node, "dlpack", 0)
        if isinstance(tensor, cst.Call) and (self.code.name(tensor.func) or "").endswith("to_dlpack"):
            tensor = argument(tensor, "tensor", 0)
        if tensor is None or not self.code.value(tensor).is_data:
            return ()
        return (Change(node, operand(self.code, tensor)),)

    def _coordinates(self, node: cst.Call) -> tuple[AnyChange, ...]:
        if not isinstance(node.func, cst.Attribute):
            return ()
        return (Change(node, f"{operand(self.code, node.func.value)}.to_sparse()"),)

    def _coordinates_of_rows(self, node: cst.Call) -> tuple[AnyChange, ...]:
        """`torch.sparse_csr_tensor(starts, columns, values, size)` by the row and the column of each value."""
        parts = [argument(node, name, i) for i, name in enumerate(("crow_indices", "col_indices", "values", "size"))]
        if self.code.name(node.func) != "torch.sparse_csr_tensor" or None in parts:
            return ()
        statement, fresh = statement_of(self.code, node), FreshNames(self.code)
        if statement is None:
            return ()
        starts, columns, values, size = (operand(self.code, part) for part in parts if part is not None)
        names = [fresh.of(name) for name in ("starts", "columns", "rows")]
        counts = f"{names[0]}.diff(), output_size={names[1]}.numel()"
        numbers = f"torch.arange({names[0]}.numel() - 1, device={names[0]}.device)"
        lines = [f"{names[0]} = {starts}", f"{names[1]} = {columns}"]
        lines.append(f"{names[2]} = torch.repeat_interleave({numbers}, {counts})")
        made = f"torch.sparse_coo_tensor(torch.stack([{names[2]}, {names[1]}]), {values}, {size})"
        return (Change(statement, "\n".join(lines), Where.BEFORE), Change(node, made), ModuleImport("torch"))

    def _rounded(self, node: cst.Call, case: str) -> tuple[AnyChange, ...]:
        """`torch.quantize_per_…(…).dequantize()`."""
        whole = self._dequantized(node)
        names: tuple[str, ...] = ("input", "scale", "zero_point", "dtype")
        if case == "BadQuantizedChannels":
            names = ("input", "scales", "zero_points", "axis", "dtype")
        parts = [argument(node, name, i) for i, name in enumerate(names)]
        if whole is None or any(part is None for part in parts):
            return ()
        *texts, kind = [(self.source(part), self.code.name(part)) for part in parts if part is not None]
        limits = _RANGES.get(kind[1] or "")
        if limits is None:
            return ()
        given = [text for text, _ in texts]
        if case == "BadQuantizedChannels":
            given[1:3] = [f"({given[1]}).float()", f"({given[2]}).int()"]
        way = "channel" if case == "BadQuantizedChannels" else "tensor"
        text = f"torch.fake_quantize_per_{way}_affine({', '.join(given)}, {limits})"
        return (Change(whole, text), ModuleImport("torch"))

    def _dequantized(self, node: cst.Call) -> cst.Call | None:
        above = self.code.parent(node)
        match above, self.code.parent(above) if above is not None else None:
            case cst.Attribute(attr=cst.Name(value="dequantize")), cst.Call() as whole:
                return whole
        return None

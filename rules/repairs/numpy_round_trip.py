"""What NumPy computes of a tensor is computed by torch; an array of the module becomes a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, ModuleImport, Repair, Rewrite
from exportlint.rewriting.operations.without_numpy import without_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator


class TorchForNumpy(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadArrayAttribute" and isinstance(node, cst.Call):
            yield from self._kept(node)
        elif (changes := without_numpy(self.code, node)) is not None:
            yield Rewrite("compute with torch", (*changes, ModuleImport("torch")))

    def _kept(self, node: cst.Call) -> Iterator[Rewrite]:
        """`torch.from_numpy(self.table)`: made once, when the module is."""
        match node.args[0].value:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                plain = all(isinstance(arg.value, cst.Attribute | cst.Name) for arg in node.args[1:])
                used = [self.source(arg.value) for arg in node.args[1:]]
                if plain and all(text.startswith("torch.") for text in used):
                    buffer = f'self.register_buffer("{name}_tensor", {self.source(node)}, persistent=False)'
                    change = Change(node, f"self.{name}_tensor")
                    yield Rewrite("keep it as a buffer", (InInit(buffer), change, ModuleImport("torch")))

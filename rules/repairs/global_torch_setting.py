"""Settings of the process are left to eager, or given where a tensor is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.made_once.made_before import asked_in_init
from exportlint.rewriting.source.default_dtype import dtype_given, dtype_given_in_blocks
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.state.entered_context import written_out

if TYPE_CHECKING:
    from collections.abc import Iterator


_CONTEXTS = frozenset({
    "BadBackendFlags", "BadAttentionKernel", "BadAnomalyMode", "BadSavedTensors", "BadDispatchMode",
    "BadWarningsFilter", "BadRedirect", "BadStatefulContext",
})  # fmt: skip
_STATEMENTS = frozenset({"BadDefaultTensorType", "BadThreads", "BadAnomalySwitch"})


class SettingsOutside(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if not isinstance(node, cst.Call):
            return
        if case in _STATEMENTS and (found := left_out(self.code, node)) is not None:
            yield found
        elif case == "BadThreadCount" and (changes := asked_in_init(self.code, node, "threads")):
            yield Rewrite("ask in `__init__`", changes)
        elif case == "BadDefaultDtype":
            yield from dtype_given(self.code, node)
            yield from dtype_given_in_blocks(self.code, node)
        elif case in _CONTEXTS and isinstance(item := self.code.parent(node), cst.WithItem) and item.asname is None:
            text = f"contextlib.nullcontext() if torch.compiler.is_exporting() else {self.source(node)}"
            imports = ModuleImport("contextlib"), ModuleImport("torch")
            yield Rewrite("enter it in eager only", (Change(node, text), *imports))
            if case == "BadStatefulContext":
                yield from written_out(self.code, node)

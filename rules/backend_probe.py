"""The model asks what the machine has, and takes its way by the answer.

Why: the tracer gets the answer of the machine that exports, once; the program keeps the way that was taken, and runs
it on every machine. Non-strict mode says nothing. Strict mode keeps `torch.cuda.is_available()` and flags such as
`cudnn.benchmark` as silently, and refuses device counts, `torch.backends.….is_available()` and other probes. While
tracing, torch switches `cudnn.enabled` and `mkldnn.enabled` off, so the program goes another way than eager.

Instead: ask the input, which says where it is, or ask in `__init__` and keep the answer as an option of the module.

    if x.is_cuda: ...                                        # instead of torch.cuda.is_available()
    self.fused = torch.cuda.is_available() if fused is None else fused          # in __init__
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Code, Rule, Severity, flat_targets

if TYPE_CHECKING:
    import libcst as cst

_OPTION = "ask the input (`x.is_cuda`, `x.device.type`), or ask in `__init__` and keep the answer as an option"
_ASKS, _ONCE = "`{code}` asks the machine", " that exports, once"
_SETTING, _KEPT = "`{code}` is a setting of the process", "; the program keeps the way that it decided"
_CALLS = {
    "BadAvailable": (
        "torch.cuda.is_available torch.xpu.is_available torch.accelerator.is_available torch.cuda.is_initialized"
        " torch.accelerator.current_accelerator torch.cuda.get_arch_list"
    ),
    "BadDeviceCount": (
        "torch.cuda.device_count torch.xpu.device_count torch.mps.device_count torch.accelerator.device_count"
    ),
    "BadBackendAvailable": (
        "torch.backends.mps.is_available torch.backends.mps.is_built torch.backends.cuda.is_built"
        " torch.backends.cudnn.is_available torch.backends.mkldnn.is_available torch.backends.mkl.is_available"
        " torch.backends.openmp.is_available torch.backends.opt_einsum.is_available torch.mps.is_available"
        " torch.mtia.is_available torch.cpu.is_available"
    ),
    "BadFeature": (
        "torch.cuda.is_bf16_supported torch.cuda.is_tf32_supported torch.backends.cpu.get_cpu_capability"
        " torch.cpu._is_avx2_supported"
    ),
    "BadKernelEnabled": (
        "torch.backends.cuda.flash_sdp_enabled torch.backends.cuda.mem_efficient_sdp_enabled"
        " torch.backends.cuda.math_sdp_enabled torch.backends.cuda.cudnn_sdp_enabled"
    ),
    "BadMemory": "torch.cuda.memory_allocated torch.cuda.max_memory_allocated torch.cuda.memory_reserved",
}
_FLAGS = {
    "BadBackendEnabled": "torch.backends.cudnn.enabled torch.backends.mkldnn.enabled",
    "BadBackendFlag": (
        "torch.backends.cudnn.benchmark torch.backends.cudnn.deterministic torch.backends.cudnn.allow_tf32"
        " torch.backends.cuda.matmul.allow_tf32 torch.backends.mkldnn.deterministic"
    ),
}
_CASE_OF_CALL = {name: case for case, names in _CALLS.items() for name in names.split()}
_CASE_OF_FLAG = {name: case for case, names in _FLAGS.items() for name in names.split()}


class BackendProbe(Rule):
    mended_by = ("made-once",)
    shown_by = ("other-environment",)
    cases: ClassVar = {
        "BadAvailable": Case(_ASKS, _OPTION, in_program=_ONCE),
        "BadDeviceCount": Case(_ASKS, _OPTION, in_program=_ONCE),
        "BadBackendAvailable": Case(_ASKS, _OPTION, in_program=_ONCE),
        "BadFeature": Case(_ASKS, _OPTION, in_program=_ONCE),
        "BadKernelEnabled": Case(_SETTING, "make it an option of the module", in_program=_KEPT),
        "BadMemory": Case(
            "`{code}` is read", "decide by memory outside of the model", in_program=" once, while exporting"
        ),
        "BadBackendEnabled": Case(
            "`{code}` is False while a program is made, whatever it is in eager", "make it an option of the module"
        ),
        "BadBackendFlag": Case(_SETTING, "make it an option of the module", in_program=_KEPT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called or read?"""
        sketch = code.sketch
        flags = {name.rpartition(".")[2] for name in _CASE_OF_FLAG}
        read = (node for node in sketch.nodes(ast.Attribute) if node.attr in flags)
        return not sketch.origins.isdisjoint(_CASE_OF_CALL) or any(sketch.name(node) in _CASE_OF_FLAG for node in read)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._set: set[cst.CSTNode] = set()
        self._combined: set[cst.CSTNode] = set()

    @property
    def _severity(self) -> Severity:
        """Outside of a module's own methods it is a library's switch, which who exports knows."""
        return Severity.WARNING if self.code.cls is not None and self.code.cls.is_module else Severity.NOTE

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        """Beside another condition, a flag may change nothing."""
        self._combined.update((node.left, node.right))

    def visit_Assign(self, node: cst.Assign) -> None:
        self._set.update(flat_targets(node))

    def visit_Call(self, node: cst.Call) -> None:
        if case := _CASE_OF_CALL.get(self.code.name(node.func) or ""):
            self.report(node, case, at_most=self._severity)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node not in self._set and (case := _CASE_OF_FLAG.get(self.code.name(node) or "")):
            decides = case == "BadBackendEnabled" and node not in self._combined and self._severity is Severity.WARNING
            self.report(node, case, at_most=Severity.ERROR if decides else self._severity)

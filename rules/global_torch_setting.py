"""A process-wide setting of torch, or an unusual context manager, inside the model.

Why: settings belong to the process that exports, not to the program. A default dtype that is switched in forward is
lost, in both modes, without a word: the program computes with the usual one. Thread counts, backend flags, anomaly
detection, warning filters, `ExitStack` and Python dispatch modes are refused in strict mode and have no effect on the
program otherwise. `no_grad`, `enable_grad`, `inference_mode`, `autocast` and `record_function` are recorded or
followed, and are fine.

Instead: give dtype and device at the call, and set what concerns the process before the model is called.

    total = torch.zeros(4, dtype=torch.float64, device=x.device)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import CONTAINER_METHODS, Case, Rule, walked

if TYPE_CHECKING:
    from exportlint import Code, FunctionInfo

_CALL = "give dtype and device at the call"
_BEFORE = "set it outside of the model, before it is called"
_CHANGES, _NOT_CARRIED = "`{code}` changes a setting of the process", ", which the program does not carry"
_BY_NAME = {
    "BadDefaultDtype": "torch.set_default_dtype",
    "BadDefaultTensorType": "torch.set_default_tensor_type",
    "BadThreads": "torch.set_num_threads torch.set_num_interop_threads",
    "BadThreadCount": "torch.get_num_threads torch.get_num_interop_threads",
    "BadBackendFlags": (
        "torch.backends.mkldnn.flags torch.backends.cudnn.flags torch.backends.nnpack.flags torch.backends.mkl.verbose"
    ),
    "BadAttentionKernel": "torch.backends.cuda.sdp_kernel",
    "BadAnomalyMode": "torch.autograd.detect_anomaly torch.autograd.anomaly_mode.detect_anomaly",
    "BadAnomalySwitch": "torch.autograd.set_detect_anomaly torch.autograd.anomaly_mode.set_detect_anomaly",
    "BadSavedTensors": "torch.autograd.graph.save_on_cpu torch.autograd.graph.saved_tensors_hooks",
    "BadExitStack": "contextlib.ExitStack contextlib.AsyncExitStack",
    "BadWarningsFilter": "warnings.catch_warnings",
    "BadRedirect": "contextlib.redirect_stdout contextlib.redirect_stderr",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_MODES = frozenset({"torch.utils._python_dispatch.TorchDispatchMode", "torch._subclasses.fake_tensor.FakeTensorMode"})


class GlobalTorchSetting(Rule):
    mended_by = ("interface", "made-once")
    graph_breaks = ("GB0007", "GB0008", "GB0142", "GB0208")
    cases: ClassVar = {
        "BadDefaultDtype": Case(
            "`{code}` changes the default dtype", _CALL, in_program="; the program computes with the usual one"
        ),
        "BadDefaultTensorType": Case(_CHANGES, _CALL, in_program=_NOT_CARRIED),
        "BadDeviceContext": Case("`{code}` sets a default device for a block", _CALL),
        "BadThreads": Case(_CHANGES, _BEFORE, in_program=_NOT_CARRIED),
        "BadThreadCount": Case(
            "`{code}` is the thread count of the process", _BEFORE, in_program=", a constant of the program"
        ),
        "BadBackendFlags": Case(_CHANGES, _BEFORE, in_program=_NOT_CARRIED),
        "BadAttentionKernel": Case(
            _CHANGES, "use `torch.nn.attention.sdpa_kernel`, which is followed", in_program=_NOT_CARRIED
        ),
        "BadAnomalyMode": Case("`{code}` debugs gradients; a program has none", "leave it to the training script"),
        "BadAnomalySwitch": Case("`{code}` debugs gradients; a program has none", "leave it to the training script"),
        "BadSavedTensors": Case(
            "`{code}` changes what autograd keeps; a program has no autograd", "leave it to the training script"
        ),
        "BadDispatchMode": Case("`{code}` sends every operator through Python", "leave the mode outside of the model"),
        "BadExitStack": Case("`{code}` puts contexts together while the model runs", "write the `with` statements out"),
        "BadWarningsFilter": Case("`{code}` filters warnings of the process", _BEFORE),
        "BadRedirect": Case("`{code}` catches what the process prints", _BEFORE),
        "BadStatefulContext": Case(
            "the context manager `{code}` keeps something from call to call",
            "return what is measured, keep counts in a buffer, or enter it only when not"
            " `torch.compiler.is_compiling()`",
            in_program="; the program never does it",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a setting changed, or a context of the project's own entered?"""
        sketch = code.sketch
        contexts = [item.context_expr for node in sketch.nodes(ast.With) for item in node.items]
        return not sketch.origins.isdisjoint(_CASE_OF) or any(
            isinstance(node, ast.Call) and (sketch.value(node).cls or sketch.name(node.func) == "torch.device")
            for node in contexts
        )

    def visit_Call(self, node: cst.Call) -> None:
        if case := _CASE_OF.get(self.code.name(node.func) or ""):
            self.report(node, case)

    def visit_With(self, node: cst.With) -> None:
        for item in node.items:
            if isinstance(item.item, cst.Call):
                self._context(item.item)

    def _context(self, call: cst.Call) -> None:
        if self.code.name(call.func) == "torch.device":
            self.report(call, "BadDeviceContext")
            return
        value = self.code.value(call)
        if value.cls is None:
            return
        if any(base in _MODES for base in value.cls.foreign_bases):
            self.report(call, "BadDispatchMode")
        elif any(_keeps(method) for name in ("__enter__", "__exit__") if (method := value.cls.method(name))):
            self.report(call, "BadStatefulContext")


def _keeps(method: FunctionInfo) -> bool:
    """Does the method add to a container that it got, as in `self.sink.append(...)`?"""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CONTAINER_METHODS
        and isinstance(node.func.value, ast.Attribute)
        for node in walked(method.node)
    )

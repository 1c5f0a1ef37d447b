"""TorchScript around a model: tracing keeps one way, scripted parts cannot be exported.

Why: `torch.jit.trace` records the operators of one run; where forward branches on data, the other branch is gone and
only a warning says so. Modules that are scripted, traced or derived from `ScriptModule` are refused as a whole or when
forward reaches them, and `torch.jit.fork` is refused in strict mode. The marks that libraries carry along
(`@torch.jit.ignore`, `unused`, `export`, `is_scripting()`, scripted functions, `annotate`, `Final`) are followed.

Instead: export the eager module.

    program = torch.export.export(model.eval(), (x,))             # instead of torch.jit.trace / torch.jit.script
    y = self.linear(x)                                            # instead of torch.jit.fork / wait
"""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, ScriptRule, Severity, Visitor, argument, called

_EAGER = "keep the eager module and export it"
_SCRIPTS = frozenset({"torch.jit.script", "torch.jit.load", "torch.jit.freeze", "torch.jit.optimize_for_inference"})
_TRACES = frozenset({"torch.jit.trace", "torch.jit.trace_module"})
_TASKS = frozenset({"torch.jit.fork", "torch.jit.wait", "torch.jit._fork", "torch.jit._wait"})
_DATA = frozenset(
    {"sum", "any", "all", "max", "min", "mean", "item", "norm", "equal", "allclose", "isnan", "argmax", "count_nonzero"}
)


class TorchscriptRemnant(ScriptRule):
    words = (
        r"\bjit\.(trace|script|load|freeze|_?fork|_?wait|isinstance|optimize)|from torch.jit import|ScriptModule"
        r"|script_method"
    )
    graph_breaks = ("GB4695", "GB0007", "GB0008")
    torch_says = (r"torch\.jit\.script/freeze modules unsupported",)
    cases: ClassVar = {
        "BadTraceOfBranch": Case(
            "`{code}` records one run, but `forward` branches on data in line {line}: the other branch is lost",
            "export with torch.export, which refuses instead of losing a branch, and use `torch.cond` or `torch.where`",
        ),
        "BadScriptModule": Case(
            "`{name}` is a method of a ScriptModule", "derive from `torch.nn.Module` and drop the decorator"
        ),
        "BadScriptedSubmodule": Case("`{code}` makes a TorchScript submodule", _EAGER),
        "BadTracedSubmodule": Case("`{code}` makes a traced submodule", _EAGER),
        "BadFork": Case("`{code}` starts or awaits a TorchScript task", "call the function"),
        "BadJitIsinstance": Case(
            "`{code}` is TorchScript's type test", "use `isinstance` on the container and its elements"
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is anything of torch.jit called, or a method of a ScriptModule written?"""
        called = _SCRIPTS | _TRACES | _TASKS | {"torch.jit.isinstance"}
        return not called.isdisjoint(code.sketch.origins) or "script_method" in code.module.parsed.text

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._modules: list[bool] = []
        self._method: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        super().visit_ClassDef(node)
        self._modules.append(self.is_module_class(node) is True or self._is_script_module(node))

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        super().leave_ClassDef(original_node)
        self._modules.pop()

    def _is_script_module(self, node: cst.ClassDef) -> bool:
        return any(self.code.name(base.value) == "torch.jit.ScriptModule" for base in node.bases)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        super().visit_FunctionDef(node)
        self._method.append(node.name.value)
        if any(self.code.name(decorator.decorator) == "torch.jit.script_method" for decorator in node.decorators):
            self.report(node.name, "BadScriptModule", name=node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        super().leave_FunctionDef(original_node)
        self._method.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        """`self.head = torch.jit.script(...)` in a module."""
        on_self = any(isinstance(t.target, cst.Attribute) and _is_self(t.target.value) for t in node.targets)
        if on_self and self._modules and self._modules[-1] and isinstance(node.value, cst.Call):
            name = self.code.name(node.value.func) or ""
            if name in _SCRIPTS and not self._scripts_function(node.value):
                self.report(node.value, "BadScriptedSubmodule")
            elif name in _TRACES:
                self.report(node.value, "BadTracedSubmodule")

    def _scripts_function(self, call: cst.Call) -> bool:
        """A scripted function is looked through, a scripted module is not."""
        given = self.bound(call.args[0].value) if call.args else None
        return isinstance(given, cst.FunctionDef | cst.Lambda) or (
            isinstance(given, cst.Attribute) and _is_self(given.value)
        )

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        in_module = bool(self._modules and self._modules[-1] and self._method)
        if name in _TRACES:
            self._trace(node)
        elif name in _TASKS:
            in_forward = in_module and self._method[-1] == "forward"
            self.report(node, "BadFork", at_most=Severity.ERROR if in_forward else Severity.WARNING)
        elif name == "torch.jit.isinstance" and in_module:
            self.report(node, "BadJitIsinstance")

    def _trace(self, node: cst.Call) -> None:
        target = argument(node, 0, "func") or argument(node, 0, "mod")
        cls = self.local_class(self.unchained(target)[0]) if target is not None else None
        branch = _branch_on_data(cls) if cls else None
        if branch is not None:
            self.report(node, "BadTraceOfBranch", line=str(self.code.place(branch).line))


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"


def _branch_on_data(cls: cst.ClassDef) -> cst.CSTNode | None:
    """The first test in the class's forward that reduces a tensor: `x.sum() > 0`, `mask.any()`."""
    for line in cls.body.body:
        if isinstance(line, cst.FunctionDef) and line.name.value == "forward":
            line.body.visit(tests := _Tests())
            return tests.found
    return None


class _Tests(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: cst.CSTNode | None = None

    def visit_If(self, node: cst.If) -> None:
        self._look(node.test)

    def visit_While(self, node: cst.While) -> None:
        self._look(node.test)

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._look(node.test)

    def _look(self, test: cst.BaseExpression) -> None:
        test.visit(reduces := _Reduces())
        if reduces.yes and self.found is None:
            self.found = test


class _Reduces(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.yes = False

    def visit_Call(self, node: cst.Call) -> None:
        self.yes = self.yes or (isinstance(node.func, cst.Attribute) and called(node) in _DATA)

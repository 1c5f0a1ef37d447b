"""TorchScript around a model: tracing keeps one way, scripted parts cannot be exported.

Why: `torch.jit.trace` records the operators of one run; where forward, or a submodule's, branches on data, the other
branch is gone and only a warning says so; a trial of the script that traces shows two inputs that disagree. Modules
that are scripted, traced, frozen or derived from `ScriptModule` are refused as a whole or when forward reaches them,
and `torch.jit.fork` is refused in strict mode. torch 2.13 warns at `torch.jit.script`, `trace`, `freeze`, `save` and
`load` that they will go, and does not trace the wrapper of `torch.compile`.

The marks that libraries carry along mean nothing to torch.export, which follows the code: `@torch.jit.ignore` and
`unused` methods are traced where forward calls them, `is_scripting()` is False, scripted functions, `annotate` and
`Final` are looked through. Scripted functions are noted once in a file, the others only in a file that scripts or
traces something else, or where they change what one gets: methods with `@torch.jit.export` are no entries of the
program, which has forward only.

Instead: export the eager module.

    program = torch.export.export(model.eval(), (x,))             # instead of torch.jit.trace / script / freeze
    torch.export.save(program, "model.pt2")                       # instead of torch.jit.save; torch.export.load
    y = self.linear(x)                                            # instead of torch.jit.fork / wait
    if not torch.compiler.is_exporting(): …                       # instead of torch.jit.is_scripting()
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import (
    Case,
    ClassInfo,
    Code,
    FunctionInfo,
    Instead,
    Kind,
    ScriptRule,
    Severity,
    argument,
    functions_below,
    last_name,
    walked,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_EAGER = Instead("keep the eager module and export it", compiled="keep the eager module and compile it")
_EXPORT = "export the eager module: `torch.export.export(model.eval(), args)`"
_FREEZES = frozenset({"torch.jit.freeze", "torch.jit.optimize_for_inference"})
_SCRIPTS = frozenset({"torch.jit.script", "torch.jit.load", *_FREEZES})
_TRACES = frozenset({"torch.jit.trace", "torch.jit.trace_module"})
_TASKS = frozenset({"torch.jit.fork", "torch.jit.wait", "torch.jit._fork", "torch.jit._wait"})
# Methods that make one number of a tensor's values, or tell something of them.
_DATA = frozenset(
    {
        "sum",
        "any",
        "all",
        "max",
        "min",
        "mean",
        "item",
        "norm",
        "equal",
        "allclose",
        "isnan",
        "isinf",
        "isfinite",
        "argmax",
        "argmin",
        "count_nonzero",
        "nonzero",
        "amax",
        "amin",
        "std",
        "var",
        "prod",
        "median",
        "quantile",
        "logsumexp",
        "is_nonzero",
        "tolist",
        "unique",
    }
)
# What a test asks of Python, and not of data.
_PYTHON = re.compile(r"\btraining\b|\bis_(tracing|scripting|exporting|compiling)\b|\brequires_grad\b|\bdtype\b")
_CALLED = {
    "torch.jit.load": "BadLoaded",
    "torch.jit.save": "BadSaved",
    "torch.jit.freeze": "BadFrozen",
    "torch.jit.optimize_for_inference": "BadOptimized",
}
_ADVICE = {"torch.jit.is_scripting": "GoodIsScripting"}
_MARKS = {
    "torch.jit.script": "GoodScriptedHelper",
    "torch.jit.export": "GoodExportMark",
    "torch.jit.ignore": "GoodIgnored",
    "torch.jit.unused": "GoodIgnored",
    "torch.jit.script_if_tracing": "GoodScriptIfTracing",
    "torch.jit._script_if_tracing": "GoodScriptIfTracing",
    "torch.jit.script_method": "BadScriptModule",
}


class TorchscriptRemnant(ScriptRule):
    mended_by = ("for-torchscript", "without-torchscript", "templates")
    mends_notes = True
    words = (
        r"jit\.(trace|script|load|save|freeze|_?fork|_?wait|isinstance|optimize|ignore|unused|export|is_scripting)"
        r"|from torch.jit import|from torch import .*\bjit\b|ScriptModule|script_method|_script_if_tracing"
    )
    checks = ("jit-trace",)
    graph_breaks = ("GB4695", "GB0007", "GB0008")
    torch_says = (r"torch\.jit\.script/freeze modules unsupported",)
    cases: ClassVar = {
        "BadTraceOfBranch": Case(
            "`{code}` records one run, but `{where}` branches on data in {line}: the other branch is lost",
            "export with torch.export, which refuses instead of losing a branch, and use `torch.cond` or `torch.where`",
        ),
        "BadScriptModule": Case(
            "`{name}` is a method of a ScriptModule", "derive from `torch.nn.Module` and drop the decorator"
        ),
        "BadScripted": Case("`{code}` makes a TorchScript module", _EXPORT),
        "BadFrozen": Case("`{code}` makes a TorchScript module with its weights as constants", _EXPORT),
        "BadOptimized": Case("`{code}` makes a TorchScript module for this machine", _EXPORT),
        "BadTraced": Case("`{code}` records one run as a TorchScript module", _EXPORT),
        "BadTracedCompiled": Case(
            "`{code}` traces the wrapper of `torch.compile`",
            "give the module to `torch.export.export(model.eval(), args)`, which takes it with the wrapper as well",
        ),
        "BadSaved": Case("`{code}` saves TorchScript", "save the exported program: `torch.export.save(program, path)`"),
        "BadLoaded": Case(
            "`{code}` loads TorchScript, which cannot be exported",
            "export the eager module, keep it with `torch.export.save`, call `torch.export.load(path).module()`",
        ),
        "GoodExportMark": Case(
            "the model is exported without `{name}`, which is an entry of its own in TorchScript only",
            "for `{name}`, export a small `nn.Module` whose forward calls it",
        ),
        "GoodExportMarkCalled": Case(
            "`{name}` is in the program where forward calls it, and no entry of its own as in TorchScript",
            "drop the mark; to call `{name}` alone, export a small `nn.Module` whose forward calls only it",
        ),
        "GoodIgnored": Case(
            "`@{mark}` means nothing to torch.export, which traces `{name}` where forward calls it",
            "drop the mark; what the tracer is not to follow, make an operator with `torch.library.custom_op`",
        ),
        "GoodIsScripting": Case(
            "`{code}` is False while torch.export traces: what it keeps from TorchScript is in the program",
            "write `torch.compiler.is_exporting()` for what only export is to take or leave",
        ),
        "GoodScriptIfTracing": Case(
            "torch.export traces `{name}` as plain Python, without scripting it",
            "drop the mark; a branch on data in it is to be `torch.cond`, such a loop `while_loop`",
        ),
        "GoodScriptedHelper": Case(
            "torch.export looks through `{name}`, which is scripted; torch warns that `torch.jit.script` will go",
            "drop the mark: the plain function exports",
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
        """Is anything of torch.jit called, or a function marked for it in a way that changes something?

        Libraries mark many functions for nobody's sake, and to parse such a file costs more than all else here.
        """
        called = {*_SCRIPTS, *_TRACES, *_TASKS, *_CALLED, "torch.jit.isinstance"}
        names = {name.rpartition(".")[2] for name in called}
        names |= {name for name, origin in code.module.imports.items() if origin in called}
        calls = (call.func for call in code.sketch.nodes(ast.Call) if last_name(call.func) in names)
        if any(code.sketch.name(func) in called for func in calls):
            return True
        return any(
            case != "GoodIgnored" or _calls_on_self(code, function.name)
            for function in code.sketch.nodes(ast.FunctionDef)
            for case in _cases_of_marks(function, code)
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._modules: list[bool] = []
        self._method: list[str] = []
        self._submodules: set[cst.CSTNode] = set()
        self._advised: set[str] = set()
        self._has_torchscript = _has_torchscript(code)

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
        for decorator in node.decorators:
            inner = decorator.decorator
            mark = self.code.name(inner.func if isinstance(inner, cst.Call) else inner) or ""
            if mark in _MARKS:
                self._marked(node.name, _MARKS[mark], mark)

    def _marked(self, name: cst.Name, case: str, mark: str) -> None:
        if case == "GoodIgnored":
            self._advise(name, case, mark=mark, always=_calls_on_self(self.code, name.value))
        elif case in {"GoodScriptIfTracing", "GoodScriptedHelper"}:
            self._advise(name, case, always=True)
        elif case == "BadScriptModule":
            self.report(name, case, name=name.value)
        elif self._modules[-1:] == [True]:
            is_called = _calls_on_self(self.code, name.value)
            called = "GoodExportMarkCalled" if is_called else "GoodExportMark"
            self.report(name, called, at_most=Severity.NOTE, name=name.value)

    def _advise(self, node: cst.CSTNode, case: str, *, mark: str = "", always: bool = False) -> None:
        """Note what torch exports well once in a file, where somebody comes from TorchScript."""
        if (always or self._has_torchscript) and case + mark not in self._advised:
            self._advised.add(case + mark)
            self.report(node, case, at_most=Severity.NOTE, mark=mark, name=self.code.text(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        super().leave_FunctionDef(original_node)
        self._method.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        """`self.head = torch.jit.script(...)` in a module."""
        on_self = any(isinstance(t.target, cst.Attribute) and _is_self(t.target.value) for t in node.targets)
        if on_self and self._modules and self._modules[-1] and isinstance(node.value, cst.Call):
            name = self.code.name(node.value.func) or ""
            self._submodules.add(node.value)
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
        name = self.name_of(node.func) or ""
        in_module = bool(self._modules and self._modules[-1] and self._method)
        if name in _TRACES | _SCRIPTS | _CALLED.keys():
            self._made(node, name)
        elif name in _ADVICE:
            self._advise(node, _ADVICE[name])
        elif name in _TASKS:
            in_forward = in_module and self._method[-1] == "forward"
            self.report(node, "BadFork", at_most=Severity.ERROR if in_forward else Severity.WARNING)
        elif name == "torch.jit.isinstance" and in_module:
            self.report(node, "BadJitIsinstance")

    def _made(self, node: cst.Call, name: str) -> None:
        if name in _TRACES:
            self._trace(node)
        elif node not in self._submodules and (name in _CALLED or not self._scripts_function(node)):
            self.report(node, _CALLED.get(name, "BadScripted"), at_most=Severity.NOTE)

    def _trace(self, node: cst.Call) -> None:
        target = argument(node, 0, "func") or argument(node, 0, "mod")
        if target is None:
            return
        functions = functions_below(self._entries(target))
        branches = [(function, *found) for function in functions for found in _branches_on_data(function, self.code)]
        if branches:
            function, line, at_most = min(branches, key=lambda one: one[2].rank)
            where = self._line(function, line)
            self.report(node, "BadTraceOfBranch", at_most=at_most, where=_shown(function), line=where)
            return
        origin = self.unchained(target)[0]
        if isinstance(origin, cst.Call) and self.code.name(origin.func) == "torch.compile":
            self.report(node, "BadTracedCompiled")
        elif node not in self._submodules:
            self.report(node, "BadTraced", at_most=Severity.NOTE)

    def _entries(self, target: cst.CSTNode) -> Iterator[ClassInfo | FunctionInfo]:
        """The model's class, and those of the models that it is made around: `Wrapper(Net())`; a function, a method."""
        made = self.unchained(target)[0]
        match made:
            case cst.Call(args=args):
                calls = [made, *(self.unchained(arg.value)[0] for arg in args)]
                found = (self._class_of(call) for call in calls if isinstance(call, cst.Call))
                yield from (cls for cls in found if cls is not None and cls.is_module)
            case cst.FunctionDef(name=cst.Name(value=name)) if name in self.code.module.functions:
                yield self.code.module.functions[name]
            case cst.Attribute(value=owner, attr=cst.Name(value=name)):
                origin = self.unchained(owner)[0]
                cls = self._class_of(origin) if isinstance(origin, cst.Call) else None
                if cls is not None and (method := cls.method(name)):
                    yield method

    def _class_of(self, call: cst.Call) -> ClassInfo | None:
        local, module = self.local_class(call), self.code.module
        if local is not None:
            return module.classes.get(local.name.value)
        found = module.project.find(self.code.name(call.func) or "")
        return found if isinstance(found, ClassInfo) else None

    def _line(self, function: FunctionInfo, line: int) -> str:
        here = function.module is self.code.module
        return f"line {line}" if here else f"{function.module.path.name}:{line}"


def _has_torchscript(code: Code) -> bool:
    """Does the file script, trace, save or load something other than functions of its own?"""
    functions = {node.name for node in code.sketch.nodes(ast.FunctionDef)}
    made = (call.node.args for call in code.sketch.calls if call.origin in _TRACES | _SCRIPTS | _CALLED.keys())
    return any(not args or not _is_function(args[0], functions) for args in made)


def _is_function(node: ast.expr, functions: set[str]) -> bool:
    return isinstance(node, ast.Lambda) or (isinstance(node, ast.Name) and node.id in functions)


def _cases_of_marks(function: ast.FunctionDef, code: Code) -> Iterator[str]:
    """What the marks of TorchScript on a function are told as."""
    for decorator in function.decorator_list:
        mark = code.sketch.name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if mark in _MARKS:
            yield _MARKS[mark]


def _calls_on_self(code: Code, name: str) -> bool:
    """Is `self.name(…)` called in the file, by another method than a constructor?"""
    called = (call for call in code.sketch.nodes(ast.Call) if last_name(call.func) == name)
    owners = ((call.lineno, call.func.value) for call in called if isinstance(call.func, ast.Attribute))
    lines = [line for line, owner in owners if isinstance(owner, ast.Name) and owner.id == "self"]
    made = [node for node in code.sketch.nodes(ast.FunctionDef) if node.name == "__init__"]
    return any(not any(node.lineno <= line <= (node.end_lineno or 0) for node in made) for line in lines)


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"


def _shown(function: FunctionInfo) -> str:
    return f"{function.cls.name}.{function.name}" if function.cls else function.name


def _branches_on_data(function: FunctionInfo, code: Code) -> Iterator[tuple[int, Severity]]:
    """The lines of its tests of data, `x.sum() > 0`, `mask.any()`, as sure as each is; a scripted function keeps both
    ways."""
    if any(name.startswith(("torch.jit.", "torch.library.")) for name in function.decorators):
        return
    known = function.module is code.module
    tests = (test for test in _tests(function.node) if not _PYTHON.search(ast.unparse(test)))
    for test in tests:
        if severity := _reads_data(test, code if known else None):
            yield test.lineno, severity


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    """In the order of the source; not behind a test of the mode or of the tracer itself. `range(n)` is a test of n."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test
                if _PYTHON.search(ast.unparse(test)):
                    continue
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=args)):
                yield from args
        yield from _tests(child)


def _reads_data(test: ast.expr, code: Code | None) -> Severity | None:
    """What the engine knows of it decides; elsewhere a method of this name makes it likely."""
    value = code.sketch.value(test) if code else None
    if value is not None and value.kind is not Kind.UNKNOWN:
        return Severity.ERROR if value.is_data else None
    calls = (node.func for node in walked(test) if isinstance(node, ast.Call))
    named = any(isinstance(func, ast.Attribute) and func.attr in _DATA for func in calls)
    return Severity.WARNING if named else None

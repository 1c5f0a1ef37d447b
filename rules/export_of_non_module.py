"""Something that is no eager `nn.Module` is given to export.

Why: torch.export takes instances of `nn.Module` only, because the program's parameters are the module's. A bound
method, a function, a partial application, a class, a TorchScript module or a program that was exported before is
refused in the first line of the call. A submodule, an `nn.Sequential` or the wrapper of `torch.compile` is fine.

Instead: put the method into the forward of a small module. A predictor that is no module itself is held together with
the modules that it uses: the weights of a module that the wrapper does not hold become constants of the program in
non-strict mode, and strict mode refuses.

    class Predict(torch.nn.Module):
        def __init__(self, predictor):
            super().__init__()
            self.predictor = predictor
            self.model = predictor.model    # a module: without this line its weights are no parameters

        def forward(self, x):
            return self.predictor.predict(x)

    torch.export.export(Predict(predictor).eval(), (x,))
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, ScriptRule, Severity, Visitor, dotted

if TYPE_CHECKING:
    from exportlint import Code

_WRAP = "export a small `nn.Module` whose forward calls it"
_HOLD = (
    f"{_WRAP}, and which holds the modules of `{{owner}}` too, {{held}}:"
    " weights that no module holds become constants of the program, and strict mode refuses"
)
_EAGER = "export the eager module instead"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Attributes that are methods on whatever has them.
_METHODS = frozenset(
    {"forward", "generate", "predict", "call", "predict_step", "forward_features", "infer", "inference"}
)
_FORWARDS = frozenset({"forward", "__call__", "forward_features"})
# By whether the class is a module.
_METHOD_OF = {True: "BadModelMethod", False: "BadMethod", None: "BadUnknownMethod"}
_LIKELY = frozenset({"encode", "decode", "encode_image", "encode_text", "transform", "sample", "score", "embed", "run"})
_SCRIPTED = {
    "torch.jit.script": "BadScripted",
    "torch.jit.load": "BadScripted",
    "torch.jit.freeze": "BadScripted",
    "torch.jit.optimize_for_inference": "BadScripted",
    "torch.jit.trace": "BadTraced",
    "torch.jit.trace_module": "BadTraced",
    "functools.partial": "BadPartial",
    "torch.export.export": "BadProgram",
    "torch.export.load": "BadProgram",
}


class ExportOfNonModule(ScriptRule):
    mended_by = ("interface", "without-torchscript")
    words = r"torch\.export|from torch import .*\bexport\b"
    torch_says = (r"Expected `mod` to be an instance of", r"Exporting a ScriptModule is not supported")
    cases: ClassVar = {
        "BadMethod": Case("`{target}` is a bound method of an object that is no `nn.Module`", _HOLD),
        "BadModelMethod": Case("`{target}` is a bound method of the model", _WRAP),
        "BadUnknownMethod": Case(
            "`{target}` is a bound method",
            f"{_WRAP}; if `{{owner}}` is no module itself, let the wrapper hold its modules too, {{held}},"
            " or their weights become constants of the program",
        ),
        "BadForward": Case(
            "`{target}` is a bound method", "export the module itself, or a small module whose forward calls it"
        ),
        "BadFunction": Case("`{target}` is a function", _WRAP),
        "BadTorchFunction": Case("`{target}` is a function of torch", _WRAP),
        "BadLambda": Case("`{target}` is a lambda", _WRAP),
        "BadPartial": Case("`{target}` is a partial application", _WRAP),
        "BadScripted": Case("`{target}` is a TorchScript module", _EAGER),
        "BadTraced": Case("`{target}` is a traced module", _EAGER),
        "BadClass": Case("`{target}` is a class", "make an instance: `{target}()`"),
        "BadObject": Case("`{target}` is no `nn.Module`", _HOLD),
        "BadCompiledFunction": Case("`{target}` is a compiled function", _WRAP),
        "BadProgram": Case("`{target}` is an exported program", "export the module, or `{target}.module()`"),
        "BadStateDict": Case("`{target}` is a dictionary of weights", "build the module and load them"),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._classes: list[cst.ClassDef] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        super().visit_ClassDef(node)
        self._classes.append(node)

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        super().leave_ClassDef(original_node)
        self._classes.pop()

    def visit_Call(self, node: cst.Call) -> None:
        target = self.exported(node)
        if target is None:
            return
        origin, _ = self.unchained(target)
        if case := self._case_of(target):
            object_ = origin.value if isinstance(origin, cst.Attribute) else target
            owner, held = self._holding(object_)
            self.report(node, case, target=self.code.text(target), owner=owner, held=held)
        elif isinstance(origin, cst.Attribute) and origin.attr.value in _LIKELY and not _on_self(origin):
            self.report(node, "BadForward", at_most=Severity.WARNING, target=self.code.text(target))

    def _holding(self, node: cst.BaseExpression) -> tuple[str, str]:
        """What the wrapper calls the object whose method is exported, and how it takes over a module of it."""
        if _is_self(node):
            cls = self._classes[-1] if self._classes else None
        else:
            cls = self.local_class(self.unchained(node)[0])
        owner = self.code.text(node)
        if cls and (_is_self(node) or not isinstance(node, cst.Name)):
            owner = _CAPITAL.sub("_", cls.name.value).lower()
        kept = self._modules_of(cls) if cls else []
        held = " and ".join(f"`self.{name} = {owner}.{name}`" for name in kept[:2])
        return owner, f"as in {held}" if held else "as attributes of its own"

    def _modules_of(self, cls: cst.ClassDef) -> list[str]:
        """The attributes that an object sets to modules, or sets and calls."""
        found = _Kept()
        for line in self._lines_of(cls):
            line.visit(found)
        methods = {line.name.value for line in self._lines_of(cls) if isinstance(line, cst.FunctionDef)}
        return [
            name
            for name, value in found.set.items()
            if name not in methods and (name in found.called or self._makes_module(value))
        ]

    def _makes_module(self, value: cst.BaseExpression) -> bool:
        origin, _ = self.unchained(value)
        if not isinstance(origin, cst.Call):
            return False
        cls, name = self.local_class(origin), self.code.name(origin.func) or ""
        is_library = name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
        return is_library or (cls is not None and self.is_module_class(cls) is True)

    def _case_of(self, node: cst.CSTNode) -> str | None:
        node, _ = self.unchained(node)
        match node:
            case cst.Lambda():
                return "BadLambda"
            case cst.FunctionDef(decorators=()):
                return "BadFunction"
            case cst.ClassDef():
                return "BadClass"
            case cst.Attribute():
                return self._attribute(node)
            case cst.Call():
                return self._call(node)
            case cst.Name():
                return self._library(node)
        return None

    def _attribute(self, node: cst.Attribute) -> str | None:
        name = node.attr.value
        owner, _ = self.unchained(node.value)
        cls = self._classes[-1] if self._classes and _on_self(node) else self.local_class(owner)
        lines = self._lines_of(cls) if cls else []
        defined = [line for line in lines if isinstance(line, cst.FunctionDef) and line.name.value == name]
        if cls and defined and not any(map(_is_property, defined)):
            return _METHOD_OF[self.is_module_class(cls)] if name != "forward" else "BadForward"
        if name.strip("_") not in _METHODS or defined or self.code.name(node) or _is_set(lines, name):
            return self._library(node)
        return "BadForward" if name in _FORWARDS else "BadUnknownMethod"

    def _lines_of(self, cls: cst.ClassDef) -> list[cst.BaseStatement | cst.BaseSmallStatement]:
        """What stands in the bodies of a class and of its bases in the file."""
        bases = (base for base in self.bases(cls) if isinstance(base, cst.ClassDef))
        return [line for one in (cls, *bases) for line in one.body.body]

    def _library(self, node: cst.CSTNode) -> str | None:
        """`torch.relu`, `nn.functional.gelu`, `nn.Linear`: lower case names are functions, the others classes."""
        name = self.code.name(node) or ""
        last = name.rpartition(".")[2]
        if name.startswith("torch.") and last[:1].isalpha():
            return "BadClass" if last[0].isupper() else "BadTorchFunction"
        return None

    def _call(self, node: cst.Call) -> str | None:
        name = self.code.name(node.func) or ""
        if name == "torch.compile" and node.args:
            inner = self._case_of(node.args[0].value)
            return "BadCompiledFunction" if inner else None
        if name in _SCRIPTED:
            return _SCRIPTED[name]
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "state_dict":
            return "BadStateDict"
        cls = self.local_class(node)
        return "BadObject" if cls and self.is_module_class(cls) is False else None


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"


def _on_self(node: cst.Attribute) -> bool:
    return _is_self(node.value)


def _is_property(method: cst.FunctionDef) -> bool:
    return any((dotted(decorator.decorator) or "").endswith("property") for decorator in method.decorators)


def _is_set(lines: list[cst.BaseStatement | cst.BaseSmallStatement], name: str) -> bool:
    """Is `self.name = …` written in one of the methods?"""
    for line in lines:
        line.visit(targets := _Targets())
        if name in targets.found:
            return True
    return False


class _Kept(Visitor):
    """The attributes that are set on self, with what the first assignment sets; those that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.set: dict[str, cst.BaseExpression] = {}
        self.called: set[str] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, cst.Attribute) and _on_self(target.target):
                self.set.setdefault(target.target.attr.value, node.value)

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute) and _on_self(node.func):
            self.called.add(node.func.attr.value)


class _Targets(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        if isinstance(node.target, cst.Attribute) and _on_self(node.target):
            self.found.add(node.target.attr.value)

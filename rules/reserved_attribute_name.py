"""A layer or tensor of the exported model has a name that the graph of the program needs for itself.

Why: what export gives is a `torch.fx.GraphModule`, and gets the model's layers, parameters and buffers under the names
that they have in the model. A layer named `code` or `graph` meets the attribute of that name: "Node code_weight target
code.weight references nonexistent attribute", "attribute 'code' already exists". Layers without weights, and parts of
the model one level down, may be named so.

Instead: another name. State dicts that were saved before are loaded by renaming their keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Rule, Scope, Severity, called, flat_targets

if TYPE_CHECKING:
    from exportlint import Code

# Found by exporting a model with a layer of each name that GraphModule has and Module has not.
_RESERVED = frozenset(
    {"code", "graph", "meta", "shape_env", "recompile", "print_readable", "to_folder", "_graph", "_code"}
    | {"add_submodule", "delete_submodule", "delete_all_unused_submodules"}
)
_NAMES = "|".join(sorted(_RESERVED))
_ANOTHER = "give it another name"
_WEIGHTLESS = re.compile(
    r"torch\.nn\.((?!PReLU)\w*(ReLU|Pool\w*|Dropout\w*|Sigmoid|Tanh|GELU|SiLU|Identity|Flatten|Softmax))$"
)
_HOLDERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"})
_REGISTER = {"register_buffer": "BadBuffer", "register_parameter": "BadParameter", "add_module": "BadLayer"}


class ReservedAttributeName(Rule):
    mended_by = ("interface",)
    scope = Scope.FILE
    words = (
        rf"self\.({_NAMES})\s*(:[^=\n]+)?=[^=]|(register_buffer|register_parameter|add_module)\(\s*[\"']({_NAMES})\b"
    )
    torch_says = (
        rf"target ({_NAMES})\.\S+ references nonexistent attribute",
        rf"attribute '({_NAMES})' already exists",
    )
    cases: ClassVar = {
        "BadLayer": Case("the layer `{name}` has the name of something that every exported graph has", _ANOTHER),
        "BadLayerList": Case("the layers `{name}` have the name of something that every exported graph has", _ANOTHER),
        "BadParameter": Case(
            "the parameter `{name}` has the name of something that every exported graph has", _ANOTHER
        ),
        "BadBuffer": Case("the buffer `{name}` has the name of something that every exported graph has", _ANOTHER),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._at_most: list[Severity | None] = []  # of the classes around; None: it is a part, or no module

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        cls = self.code.module.classes.get(node.name.value)
        if cls is None or not cls.is_module or _is_built_by_another(self.code, node.name.value):
            self._at_most.append(None)
        else:  # what nobody builds here may be a part of what another file builds
            self._at_most.append(Severity.ERROR if _is_built_alone(self.code, cls.name) else Severity.WARNING)

    def leave_ClassDef(self, node: cst.ClassDef) -> None:
        del node
        self._at_most.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            self._assigned(node, target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value:
            self._assigned(node, node.target, node.value)

    def _assigned(self, node: cst.CSTNode, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        match target:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)) if name in _RESERVED:
                self._judge(node, name, _case_of(self.code, value))

    def visit_Call(self, node: cst.Call) -> None:
        match node:
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value="self")), args=[cst.Arg(value=cst.SimpleString() as said), *_]
            ) if (name := str(said.evaluated_value)) in _RESERVED:
                self._judge(node, name, _REGISTER.get(called(node) or ""))

    def _judge(self, node: cst.CSTNode, name: str, case: str | None) -> None:
        at_most = self._at_most[-1] if self._at_most else None
        if case and at_most:
            self.report(node, case, name=name, at_most=at_most)


def _is_built_by_another(code: Code, name: str) -> bool:
    """Is it a part of another class of the file, or a base of one? Parts may have these names."""
    others = (cls for cls in code.module.classes.values() if cls.name != name)
    return any(re.search(rf"\b{name}\b", _text_of(code, cls.node.lineno, cls.node.end_lineno or 0)) for cls in others)


def _is_built_alone(code: Code, name: str) -> bool:
    """Does code outside of classes build it, such as the function that returns the model?"""
    lines = [*code.module.parsed.lines]
    for cls in sorted(code.module.classes.values(), key=lambda cls: -cls.node.lineno):
        del lines[cls.node.lineno - 1 : cls.node.end_lineno]
    return re.search(rf"\b{name}\(", "\n".join(lines)) is not None


def _text_of(code: Code, first: int, last: int) -> str:
    return "\n".join(code.module.parsed.lines[first - 1 : last])


def _case_of(code: Code, value: cst.BaseExpression) -> str | None:
    """What is assigned, where its class shows that it has weights."""
    name = code.name(value.func) or "" if isinstance(value, cst.Call) else ""
    if name in _HOLDERS:
        return "BadLayerList"
    if name == "torch.nn.Parameter":
        return "BadParameter"
    last = name.rpartition(".")[2]
    made = code.module.project.find(name) if name else None
    is_layer = name.startswith("torch.nn.") and last[:1].isupper() and not _WEIGHTLESS.match(name)
    return "BadLayer" if is_layer or getattr(made, "is_module", False) else None

"""A module is taken apart, rearranged or converted while forward runs.

Why: the program holds the layers in the order and with the weights that tracing met. Attributes deleted, submodules
replaced, layers swapped or dropped by a call change the next eager call, never the program, and torch says nothing.
Moving a submodule (`self.lin.to(device)`, `.double()`) swaps weights that are being traced: refused in
non-strict mode, even when the submodule is where it should be. Train and eval mode are followed by the trace.

Instead: prepare the module in `__init__` or before the export; convert inputs instead of layers
(`x.to(weight.dtype)`); compute with a changed weight instead of storing it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Kind, Rule, called, flat_targets

if TYPE_CHECKING:
    from exportlint import Code, Sketch

_BEFORE = Instead(
    "prepare the module in `__init__` or before the export",
    shown_in="GoodPrepared",
    compiled="prepare the module in `__init__` or before it is compiled",
)
_TABLES = frozenset({"_modules", "_parameters", "_buffers"})
_PARAMETRISES = re.compile(
    r"torch\.nn\.utils\.(parametri\w+\.)?(remove_)?"
    r"(weight_norm|spectral_norm|orthogonal|register_parametrization|parametrizations)"
)
_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "to_empty"})
_CONVERTS = frozenset({"double", "float", "half", "bfloat16", "type"})
_REARRANGES = frozenset({"pop", "popitem", "clear", "insert", "reverse", "__delitem__"})


class ModuleMutatedInForward(Rule):
    mended_by = ("made-once", "state-in-buffers", "interface")
    graph_breaks = ("GB0208",)
    torch_says = (r"_apply\(\): Couldn't swap",)
    cases: ClassVar = {
        "BadDelAttribute": Case(
            "`{code}` deletes an attribute that the next call would find missing",
            _BEFORE,
        ),
        "BadReplacedSubmodule": Case(
            "`{code}` replaces a submodule for all later calls",
            _BEFORE,
        ),
        "BadSwappedLayers": Case(
            "`{code}` changes the order of the layers for all later calls",
            _BEFORE,
        ),
        "BadDroppedLayer": Case(
            "`{code}` drops a layer for all later calls",
            _BEFORE,
        ),
        "BadToDtype": Case(
            "`{code}` converts the weights of a module",
            Instead(
                "convert the input, or the module before the export",
                shown_in="GoodInputConverted",
                compiled="convert the input, or the module before it is compiled",
            ),
        ),
        "BadToDevice": Case("`{code}` moves the weights of a module", "move the module before the export"),
        "BadModulesItem": Case(
            "`{code}` changes what the module holds",
            _BEFORE,
        ),
        "BadWeightNorm": Case(
            "`{code}` changes how a module makes its weights",
            _BEFORE,
        ),
        "BadPruned": Case(
            "`{code}` changes the weights of a module with every call",
            _BEFORE,
        ),
        "BadLoadStateDict": Case(
            "`{code}` loads weights",
            _BEFORE,
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a module assigned to, deleted from, or changed by a method?"""
        sketch = code.sketch
        owners = (call.owner for call in sketch.calls if _method_case(call.method))
        return (
            any(sketch.value(owner).kind is Kind.MODULE for owner in owners if owner)
            or any(name.startswith("torch.nn.utils.") or name == "builtins.delattr" for name in sketch.origins)
            or any(_changes_module(sketch, target) for target in sketch.targets())
        )

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Subscript) and not isinstance(node.value, cst.Call):
                if case := self._item_case(target.value):
                    self.report(node, case)
                    return
            elif isinstance(target, cst.Attribute) and self._replaces(target, node.value):
                self.report(node, "BadReplacedSubmodule")
                return

    def _item_case(self, owner: cst.BaseExpression) -> str | None:
        if isinstance(owner, cst.Attribute) and owner.attr.value in _TABLES and self._is_module(owner.value):
            return "BadModulesItem"
        return "BadSwappedLayers" if self._is_module(owner) else None

    def visit_Del(self, node: cst.Del) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Subscript) and self._is_module(target.value):
                self.report(node, "BadDroppedLayer")
            elif isinstance(target, cst.Attribute) and self._is_module(target.value):
                self.report(node, "BadDelAttribute")

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name.startswith("torch.nn.utils.prune."):
            self.report(node, "BadPruned")
        elif _PARAMETRISES.fullmatch(name):
            self.report(node, "BadWeightNorm")
        elif name == "builtins.delattr" and node.args and self._is_module(node.args[0].value):
            self.report(node, "BadDelAttribute")
        elif (
            isinstance(node.func, cst.Attribute)
            and self._is_module(node.func.value)
            and (case := _method_case(called(node)))
            and not self._is_own_method(node.func)
        ):
            self.report(node, case)

    def _is_own_method(self, node: cst.Attribute) -> bool:
        """`self.clear()`, defined by the class itself: what it does is judged in its body."""
        cls = self.code.value(node.value).cls
        return cls is not None and cls.method(node.attr.value) is not None

    def _is_module(self, node: cst.CSTNode) -> bool:
        value = self.code.value(node)
        return value.kind is Kind.MODULE and value.certain

    def _replaces(self, target: cst.Attribute, new: cst.BaseExpression) -> bool:
        """Is a submodule put in the place of another one? (Calls that build modules have a rule of their own.)"""
        chained = isinstance(new, cst.Attribute | cst.Subscript)
        return chained and self._is_module(target) and self._is_module(new) and not target.deep_equals(new)


def _method_case(name: str | None) -> str | None:
    match name:
        case "load_state_dict":
            return "BadLoadStateDict"
        case name if name in _MOVES:
            return "BadToDevice"
        case name if name in _CONVERTS:
            return "BadToDtype"
        case name if name in _REARRANGES:
            return "BadSwappedLayers"
    return None


def _changes_module(sketch: Sketch, target: ast.Attribute | ast.Subscript) -> bool:
    replaced = isinstance(target, ast.Attribute) and not isinstance(target.ctx, ast.Del)
    of_table = isinstance(target.value, ast.Attribute) and target.value.attr in _TABLES
    return of_table or sketch.value(target if replaced else target.value).kind is Kind.MODULE

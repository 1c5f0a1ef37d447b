"""A module, parameter or buffer comes into being while forward runs.

Why: weights made while tracing are no weights of the exported program. Strict mode refuses every `nn.Parameter`
("Attempted to use `torch.nn.Parameter()` with export"). Non-strict mode bakes the random values of that one call into
the program, or, for a buffer that the exported module itself registers in forward, lets the program write into its
inputs; in a submodule the program is right, and the module is left with a fake tensor. Modules without
weights (`nn.Softmax(-1)(x)`, `nn.CrossEntropyLoss()(x, y)`) may be made and called anywhere.

Instead: make layers, parameters and buffers in `__init__`, with their sizes as arguments.

    def __init__(self, width, out):
        super().__init__()
        self.proj = nn.Linear(width, out)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import (
    Case,
    Code,
    Kind,
    Rule,
    Severity,
    Value,
    ValuesUsed,
    called,
    flat_targets,
    is_part,
    made_from_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_INIT = "make it in `__init__`"
_WEIGHTED = re.compile(
    r"torch\.nn\.(?:[\w.]*\.)?(?:Lazy\w+|Linear|Bilinear|Conv\w+|BatchNorm\w*|SyncBatchNorm|LayerNorm|RMSNorm|GroupNorm"
    r"|Embedding\w*|PReLU|LSTM\w*|GRU\w*|RNN\w*|MultiheadAttention|Transformer\w*)"
)
_PARAMETERS = frozenset(f"torch.nn.{where}{name}" for where in ("", "parameter.") for name in ("Parameter", "Buffer"))
_DRAWS = frozenset({"randn", "rand", "randint", "normal", "randn_like", "rand_like", "empty"})
_REGISTER = {
    "register_buffer": "BadRegisterBuffer",
    "register_parameter": "BadRegisterParameter",
    "add_module": "BadAddModule",
    "register_module": "BadAddModule",
}
_GROW = frozenset({"append", "extend", "insert", "add_module", "update"})
_LISTS = frozenset({"ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict"})


class ModuleBuiltInForward(Rule):
    mended_by = ("made-once", "state-in-buffers")
    graph_breaks = ("GB0244",)
    torch_says = (r"Attempted to use `torch\.nn\.Parameter\(\)` with export",)
    cases: ClassVar = {
        "BadLazyLinear": Case("`{code}` makes a layer with weights while forward runs", _INIT),
        "BadLocalLinear": Case("`{code}` makes a layer with new random weights in every call", _INIT),
        "BadNewParameter": Case("`{code}` makes a parameter while forward runs", _INIT),
        "BadDrawnParameter": Case("`{code}` draws a parameter while forward runs", _INIT),
        "BadReplacedParameter": Case(
            "`{code}` replaces a parameter while forward runs",
            "compute with the new value: `torch.nn.functional.linear(x, weight, bias)`",
        ),
        "BadRegisterParameter": Case("`{code}` registers a parameter while forward runs", _INIT),
        "BadRegisterBuffer": Case("`{code}` registers a buffer while forward runs", _INIT),
        "BadPartRegisters": Case(
            "`{code}` registers a buffer while forward runs; export leaves a fake one behind", _INIT
        ),
        "BadNewBuffer": Case("`{code}` makes a buffer while forward runs", _INIT),
        "BadAddModule": Case("`{code}` adds a submodule while forward runs", _INIT),
        "BadModuleListAppend": Case("`{code}` adds a submodule with every call", _INIT),
        "BadModuleListStateless": Case("`{code}` adds a submodule with every call", _INIT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a layer or parameter made, or a module given one?"""
        sketch = code.sketch
        grows = (call.owner for call in sketch.calls if call.method in _GROW or call.method in _REGISTER)
        return any(sketch.value(owner).kind is Kind.MODULE for owner in grows if owner) or any(
            name in _PARAMETERS or _WEIGHTED.fullmatch(name) for name in sketch.origins
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._reported: set[cst.CSTNode] = set()
        self._function: cst.Module | None = None
        self._kept: dict[cst.CSTNode, cst.BaseExpression] = {}

    def visit_Module(self, node: cst.Module) -> None:
        self._function = node

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Attribute):
                self._kept.update(dict.fromkeys(_made_with(node.value), target))

    def visit_Call(self, node: cst.Call) -> None:
        if node in self._reported:
            return
        if case := self._case(node):
            self._reported.update(arg.value for arg in node.args)
            self.report(node, case, at_most=Severity.NOTE if case == "BadPartRegisters" else Severity.ERROR)

    def _case(self, node: cst.Call) -> str | None:
        name = self.code.name(node.func) or ""
        if name in _PARAMETERS:
            return self._parameter(node) if name.endswith("Parameter") else "BadNewBuffer"
        if _WEIGHTED.fullmatch(name):
            return "BadLazyLinear" if node in self._kept else "BadLocalLinear"
        if isinstance(node.func, cst.Attribute) and self.code.value(node.func.value).kind is Kind.MODULE:
            return self._registers(node, self.code.value(node.func.value))
        return None

    def _parameter(self, node: cst.Call) -> str:
        target = self._kept.get(node)
        beyond_self = isinstance(target, cst.Attribute) and not isinstance(target.value, cst.Name)
        if beyond_self:
            return "BadReplacedParameter"
        return "BadDrawnParameter" if _draws(node) else "BadNewParameter"

    def _registers(self, node: cst.Call, owner: Value) -> str | None:
        method = called(node) or ""
        if method in _GROW and (owner.name or "").rpartition(".")[2] in _LISTS:
            weighted = any(self._weighted(arg.value) for arg in node.args)
            return "BadModuleListAppend" if weighted else "BadModuleListStateless"
        return self._buffer(node) if method == "register_buffer" else _REGISTER.get(method)

    def _buffer(self, node: cst.Call) -> str | None:
        """In a submodule the program is right; what eager finds afterwards is computed anew by most guards."""
        part = self.code.cls is not None and is_part(self.code.cls)
        return "BadRegisterBuffer" if not part or self._carries_data(node) else "BadPartRegisters"

    def _carries_data(self, node: cst.Call) -> bool:
        """Is an argument made from the values of a tensor that the function is given?"""
        if self._function is None:
            return True
        given = made_from_inputs(self._function, lambda name: self.code.value(name).kind is Kind.TENSOR)
        node.visit(values := ValuesUsed())
        return bool(values.names & given)

    def _weighted(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Call) and bool(_WEIGHTED.fullmatch(self.code.name(node.func) or ""))


def _draws(node: cst.CSTNode) -> bool:
    """Is a value of it random, or of memory that something fills later?"""
    drawn = isinstance(node, cst.Call) and called(node) in _DRAWS
    return drawn or any(map(_draws, node.children))


def _made_with(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is kept with a value: `nn.Linear(3, 3)` of `nn.Sequential(nn.Linear(3, 3), nn.ReLU())`."""
    match node:
        case cst.Call(args=args):
            yield node
            for arg in args:
                yield from _made_with(arg.value)
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            for element in elements:
                yield from _made_with(element.value)

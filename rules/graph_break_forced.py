"""Code in the model tells the compiler to stay away.

Why: strict mode follows the model with Dynamo and must get one whole graph. A function under `torch.compiler.disable`,
`torch._dynamo.graph_break()`, or a call that steers the compiler from inside breaks it, and the export is refused.
Non-strict mode does not ask Dynamo and goes through, but refuses `disable(recursive=False)`.

Instead: drop the decorator where torch can follow the code today, export with `strict=False`, or keep what is only for
eager mode behind `if not torch.compiler.is_compiling():`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst  # noqa: TC002 - libcst reads the visitors' annotations

from exportlint import Case, Instead, Rule, walked

if TYPE_CHECKING:
    from exportlint import Code, FunctionInfo

_DROP = Instead("drop the decorator, or export with `strict=False`", compiled="drop the decorator")
_AWAY = "leave it out of forward, or put it behind `if not torch.compiler.is_compiling():`"
_DISABLE = frozenset(
    {"torch.compiler.disable", "torch._dynamo.disable", "torch._dynamo.eval_frame.disable", "torch._disable_dynamo"}
)
_BY_NAME = {
    "torch._dynamo.graph_break": "BadGraphBreak",
    "torch._dynamo.mark_dynamic": "BadMarkDynamic",
    "torch._dynamo.maybe_mark_dynamic": "BadMarkDynamic",
    "torch._dynamo.mark_static": "BadMarkDynamic",
    "torch._dynamo.reset": "BadReset",
    "torch.compiler.reset": "BadReset",
    "torch.compiler.set_stance": "BadStance",
}


class GraphBreakForced(Rule):
    mended_by = ("templates",)
    graph_breaks = ("GB0025", "GB0098", "GB0099", "GB0148")
    torch_says = (
        r"Non-recursive torch\.compiler\.disable is not supported",
        r"Skip (inlining|calling) `torch\.compiler\.disable",
    )
    cases: ClassVar = {
        "BadDisabledMethod": Case("`{code}` runs a function that is hidden from the compiler", _DROP),
        "BadDisabledOneLevel": Case("`{code}` runs a function under `disable(recursive=False)`", _DROP),
        "BadDisabledInPlace": Case("`{code}` hides a function from the compiler", _DROP),
        "BadDisabledAttribute": Case(
            "`{code}` runs something that was hidden from the compiler in `__init__`",
            _DROP,
        ),
        "BadDisabledForward": Case("`{name}` itself is hidden from the compiler", _DROP),
        "BadGraphBreak": Case("`{code}` asks for a graph break", _AWAY),
        "BadMarkDynamic": Case(
            "`{code}` steers the compiler from inside",
            Instead(
                "declare sizes by `dynamic_shapes=` at the export", compiled="call it on the input, before the model"
            ),
        ),
        "BadReset": Case("`{code}` resets the compiler from inside", _AWAY),
        "BadStance": Case("`{code}` steers the compiler from inside", _AWAY),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is forward disabled, or something called that is?"""
        called = {code.sketch.value(call.node.func) for call in code.sketch.calls}
        functions = {code.function, *(value.function for value in called)}
        names = {*code.sketch.origins, *(value.name for value in called)}
        return not names.isdisjoint(_BY_NAME.keys() | _DISABLE) or any(map(_disabled, filter(None, functions)))

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """forward has no caller to report at."""
        own = self.code.function
        if own and node.name.value == own.name == "forward" and _disabled(own):
            self.report(node.decorators[0], "BadDisabledForward", name=own.name)

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        """A decorator runs before the model does."""
        return False

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if case := _BY_NAME.get(name):
            self.report(node, case)
        elif name in _DISABLE:
            self.report(node, "BadDisabledInPlace")
        else:
            self._callee(node)

    def _callee(self, node: cst.Call) -> None:
        value = self.code.value(node.func)
        if value.function and value.function.name != "forward" and _disabled(value.function):
            self.report(node, "BadDisabledOneLevel" if _one_level(value.function) else "BadDisabledMethod")
        elif value.name in _DISABLE and value.certain:
            self.report(node, "BadDisabledAttribute")


def _disabled(function: FunctionInfo) -> bool:
    names = set(function.decorators)
    module = function.module
    own = (module.functions[name] for name in module.functions if f"{module.name}.{name}" in names)
    return not names.isdisjoint(_DISABLE) or any(map(_gives_disabled, own))


def _gives_disabled(decorator: FunctionInfo) -> bool:
    """`def eager_only(fn): return torch.compiler.disable(fn)`."""
    returned = (n.value for n in walked(decorator.node) if isinstance(n, ast.Return))
    return any(isinstance(value, ast.Call) and decorator.module.dotted(value.func) in _DISABLE for value in returned)


def _one_level(function: FunctionInfo) -> bool:
    """`@torch.compiler.disable(recursive=False)`."""
    calls = (getattr(decorator, "keywords", []) for decorator in getattr(function.node, "decorator_list", []))
    return any(
        word.arg == "recursive" and getattr(word.value, "value", True) is False for words in calls for word in words
    )

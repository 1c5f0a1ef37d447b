"""A generator or iterator lives longer than a call, or is the result of one.

Why: advancing a stored iterator is a side effect of Python. Non-strict mode exports with the element it got while
tracing, for ever; strict mode refuses most iterators and bakes the value of `itertools.count`. A generator that
forward returns is no output: pytree does not know its class. Generators made and used up within one call export in
both modes.

Instead: keep the step in a registered buffer and compute the value from it; return a list or tuple.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, Kind, Rule, is_part, walked

if TYPE_CHECKING:
    from exportlint import ModuleInfo, Sketch

_BUFFER = Instead("keep the step in a registered buffer and compute the value from it", shown_in="GoodBufferStep")
_LIST = Instead("return a list or a tuple", shown_in="GoodGeneratorIntoList")
_LAZY = frozenset(
    {"builtins.map", "builtins.zip", "builtins.filter", "builtins.iter", "builtins.enumerate", "builtins.reversed"}
)
_ITERATORS = frozenset({"iter", "map", "zip", "filter", "reversed", "enumerate", "cycle", "count", "chain"})
_ADVANCE = frozenset({"__next__", "send"})
_VIEWS = frozenset({"values", "keys", "items"})


class GeneratorState(Rule):
    mended_by = ("interface", "state-in-buffers")
    graph_breaks = ("GB0003", "GB4347", "GB0253", "GB8335")
    torch_says = (r"Found <class '(generator|map|zip|dict_\w+)'> in output",)
    cases: ClassVar = {
        "BadStoredGenerator": Case("`{code}` advances an iterator that outlives the call", _BUFFER),
        "BadForOverStored": Case("`{code}` is used up by the first call that loops over it", _BUFFER),
        "BadGlobalIterator": Case("`{code}` advances an iterator that outlives the call", _BUFFER),
        "BadYieldingForward": Case("`forward` is a generator", _LIST),
        "BadReturnedGenerator": Case("`{code}` is an iterator, not a result", _LIST),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is an iterator advanced, looped over or returned?"""
        sketch = code.sketch
        return (
            not sketch.methods.isdisjoint({"next", *_ADVANCE})
            or any(isinstance(n.iter, ast.Attribute) and n.iter.attr in _kept(code) for n in sketch.nodes(ast.For))
            or (code.function is not None and code.function.name == "forward" and _gives_iterator(sketch))
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._depth = 0

    def visit_Call(self, node: cst.Call) -> None:
        if self.code.name(node.func) == "builtins.next" and node.args:
            self._advance(node, node.args[0].value)
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _ADVANCE:
            self._advance(node, node.func.value)

    def visit_For(self, node: cst.For) -> None:
        if (name := _own(node.iter)) and name in _kept(self.code):
            self.report(node.iter, "BadForOverStored")

    def visit_Yield(self, node: cst.Yield) -> None:
        if self._is_output() and not self._inner and not self.found:
            self.report(node, "BadYieldingForward")

    def visit_Return(self, node: cst.Return) -> None:
        if self._is_output() and not self._inner and node.value and self._is_iterator(node.value):
            self.report(node, "BadReturnedGenerator")

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._depth += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self._depth -= 1

    @property
    def _inner(self) -> bool:
        """Are we in a function that the visited one defines?"""
        return self._depth > 1

    def _advance(self, node: cst.Call, iterator: cst.BaseExpression) -> None:
        if isinstance(iterator, cst.Subscript) and _own(iterator.value):
            self.report(node, "BadStoredGenerator")
        elif _own(iterator):
            kept = self.code.value(iterator).kind in {Kind.UNKNOWN, Kind.INSTANCE, Kind.CONTAINER}
            if kept:
                self.report(node, "BadStoredGenerator")
        elif isinstance(iterator, cst.Name) and iterator.value in _iterators_of(
            self.code.module.tree.body, None, self.code.module
        ):
            self.report(node, "BadGlobalIterator")

    def _of_the_file(self) -> set[str]:
        return _iterators_of(self.code.module.tree.body, None, self.code.module)

    def _is_output(self) -> bool:
        """Is this the forward of a module that no module of the file has as a part?"""
        if self.code.function is None or self.code.cls is None or self.code.function.name != "forward":
            return False
        return not is_part(self.code.cls)

    def _is_iterator(self, node: cst.BaseExpression) -> bool:
        match node:
            case cst.GeneratorExp():
                return True
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in _VIEWS:
                return self.code.value(inner).container == "dict" or isinstance(inner, cst.Dict)
            case cst.Call(func=function):
                called = self.code.value(function).function
                return self.code.name(function) in _LAZY or (called is not None and _yields(called.node))
        return False


def _own(node: cst.CSTNode) -> str | None:
    """The "steps" of `self.steps`."""
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return name
    return None


def _iterators_of(body: list[ast.stmt], owner: str | None, module: ModuleInfo) -> set[str]:
    """The names, or attributes of `owner`, that statements set to an iterator or a generator."""
    assigns = (node for node in body if isinstance(node, ast.Assign) and _makes_iterator(node.value, module))
    names = {ast.unparse(target) for node in assigns for target in node.targets}
    prefix = f"{owner}." if owner else ""
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def _makes_iterator(value: ast.expr, module: ModuleInfo) -> bool:
    match value:
        case ast.GeneratorExp():
            return True
        case ast.Call(func=function):
            made = ast.unparse(function)
            is_library = made in _ITERATORS or made.startswith("itertools.")
            return is_library or (made in module.functions and _yields(module.functions[made].node))
    return False


def _yields(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in walked(function))


def _kept(code: Code) -> set[str]:
    """The attributes that `__init__` makes iterators."""
    init = code.cls.method("__init__") if code.cls else None
    if init is None or isinstance(init.node, ast.Lambda):
        return set()
    return _iterators_of(init.node.body, "self", init.module)


def _gives_iterator(sketch: Sketch) -> bool:
    """Does the function yield, or may it return an iterator?"""
    returned = [node.value for node in sketch.nodes(ast.Return)]
    return (
        any(True for _ in sketch.nodes(ast.Yield))
        or any(isinstance(value, ast.GeneratorExp) for value in returned)
        or any(_may_make_iterator(sketch, value.func) for value in returned if isinstance(value, ast.Call))
    )


def _may_make_iterator(sketch: Sketch, func: ast.expr) -> bool:
    function = sketch.value(func).function
    view = isinstance(func, ast.Attribute) and func.attr in _VIEWS
    return view or sketch.name(func) in _LAZY or (function is not None and _yields(function.node))

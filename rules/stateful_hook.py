"""A registered hook keeps state in a counter or a list that grows.

Why: hooks of modules run while tracing, so what they do to the values that pass through is in the program. What they
do to Python objects happens once: a counter has its first value for ever, a list keeps what tracing put there. Torch
says nothing. A hook may be a function, a method, an object that is called, or what a function makes and returns.
One that only keeps the last output under a name is fine, and so is a count that nothing reads.

Instead: keep counts in a registered buffer; return intermediate results from forward; empty the list in forward
before the hooks fill it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import CONTAINER_METHODS, Case, Instead, Rule, Scope, Visitor, called, last_name, root_name, walked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint import Code

_HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})
_GROW = CONTAINER_METHODS - {"update", "setdefault", "clear", "sort", "move_to_end"}


class StatefulHook(Rule):
    mended_by = ("state-in-buffers",)
    scope = Scope.FILE
    words = r"register_forward_(pre_)?hook\b"
    cases: ClassVar = {
        "BadCountingHook": Case(
            "`{code}` in a hook counts", "keep the count in a registered buffer", in_program=" once, while tracing"
        ),
        "BadGrabbingHook": Case(
            "`{code}` in a hook keeps what tracing put there",
            Instead(
                "empty the list in forward before the hooks fill it, or return the intermediate results",
                shown_in="GoodClearedList",
            ),
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does the constructor of a class register a hook?"""
        classes = (node for node in code.module.tree.body if isinstance(node, ast.ClassDef))
        methods = (node for found in classes for node in found.body if isinstance(node, ast.FunctionDef))
        made = (node for method in methods if method.name == "__init__" for node in walked(method))
        return any(isinstance(node, ast.Call) and last_name(node.func) in _HOOKS for node in made)

    def visit_Module(self, node: cst.Module) -> None:
        functions = {**_functions_in(node.body), **_called_objects(node.body)}
        for statement in node.body:
            if isinstance(statement, cst.ClassDef):
                self._class(statement, functions)

    def _class(self, node: cst.ClassDef, functions: Mapping[str, cst.CSTNode]) -> None:
        methods = _functions_in(node.body.body)
        if "__init__" not in methods:
            return
        methods["__init__"].visit(registered := _Registered())
        emptied = _Emptied()
        if "forward" in methods:
            methods["forward"].visit(emptied)
        for hook in registered.found:
            if function := _function(hook, methods, {**functions, **_functions_in(registered.functions)}):
                self._check(function, emptied.found)

    def _check(self, function: cst.CSTNode, emptied: set[str]) -> None:
        function.visit(writes := _Writes())
        for node, written in writes.found:
            counts = isinstance(node, cst.AugAssign)
            lives_on = root_name(written) not in writes.own and _last(written) not in emptied
            if lives_on and (not counts or _is_read(self.code.module.tree, _last(written))):
                self.report(node, "BadCountingHook" if counts else "BadGrabbingHook")


def _is_read(tree: ast.Module, name: str) -> bool:
    """Does the file read it, beside where it counts?"""
    counted = (node.target for node in walked(tree) if isinstance(node, ast.AugAssign))
    return _reads(name, tree) > sum(_reads(name, target) for target in counted)


def _reads(name: str, part: ast.AST) -> int:
    return sum(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and last_name(node) == name
        for node in walked(part)
    )


def _functions_in(body: Sequence[cst.CSTNode]) -> dict[str, cst.CSTNode]:
    """The functions by name, and behind "name()" the function that one makes and returns."""
    found = {node.name.value: node for node in body if isinstance(node, cst.FunctionDef)}
    made = {f"{name}()": _returned(function) for name, function in found.items()}
    return {**found, **{name: function for name, function in made.items() if function}}


def _returned(factory: cst.FunctionDef) -> cst.CSTNode | None:
    body = factory.body.body
    match body[-1]:
        case cst.SimpleStatementLine(body=[cst.Return(value=cst.Name(value=name))]):
            return next((n for n in body if isinstance(n, cst.FunctionDef) and n.name.value == name), None)
        case cst.SimpleStatementLine(body=[cst.Return(value=cst.Lambda() as made)]):
            return made
    return None


def _called_objects(body: Sequence[cst.CSTNode]) -> dict[str, cst.CSTNode]:
    """What runs where an object of a class of the file is called, behind "Class()"."""
    classes = {node.name.value: _functions_in(node.body.body) for node in body if isinstance(node, cst.ClassDef)}
    return {f"{name}()": methods["__call__"] for name, methods in classes.items() if "__call__" in methods}


def _function(
    hook: cst.BaseExpression, methods: Mapping[str, cst.CSTNode], functions: Mapping[str, cst.CSTNode], ending: str = ""
) -> cst.CSTNode | None:
    """The code of a hook: a lambda, a method, a function of the file or of `__init__`, or what one of these makes."""
    match hook:
        case cst.Lambda():
            return hook
        case cst.Name(value=name):
            return functions.get(name + ending)
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return methods.get(name + ending)
        case cst.Call(func=cst.Name(value="partial") | cst.Attribute(attr=cst.Name(value="partial")), args=[first, *_]):
            return _function(first.value, methods, functions)
        case cst.Call(func=maker) if not ending:
            return _function(maker, methods, functions, "()")
    return None


class _Registered(Visitor):
    """What `__init__` registers as forward hooks, and the functions it defines."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.BaseExpression] = []
        self.functions: list[cst.FunctionDef] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.functions.append(node)

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in _HOOKS and node.args:
            self.found.append(node.args[0].value)


class _Emptied(Visitor):
    """The attributes that forward assigns or clears."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self.found.add(_last(node.target))

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) == "clear" and isinstance(node.func, cst.Attribute):
            self.found.add(_last(node.func.value))


class _Writes(Visitor):
    """The counters and containers a hook changes, and the names that are its own."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.BaseExpression]] = []
        self.own: set[str | None] = set()
        self._shared: set[str] = set()
        self._given: set[str] = set()

    def visit_Param(self, node: cst.Param) -> None:
        self._given.add(node.name.value)

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self._shared.update(item.name.value for item in node.names)

    def visit_Global(self, node: cst.Global) -> None:
        self._shared.update(item.name.value for item in node.names)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        if isinstance(node.target, cst.Name) and node.target.value not in self._shared:
            self.own.add(node.target.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        match node.target:
            case cst.Name(value=name) if name in self._shared:
                self.found.append((node, node.target))
            case cst.Attribute():
                self.found.append((node, node.target))
            case cst.Subscript(value=cst.Name(value=name) as owner) if name not in self._given:
                self.found.append((node, owner))

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in _GROW and isinstance(node.func, cst.Attribute):
            self.found.append((node, node.func.value))


def _last(node: cst.CSTNode) -> str:
    match node:
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name
    return ""

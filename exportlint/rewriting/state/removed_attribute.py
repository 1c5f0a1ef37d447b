"""An attribute that one call deletes or sets to None, `if hasattr(self, "first"): …; del self.first`, as a flag."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import buffer_line
from exportlint.rewriting.state.state_as_names import OWN, StateAsNames
from exportlint.rewriting.state.state_branches import state_branches
from exportlint.rule.editing.repair import Beside, ModuleImport, Where

if TYPE_CHECKING:
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def removed_attribute(code: Code, node: cst.CSTNode) -> tuple[AnyChange, ...] | None:
    """The attribute stays; whether it would be there is asked of a buffer. None where something else asks for it."""
    name = _deleted(node)
    if name is None or code.cls is None or not code.cls.is_module or code.function is None:
        return None
    own, flag = OwnAttribute(code.cls, name), f"{name}_left"
    begins = own.defined
    if begins is None or _is_none(begins) or _is_asked_elsewhere(code, own) or _is_known(own, flag):
        return None
    if own.definition is None or not all(isinstance(one, ast.Assign) and _is_none(one.value) for one in own.stores):
        return None
    view = _Presence(code, frozenset({OWN + flag}), {}, whole_function(code, node), gone=name, flag=OWN + flag)
    branches = state_branches(view)
    if not branches or _is_left(view, branches):
        return None
    made = Beside(own.definition, buffer_line(flag, "torch.tensor(True)"), Where.AFTER)
    return (made, *branches, ModuleImport("torch"))


def _deleted(node: cst.CSTNode) -> str | None:
    match node:
        case cst.Del(target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))):
            return name
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)))],
            value=cst.Name(value="None"),
        ):
            return name
        case cst.Expr(value=cst.Call() as call) | (cst.Call() as call):
            return _asked(call, "delattr")
    return None


def _asked(call: cst.Call, function: str) -> str | None:
    """The "first" of `hasattr(self, "first")`."""
    match call:
        case cst.Call(
            func=cst.Name(value=called),
            args=[cst.Arg(value=cst.Name(value="self")), cst.Arg(value=cst.SimpleString() as text), *_],
        ) if called == function:
            return str(text.evaluated_value)
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_asked_elsewhere(code: Code, own: OwnAttribute) -> bool:
    """Does another method, or a part of the model, name it? Of other classes, their own attributes are their affair."""
    inits = own.methods.get("__init__", ())
    here = {id(one) for method in (*inits, code.function and code.function.node) if method for one in ast.walk(method)}
    lineage = {id(cls.node) for cls in own.cls.lineage}
    apart = {
        id(one)
        for cls in ast.walk(own.module.tree)
        if isinstance(cls, ast.ClassDef) and id(cls) not in lineage and not _derives(cls, own.cls.name)
        for one in ast.walk(cls)
        if isinstance(one, ast.Constant) or (isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self")
    }
    return any(
        (isinstance(one, ast.Attribute) and one.attr == own.name)
        or (isinstance(one, ast.Constant) and one.value == own.name)
        for one in ast.walk(own.module.tree)
        if id(one) not in here and id(one) not in apart
    )


def _derives(cls: ast.ClassDef, name: str) -> bool:
    return any(isinstance(base, ast.Name) and base.id == name for base in cls.bases)


def _is_known(own: OwnAttribute, name: str) -> bool:
    nodes = (one for cls in own.cls.lineage for one in ast.walk(cls.node))
    return any(isinstance(one, ast.Attribute) and one.attr == name for one in nodes)


def _is_left(view: _Presence, branches: tuple[Any, ...]) -> bool:
    """Is it deleted, or asked for, outside of what the branches replace?"""
    replaced = {id(one) for change in branches for one in every(change.node)}
    return any(id(one) not in replaced for one in view.asking)


@dataclass
class _Presence(StateAsNames):
    """`hasattr(self, "first")` reads as the flag, and `del self.first` as a write of it.

    asking   the nodes that are read so
    """

    gone: str = ""
    flag: str = ""
    asking: list[cst.CSTNode] = field(default_factory=list)

    def named(self, original: cst.CSTNode, updated: Any) -> Any:
        meant = self._meant(updated)
        if meant is None:
            return updated
        self.asking.append(original)
        return meant

    def _meant(self, node: cst.CSTNode) -> cst.CSTNode | None:
        match node:
            case cst.Del() | cst.Assign() | cst.Expr(value=cst.Call()) if _deleted(node) == self.gone:
                target = cst.AssignTarget(cst.Name(self.flag))
                return cst.Assign([target], cst.Name("False"))
            case cst.Call() if _asked(node, "hasattr") == self.gone:
                return cst.Name(self.flag)
            case cst.Comparison(
                left=left,
                comparisons=[
                    cst.ComparisonTarget(operator=cst.Is() | cst.IsNot() as how, comparator=cst.Name(value="None"))
                ],
            ) if self._is_value(left):
                there = cst.Name(self.flag)
                return there if isinstance(how, cst.IsNot) else cst.UnaryOperation(cst.Not(), there)
        return None

    def _is_value(self, node: cst.BaseExpression) -> bool:
        """`self.first` or `getattr(self, "first", None)`."""
        match node:
            case cst.Call():
                return _asked(node, "getattr") == self.gone
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                return name == self.gone
        return False

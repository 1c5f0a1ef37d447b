"""A small module around what is no module is exported, or the module that it was made of."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ClassInfo, Repair, Rewrite, argument
from exportlint.rewriting.interface.wrapper_module import free_name, parameters_of, wrapper
from exportlint.rewriting.source.script_scope import value_in_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange

_FORWARDS = frozenset({"forward", "__call__"})
_METHODS = frozenset({"BadMethod", "BadModelMethod", "BadUnknownMethod", "BadForward"})
_FUNCTIONS = frozenset(
    {"BadFunction", "BadTorchFunction", "BadLambda", "BadPartial", "BadCompiledFunction", "BadObject"}
)
_WRAPPED = "export a small module whose forward calls it"


class ExportedModule(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        target = argument(node, 0, "mod") if isinstance(node, cst.Call) else None
        if target is None:
            return
        origin = value_in_scope(self.code, target)
        if case in _METHODS and isinstance(origin, cst.Attribute):
            yield from self._method(target, origin)
        elif case in _FUNCTIONS:
            if changes := self._function(target, origin, case):
                yield Rewrite(_WRAPPED, changes)
        else:
            yield from self._of_module(target, origin, case)

    def _of_module(self, target: cst.BaseExpression, origin: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        text = self.source(target)
        match case, origin:
            case "BadClass", _:
                yield Rewrite("make an instance", (Change(target, f"{text}()"),))
            case "BadProgram", _:
                yield Rewrite("export its module", (Change(target, f"{text}.module()"),))
            case "BadStateDict", cst.Call(func=cst.Attribute(value=owner)):
                yield Rewrite("export the model", (Change(target, self.source(owner)),))
            case (("BadScripted" | "BadTraced"), cst.Call(args=[cst.Arg(value=model), *_])) if self._is_model(origin):
                yield Rewrite("export the eager module", (Change(origin, self.source(model)),))

    def _is_model(self, call: cst.Call) -> bool:
        return self.code.name(call.func) != "torch.jit.load"

    def _method(self, target: cst.BaseExpression, origin: cst.Attribute) -> Iterator[Rewrite]:
        name = origin.attr.value
        if name in _FORWARDS:
            yield Rewrite("export the module itself", (Change(origin, self.source(origin.value)),))
            return
        cls = self._class_of(origin.value)
        is_self = isinstance(origin.value, cst.Name) and origin.value.value == "self"
        spoken = (
            cls.name if cls else origin.value.value if isinstance(origin.value, cst.Name) and not is_self else "owner"
        )
        owner, made = _in_words(spoken), free_name(self.code.module, _in_capitals(f"{_in_words(spoken)}_{name}"))
        parameters = parameters_of(cls.method(name) if cls else None, method=True)
        held = _modules_of(cls) if cls and not cls.is_module else []
        changes = wrapper(self.code.module, made, owner, f"self.{owner}.{name}", parameters, held)
        if changes:
            # Where the method's owner is made on the spot, it is to be made once.
            place = target if isinstance(origin.value, cst.Name | cst.Attribute) else origin
            yield Rewrite(_WRAPPED, (*changes, Change(place, f"{made}({self.source(origin.value)})")))

    def _class_of(self, owner: cst.BaseExpression) -> ClassInfo | None:
        if isinstance(owner, cst.Name) and owner.value == "self":
            above: cst.CSTNode | None = owner
            while above is not None and not isinstance(above, cst.ClassDef):
                above = self.code.parent(above)
            return self.code.module.classes.get(above.name.value) if above else None
        made = value_in_scope(self.code, owner)
        while isinstance(made, cst.Call) and isinstance(made.func, cst.Attribute):
            made = value_in_scope(self.code, made.func.value)
        named = made.func if isinstance(made, cst.Call) else None
        return self.code.module.classes.get(named.value) if isinstance(named, cst.Name) else None

    def _function(self, target: cst.BaseExpression, origin: cst.CSTNode, case: str) -> tuple[AnyChange, ...]:
        inner = origin
        if case == "BadCompiledFunction" and isinstance(origin, cst.Call) and origin.args and target is origin:
            inner = origin.args[0].value
        text = self.source(target if inner is origin else inner)
        known = self.code.module.functions.get(text)
        cls = self._class_of(target) if case == "BadObject" else None
        parameters = parameters_of(known or (cls.method("__call__") if cls else None), method=cls is not None)
        part = "function" if cls is None else "owner"
        named = f"{cls.name}Module" if cls else _in_capitals(known.name) if known else "Exported"
        made = free_name(self.code.module, named)
        changes = wrapper(self.code.module, made, part, f"self.{part}", parameters, _modules_of(cls) if cls else ())
        return (*changes, Change(target, f"{made}({text})")) if changes else ()


def _in_words(name: str) -> str:
    """`image_model` for `ImageModel`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


def _in_capitals(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_") if part) or "Exported"


def _modules_of(cls: ClassInfo) -> list[str]:
    """The attributes that its constructors set and its methods call."""
    nodes = [node for one in cls.lineage for node in ast.walk(one.node)]
    stored = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    called = [func.attr for func in calls if isinstance(func, ast.Attribute) and _on_self(func)]
    return [name for name in dict.fromkeys(called) if name in stored and cls.method(name) is None]


def _on_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"

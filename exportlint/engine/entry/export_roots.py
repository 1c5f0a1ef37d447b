"""What export may start from: the forwards of a file, what decorators put in their place, and functions it exports."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo, ModuleInfo, Project


# What people call a second way into a model, which a wrapper's forward calls when it is exported.
_ENTRIES = re.compile(
    r"_?(inference|infer|generate|decode|sample|predict|translate|inverse|encode|act|beam_search|greedy)(_\w+)?"
)
# Decorators under which a method is called as it is written.
_OF_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled"})


def forwards(module: ModuleInfo) -> Iterator[tuple[ClassInfo, FunctionInfo]]:
    """Each model of the file with its forward; an inherited one only where the class gives it other methods to call.

    A module without one is entered by the methods that others call.
    """
    models = [cls for cls in module.classes.values() if cls.is_module and not cls.is_loss]
    for cls in models:
        if forward := cls.methods.get("forward"):
            yield cls, forward
    for cls in models:
        if "forward" not in cls.methods and (forward := cls.method("forward")) and _overrides(cls):
            yield cls, forward
    bases = {base for cls in models for base in cls.lineage[1:]}
    for cls in models:
        has_forward = (forward := cls.method("forward")) is not None and not _only_raises(forward)
        if has_forward or cls not in bases:
            yield from ((cls, method) for method in _called_from_outside(cls, has_forward=has_forward))


def _only_raises(function: FunctionInfo) -> bool:
    """`def forward(self): raise NotImplementedError`, under a docstring or not."""
    body = function.node.body if isinstance(function.node.body, list) else []
    return bool(body) and isinstance(body[-1], ast.Raise) and all(isinstance(s, ast.Expr) for s in body[:-1])


def _called_from_outside(cls: ClassInfo, *, has_forward: bool) -> Iterator[FunctionInfo]:
    """The methods that only others can call, such as a wrapper's forward; beside a forward, by their names."""
    if has_forward and not any(map(_ENTRIES.fullmatch, cls.methods)):
        return
    called = {n.attr for m in cls.methods.values() for n in walked(m.node) if isinstance(n, ast.Attribute)}
    for name, method in cls.methods.items():
        wanted = _ENTRIES.fullmatch(name) if has_forward else not name.startswith("_")
        if wanted and name not in called and _OF_GRADIENTS.issuperset(method.decorators) and len(method.parameters) > 1:
            yield method


def decorators(function: FunctionInfo, project: Project) -> Iterator[tuple[ast.expr, FunctionInfo]]:
    """The decorators of a function that the project defines."""
    nodes: list[ast.expr] = getattr(function.node, "decorator_list", [])
    for node, name in zip(nodes, function.decorators, strict=True):
        if isinstance(found := project.find(name), FunctionInfo):
            yield node, found


def _overrides(cls: ClassInfo) -> bool:
    """Does it give the forward that it inherits another method to call?"""
    return any(
        not name.startswith("__") and any(name in base.methods for base in cls.lineage[1:]) for name in cls.methods
    )


def handed_to_export(module: ModuleInfo) -> Iterator[FunctionInfo]:
    """Functions of the file that are the first argument of an export or compile call."""
    # Most files call none of these, which their text shows faster than their tree does.
    takers = {
        "torch.export.export",
        "torch.compile",
        "torch.jit.trace",
        "torch._dynamo.explain",
        "torch.export.draft_export",
        "torch._export.aot_compile",
    }
    if not module.parsed.mentions(f"{taker.rpartition('.')[2]}(" for taker in takers):
        return
    for node in module.parsed.by_type(module.tree).get(ast.Call, ()):
        match node:
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
                name in module.functions and module.dotted(func) in takers
            ):
                yield module.functions[name]

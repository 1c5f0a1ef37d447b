"""A small `nn.Module` around something that is none, at the top of a file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.rule.editing.repair import Beside, ModuleImport, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.rule.editing.repair import AnyChange


def wrapper(
    module: ModuleInfo, name: str, part: str, called: str, parameters: str, held: Sequence[str] = ()
) -> tuple[AnyChange, ...]:
    """A class that keeps `part`, and the attributes `held` of it which are modules, and whose forward calls it.

    called   the expression that forward calls, in which `self.PART` is what is kept
    """
    lines = [
        f"class {name}(torch.nn.Module):",
        f"    def __init__(self, {part}):",
        "        super().__init__()",
        f"        self.{part} = {part}",
        *(f"        self.{attribute} = {part}.{attribute}" for attribute in held if attribute != part),
        "",
        f"    def forward(self, {parameters}):",
        f"        return {called}({_given(parameters)})",
        "\n",
    ]
    place = _below_imports(module)
    return (Beside(place, "\n".join(lines), Where.BEFORE), ModuleImport("torch")) if place else ()


def free_name(module: ModuleInfo, name: str) -> str:
    """A name for a class that the file does not use."""
    taken = {one.id for one in ast.walk(module.tree) if isinstance(one, ast.Name)} | {
        *module.classes,
        *module.functions,
        *module.imports,
    }
    return next(one for one in (name, f"{name}Module", f"Exported{name}", f"Exported{name}Module") if one not in taken)


def parameters_of(function: FunctionInfo | None, *, method: bool) -> str:
    """As they are written, without `self`; stars where the function is not known."""
    if function is None or function.node.args.vararg or function.node.args.kwonlyargs or function.node.args.kwarg:
        return "*args, **kwargs"
    arguments = function.node.args
    plain = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(plain), map(ast.unparse, reversed(arguments.defaults)), strict=False))
    static = "builtins.staticmethod" in function.decorators
    names = plain[1:] if method and not static else plain
    if any(not _is_plain(one) for one in arguments.defaults):
        return "*args, **kwargs"
    return ", ".join(f"{name}={defaults[name]}" if name in defaults else name for name in names)


def _is_plain(node: ast.expr) -> bool:
    return all(isinstance(one, ast.Constant | ast.UnaryOp | ast.USub | ast.Tuple | ast.Load) for one in ast.walk(node))


def _given(parameters: str) -> str:
    return ", ".join(one.partition("=")[0] for one in parameters.split(", "))


def _below_imports(module: ModuleInfo) -> ast.stmt | None:
    body = module.tree.body
    imports = [place for place, one in enumerate(body) if isinstance(one, ast.Import | ast.ImportFrom)]
    below = body[imports[-1] + 1 :] if imports else []
    return below[0] if below else None

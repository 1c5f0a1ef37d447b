"""The module of the program is called; what a program has not goes, or gives way to what a program has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.left_statements import without_statement
from exportlint.rewriting.source.script_scope import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODES = frozenset({"BadProgramMode", "BadModuleMode", "BadUnflattenedMode"})
_MOVED = {"cuda": '"cuda"', "cpu": '"cpu"'}


class ProgramAsProgram(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadProgramCalled", cst.Call(func=func):
                yield Rewrite("call its module", (Change(func, f"{self.source(func)}.module()"),))
            case "BadStateDict", cst.Call(func=func):
                yield Rewrite("read it without a call", (Change(node, self.source(func)),))
            case "BadProgramMoved", cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))):
                yield from self._moved(node, owner, method)
            case "BadSave", cst.Call(args=[cst.Arg(value=given), *_]):
                if (program := _program_of(given)) is not None:
                    yield Rewrite("give it the program", (Change(given, self.source(program)),))
            case "BadTorchSave", cst.Call(args=[cst.Arg(value=given), *_]):
                yield from self._saved(node, given)
            case _, cst.Call(func=cst.Attribute(value=owner)) if case in _MODES:
                yield Rewrite("leave it out", (without_statement(self.code, node) or Change(node, self.source(owner)),))

    def _moved(self, node: cst.Call, owner: cst.BaseExpression, method: str) -> Iterator[Rewrite]:
        device = _MOVED.get(method) if not node.args else self.source(node.args[0].value)
        if device and len(node.args) < 2:  # noqa: PLR2004 - a dtype beside the device
            text = f"torch.export.passes.move_to_device_pass({self.source(owner)}, {device})"
            if (statement := self.code.parent(node)) is not None and isinstance(statement, cst.Expr):
                text = f"{self.source(owner)} = {text}"
            yield Rewrite("move it by a pass", (Change(node, text), ModuleImport("torch.export.passes")))

    def _saved(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """What reads the same file back in the same function changes with it."""
        program = _program_of(given)
        changes = [Change(node.func, "torch.export.save")]
        changes += [Change(given, self.source(program))] if program is not None else []
        file = self.source(node.args[1].value) if len(node.args) > 1 else ""
        for one in every(scope_of(self.code, node)):
            match one:
                case cst.Call(func=func, args=[cst.Arg(value=read), *_]) if self.code.name(func) == "torch.load":
                    if self.source(read) == file:
                        changes.append(Change(one, f"torch.export.load({file})"))
        yield Rewrite("save the program as one", (*changes, ModuleImport("torch")))


def _program_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`program` of `program.module()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="module")), args=[]):
            return owner
    return None

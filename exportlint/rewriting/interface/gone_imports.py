"""Take names that are gone out of imports, and put what took their place where they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.interface.constraints import constrained_call, without_constraints
from exportlint.rewriting.interface.gone_names import is_replaced, module_of, replaced_call, replaced_name
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.script_scope import scope_of
from exportlint.rule.editing.repair import Change, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def change_of_call(code: Code, call: cst.Call, name: str) -> Change | None:
    """What takes the place of a call of `name`; of several lines only where it is a statement."""
    text = replaced_call(code, call, name)
    if text is None:
        return None
    above = code.parent(call)
    if "\n" in text:
        line = code.parent(above) if isinstance(above, cst.Expr) else None
        return Change(line, text) if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    whole = above if name == "torch._dynamo.export" else call
    return Change(whole, text) if whole is not None else None


def replaced_import(code: Code, line: cst.ImportFrom, alias: cst.ImportAlias) -> tuple[AnyChange, ...] | None:
    """All names of the line that are gone, as those of one line go together; None where one cannot be replaced."""
    if isinstance(line.names, cst.ImportStar) or line.module is None or line.relative:
        return None
    module = cst.Module([]).code_for_node(line.module)
    gone = {
        one: f"{module}.{one.evaluated_name}" for one in line.names if is_replaced(f"{module}.{one.evaluated_name}")
    }
    if alias not in gone:
        return None
    changes: list[AnyChange] = [_without(line, [one for one in line.names if one not in gone])]
    for one, name in gone.items():
        for use in _uses(code, line, one.evaluated_alias or one.evaluated_name):
            change = _change_of_use(code, use, name)
            if change is None:
                return None
            changes += [change, ModuleImport(module_of(replaced_name(name) or ""))]
    return tuple(changes)


def _without(line: cst.ImportFrom, kept: list[cst.ImportAlias]) -> Change:
    if not kept:
        return Change(line, "")
    names = [*kept[:-1], kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    return Change(line, cst.Module([]).code_for_node(line.with_changes(names=names, lpar=None, rpar=None)))


def _uses(code: Code, line: cst.ImportFrom, local: str) -> Iterator[cst.Name]:
    for one in every(scope_of(code, line)):
        above = code.parent(one) if isinstance(one, cst.Name) and one.value == local else None
        is_attribute = isinstance(above, cst.Attribute) and above.attr is one
        if isinstance(one, cst.Name) and above is not None and not is_attribute and not _is_inside(code, one, line):
            yield one


def _is_inside(code: Code, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    above: cst.CSTNode | None = node
    while above is not None and above is not line:
        above = code.parent(above)
    return above is line


def _change_of_use(code: Code, one: cst.Name, name: str) -> Change | None:
    above = code.parent(one)
    if (constrained := constrained_call(code, one)) is not None:
        return Change(constrained, without_constraints(code, constrained))
    if isinstance(above, cst.Call) and above.func is one:
        return change_of_call(code, above, name)
    now = replaced_name(name)
    return Change(one, now) if now else None

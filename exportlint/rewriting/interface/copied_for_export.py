"""Write to a copy of the caller's container where torch exports: the program cannot reach the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import set_to
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite, Where
from exportlint.rule.patterns import called, flat_targets, text_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_OF_LISTS = frozenset({"append", "extend", "insert", "remove", "reverse", "sort", "clear"})
_OF_DICTS = frozenset({"update", "setdefault", "popitem"})


def copied_for_export(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """At the top of forward, for what the statement or call writes; None where that is a part of something else."""
    found = next(_written(code, node), None)
    function = _function_around(code, node)
    if found is None or function is None or function.name.value != "forward":
        return None
    name, maker = found
    set_anew = [one for one, _ in set_to(code, name) if not isinstance(code.parent(one), cst.AugAssign)]
    if len(set_anew) != 1 or name.value not in {one.name.value for one in function.params.params[1:]}:
        return None
    text = f"if torch.compiler.is_exporting():\n    {name.value} = {maker}({name.value})"
    changes: list[AnyChange] = [Change(_first(function), text, Where.BEFORE), ModuleImport("torch")]
    if maker == "copy.copy":
        changes.append(ModuleImport("copy"))
    return Rewrite("write to a copy where torch exports", tuple(changes))


def _function_around(code: Code, node: cst.CSTNode | None) -> cst.FunctionDef | None:
    while node is not None and not isinstance(node, cst.FunctionDef):
        node = code.parent(node)
    return node


def _written(code: Code, node: cst.CSTNode) -> Iterator[tuple[cst.Name, str]]:
    """The names of containers, and what copies one."""
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Name() as name)):
            yield from ((name, maker) for maker in _maker_of_call(code, node, name))
        case cst.AugAssign(target=cst.Name() as name):
            yield name, "list"
        case cst.Assign() | cst.AugAssign() | cst.Del():
            for target in flat_targets(node):
                match target:
                    case cst.Subscript(value=cst.Name() as name):
                        yield name, _kind(code, name) or ("dict" if _has_text(target) else "list")
                    case cst.Attribute(value=cst.Name() as name):
                        yield name, "copy.copy"


def _maker_of_call(code: Code, node: cst.Call, name: cst.Name) -> Iterator[str]:
    method, kind = called(node), _kind(code, name)
    if kind is not None:
        yield kind
    elif method in _OF_LISTS or (method == "pop" and text_argument(node) is None):
        yield "list"
    elif method in _OF_DICTS or method == "pop":
        yield "dict"


def _kind(code: Code, name: cst.Name) -> str | None:
    container = code.value(name).container
    return container if container in {"dict", "list"} else None


def _has_text(target: cst.Subscript) -> bool:
    return any(isinstance(one, cst.SimpleString) for place in target.slice for one in place.slice.children)


def _first(function: cst.FunctionDef) -> cst.CSTNode:
    """The first statement below the docstring."""
    lines = function.body.body
    match lines[0]:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return lines[1] if len(lines) > 1 else lines[0]
    return lines[0]

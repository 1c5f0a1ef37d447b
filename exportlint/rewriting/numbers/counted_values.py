"""Sets and counters of a tensor's values, of which only some questions are asked, as operations of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.source.assigned_names import name_set_to, reads
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def distinct(code: Code, node: cst.BaseExpression) -> Iterator[Rewrite]:
    """`len(set(x.tolist()))` as `torch.unique(x).shape[0]`."""
    values = _listed(code, node)
    uses = [] if values is None else [_asked_length(code, one) for one in _places(code, node)]
    if values is not None and uses and all(uses):
        text = f"torch.unique({values})"
        if (name := name_set_to(code, node)) is None:
            changes: list[AnyChange] = [Change(uses[0], f"{text}.shape[0]")]  # type: ignore[arg-type] # none is None
        else:
            changes = [Change(node, text), *(Change(one, f"{name.value}.shape[0]") for one in uses if one)]
        yield Rewrite("count with `torch.unique`", (*changes, ModuleImport("torch")))


def entries_counted(code: Code, node: cst.BaseExpression) -> Iterator[Rewrite]:
    """`Counter(x.tolist())[3]` as `(x == 3).sum()`."""
    values = _listed(code, node)
    if values is None:
        return
    changes = [_count(code, one, values) for one in _places(code, node)]
    statement = code.parent(node)
    if changes and all(changes):
        gone = [Change(statement, "")] if statement is not None and name_set_to(code, node) else []
        yield Rewrite("count with tensors", (*(one for one in changes if one), *gone))


def _places(code: Code, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Where the container is used: where it is made, or its name."""
    name = name_set_to(code, node)
    return [node] if name is None else list(reads(code, name))


def _listed(code: Code, node: cst.BaseExpression) -> str | None:
    """The tensor whose values are put into the container."""
    given: cst.BaseExpression | None = None
    match node:
        case cst.Call(args=[cst.Arg(value=listed)]):
            given = listed
        case cst.SetComp(
            elt=cst.Name(value=name), for_in=cst.CompFor(target=cst.Name(value=same), iter=iterated, ifs=[])
        ):
            given = iterated if name == same else None
        case cst.DictComp(
            key=cst.Name(value=name), for_in=cst.CompFor(target=cst.Name(value=same), iter=iterated, ifs=[])
        ):
            given = iterated if name == same else None
    if isinstance(given, cst.ListComp | cst.GeneratorExp):
        given = _items_of(given)
    if isinstance(given, cst.Call) and called(given) == "tolist" and isinstance(given.func, cst.Attribute):
        given = given.func.value
    return as_owner(code, given) if given is not None and code.value(given).is_tensor else None


def _items_of(node: cst.ListComp | cst.GeneratorExp) -> cst.BaseExpression | None:
    """`x` of `v.item() for v in x`."""
    match node:
        case cst.ListComp(elt=elt, for_in=cst.CompFor(target=cst.Name(value=name), iter=iterated, ifs=[])) | (
            cst.GeneratorExp(elt=elt, for_in=cst.CompFor(target=cst.Name(value=name), iter=iterated, ifs=[]))
        ):
            match elt:
                case cst.Call(func=cst.Attribute(value=cst.Name(value=same), attr=cst.Name(value="item"))) if (
                    same == name
                ):
                    return iterated
                case cst.Call(args=[cst.Arg(value=cst.Name(value=same))]) if same == name:
                    return iterated
                case cst.Name(value=same) if same == name:
                    return iterated
    return None


def _asked_length(code: Code, node: cst.BaseExpression) -> cst.Call | None:
    """`len(…)` around it."""
    call = code.parent(code.parent(node) or node)
    match call:
        case cst.Call(func=func, args=[cst.Arg(value=given)]) if given is node and code.name(func) == "builtins.len":
            return call
    return None


def _count(code: Code, node: cst.BaseExpression, values: str) -> Change | None:
    """`counts[3]`, `counts.get(3, 0)`."""
    above = code.parent(node)
    match above:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            return Change(above, f"({values} == {code.source_of(key)}).sum().item()")
        case cst.Attribute(attr=cst.Name(value="get")):
            call = code.parent(above)
            match call:
                case cst.Call(args=[cst.Arg(value=key), cst.Arg(value=cst.Integer(value="0"))]):
                    return Change(call, f"({values} == {code.source_of(key)}).sum().item()")
    if (call := _asked_length(code, node)) is not None:
        return Change(call, f"torch.unique({values}).shape[0]")
    return None

"""Look up Python containers by a tensor: tables of numbers, rows of tensors, and what each layer of several gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, as_whole_tensor, read_from
from exportlint.rewriting.source.assigned_names import name_set_to, only_value, reads
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rule.editing.repair import Change, ModuleImport

if TYPE_CHECKING:
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def index_tensor(code: Code, index: cst.BaseExpression) -> str:
    """The index as a tensor of one element."""
    match index:
        case cst.Call(func=func, args=[cst.Arg(value=inner)]) if code.name(func) == "builtins.int":
            tensor = read_from(code, inner)
            return (
                f"{as_whole_tensor(code, tensor)}.reshape(1)"
                if tensor is not None
                else f"torch.tensor([{_text(index)}])"
            )
    tensor = read_from(code, index)
    return f"{as_owner(code, tensor)}.reshape(1)" if tensor is not None else f"torch.tensor([{_text(index)}])"


def index_number(code: Code, index: cst.BaseExpression) -> str:
    """The index as a number that export carries along."""
    tensor = read_from(code, index)
    return f"{as_owner(code, tensor)}.item()" if tensor is not None else code.source_of(index)


def entry_of_list(code: Code, owner: cst.BaseExpression, index: cst.BaseExpression) -> str:
    """`owner[index]`, of a list or tuple of numbers or of tensors."""
    element = code.value(owner).element
    if element is not None and element.is_tensor:
        return f"torch.stack({_as_list(code, owner)})[{index_tensor(code, index)}].squeeze(0)"
    return f"{_numbers(code, owner, code.source_of(owner))}[{index_tensor(code, index)}].item()"


def entry_of_dict(
    code: Code, owner: cst.BaseExpression, key: cst.BaseExpression, default: str | None = None
) -> str | None:
    """`owner[key]`, or `owner.get(key, default)`, of a dict of numbers by whole numbers."""
    element = code.value(owner).element
    if element is not None and element.kind not in {Kind.SCALAR, Kind.UNKNOWN}:
        return None
    values = _numbers(code, owner, f"list({as_owner(code, owner)}.values())")
    found = f"{values}[torch.tensor(list({code.source_of(owner)})) == {index_number(code, key)}]"
    if default is None:
        return f"{found}[0].item()"
    return f"torch.cat([{found}, torch.tensor([{default}]{_dtype(code, owner)})])[0].item()"


def entry_of_layers(code: Code, node: cst.Subscript, index: cst.BaseExpression) -> tuple[AnyChange, ...] | None:
    """`self.heads[n](x)`, `self.tables[n].weight`: of every layer, and one is taken."""
    if (name := name_set_to(code, node)) is None:
        changed = _taken(code, node, node, index)
        return (changed, ModuleImport("torch")) if changed else None
    found = [_taken(code, one, node, index) for one in reads(code, name)]
    statement = code.parent(node)
    if not found or None in found or statement is None:
        return None
    return (*(one for one in found if one), Change(statement, ""), ModuleImport("torch"))


def _taken(code: Code, part: cst.BaseExpression, node: cst.Subscript, index: cst.BaseExpression) -> Change | None:
    """What is computed with the chosen layer, which stands in `part`, for all of them."""
    whole = _used(code, part)
    if whole is part and not (code.value(node.value).name or "").endswith("ParameterList"):
        return None
    layer = FreshNames(code).of("layer")
    each = whole.deep_replace(part, cst.Name(layer)) if whole is not part else cst.Name(layer)
    outputs = f"[{_text(each)} for {layer} in {code.source_of(node.value)}]"
    return Change(whole, f"torch.stack({outputs})[{index_tensor(code, index)}].squeeze(0)")


def _used(code: Code, node: cst.BaseExpression) -> cst.BaseExpression:
    """The call, or the attribute that is a tensor, at the end of what follows the node."""
    now = node
    while True:
        above = code.parent(now)
        match above:
            case cst.Call(func=func) if func is now:
                return above
            case cst.Attribute(value=owner) if owner is now:
                now = above
            case _:
                return now


def _numbers(code: Code, owner: cst.BaseExpression, text: str) -> str:
    return f"torch.tensor({text}{_dtype(code, owner)})"


def _dtype(code: Code, owner: cst.BaseExpression) -> str:
    """Python's floats are wide; whole numbers stay whole."""
    return "" if _are_whole(code, owner) else ", dtype=torch.float64"


def _are_whole(code: Code, owner: cst.BaseExpression) -> bool:
    display = only_value(code, owner) if isinstance(owner, cst.Name) else owner
    match display:
        case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Dict(elements=elements):
            return all(_is_integer(getattr(one, "value", None)) for one in elements)
    element = code.value(owner).element
    return element is not None and element.kind is Kind.SCALAR and element.container == "int"


def _is_integer(node: object) -> bool:
    return isinstance(node, cst.Integer) or (
        isinstance(node, cst.UnaryOperation) and isinstance(node.expression, cst.Integer)
    )


def _as_list(code: Code, owner: cst.BaseExpression) -> str:
    text = code.source_of(owner)
    return text if code.value(owner).container in {"list", "tuple"} else f"list({text})"


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)

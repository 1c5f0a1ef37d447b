"""A part of the module that a number of state chooses: every part is computed, and the chosen result taken."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.state.registered import Registered
from exportlint.rule.editing.repair import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewriting.state.own_attribute import OwnAttribute
    from exportlint.rule.code import Code


def chosen_parts(code: Code, own: OwnAttribute) -> list[Elsewhere] | None:
    """`self.layers[i](x)`, where `i` is an element of the attribute; None where an element chooses something else."""
    found: list[Elsewhere] = []
    for method in own.run:
        names = set(_element_names(own, method))
        parents = {child: node for node in ast.walk(method) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(method):
            if isinstance(node, ast.Subscript) and _is_element(own, node.slice, names):
                call = parents.get(node)
                change = _chosen(code, own, node, call if isinstance(call, ast.Call) and call.func is node else None)
                if change is None:
                    return None
                found.append(change)
        if any(_decides(own, node, names) for node in ast.walk(method)):
            return None
    return found


def _element_names(own: OwnAttribute, method: ast.AST) -> Iterator[str]:
    """The variables that hold one."""
    for node in ast.walk(method):
        match node:
            case ast.For(target=target, iter=read) | ast.comprehension(target=target, iter=read):
                match target, read:
                    case ast.Name(id=name), _ if own.is_own(read):
                        yield name
                    case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call(func=ast.Name(id="enumerate"), args=[one]):
                        if own.is_own(one):
                            yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=read) | ast.Call(func=ast.Attribute(value=read, attr="pop" | "popleft")),
            ) if own.is_own(read):
                yield name


def _is_element(own: OwnAttribute, node: ast.expr, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Subscript(value=read):
            return own.is_own(read)
    return False


def _chosen(code: Code, own: OwnAttribute, node: ast.Subscript, call: ast.Call | None) -> Elsewhere | None:
    source = Registered(code, own).source
    index = source(node.slice)
    if call is not None and not any(isinstance(one, ast.Call) for arg in call.args for one in ast.walk(arg)):
        name = FreshNames(code).of("part")
        called = source(call).replace(source(node), name, 1)
        return Elsewhere(
            call, f"torch.stack([{called} for {name} in {source(node.value)}])[{index}.view(1)].squeeze(0)"
        )
    if call is None and code.sketch.value(node.value).kind is Kind.TENSOR:
        return Elsewhere(node, f"{source(node.value)}[{index}.view(1)].squeeze(0)")
    return None


def _decides(own: OwnAttribute, node: ast.AST, names: set[str]) -> bool:
    """Is an element tested, or counted up to?"""
    match node:
        case ast.If(test=asked) | ast.IfExp(test=asked) | ast.While(test=asked):
            return any(isinstance(one, ast.expr) and _is_element(own, one, names) for one in ast.walk(asked))
        case ast.Call(func=ast.Name(id="range" | "int" | "float" | "str"), args=args):
            return any(_is_element(own, one, names) for one in args)
    return False

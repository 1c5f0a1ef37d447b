"""What the names of a function are set to, and where they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.patterns import flat_targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_OWN_SCOPE = (cst.FunctionDef, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


def only_value(code: Code, name: cst.Name) -> cst.BaseExpression | None:
    """The one expression that the function ever sets the name to; None where there are others, or it is a parameter."""
    found = set_to(code, name)
    return found[0][1] if len(found) == 1 else None


def set_to(code: Code, name: cst.Name) -> list[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """Each place that sets the name, with the expression that it is set to, where that is one of its own."""
    return [(one, value) for one, value in _settings(whole_function(code, name)) if _means(one, name)]


def reads(code: Code, name: cst.Name) -> list[cst.Name]:
    """The places that read the name, in the whole function."""
    written = [target for target, _ in _settings(whole_function(code, name))]
    found = (one for one in every(whole_function(code, name)) if isinstance(one, cst.Name) and one.value == name.value)
    return [one for one in found if not any(one is target for target in written) and not _is_word(code, one)]


def is_read_later(code: Code, node: cst.CSTNode, name: str) -> bool:
    """Is the name read behind the statement, in a loop around it, or in a function inside of its function?"""
    whole = whole_function(code, node)
    nodes, inside = list(every(whole)), {id(one) for one in every(node)}
    first = next(index for index, one in enumerate(nodes) if one is node)
    now, around = code.parent(node), list[cst.CSTNode]()
    while now is not None:
        around += [now] if isinstance(now, cst.For | cst.While) else []
        now = code.parent(now)
    scopes = [one for one in nodes if isinstance(one, _OWN_SCOPE) and one is not whole and id(one) not in inside]
    places = [*nodes[first + len(inside) :], *(one for part in (*around[-1:], *scopes) for one in every(part))]
    written = {id(target) for target, _ in _settings(whole) if not isinstance(code.parent(target), cst.AugAssign)}
    names = (one for one in places if isinstance(one, cst.Name) and one.value == name)
    return any(id(one) not in inside and id(one) not in written and not _is_word(code, one) for one in names)


def name_set_to(code: Code, value: cst.BaseExpression) -> cst.Name | None:
    """`n` where the expression stands in `n = …` alone, and nothing else sets it."""
    match code.parent(value):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]) if only_value(code, name) is value:
            return name
    return None


def whole_function(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    """The outermost function that the node stands in."""
    while (above := code.parent(node)) is not None:
        node = above
    return node


def every(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and all below."""
    yield node
    for child in node.children:
        yield from every(child)


def statement_of(code: Code, node: cst.CSTNode) -> cst.BaseStatement | None:
    """The statement that computes the node, before which lines can be put; None in lambdas and comprehensions."""
    while not isinstance(node, cst.BaseStatement):
        above = code.parent(node)
        if above is None or isinstance(above, _OWN_SCOPE):
            return None
        node = above
    plain = isinstance(code.parent(node), cst.IndentedBlock) and not isinstance(node, cst.While)
    return node if plain else None


def _settings(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """Each name that something sets, and the expression that it is set to, where that is one of its own."""
    for one in every(node):
        match one:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=value):
                yield name, value
            case cst.AnnAssign(target=cst.Name() as name, value=value) if value is not None:
                yield name, value
            case cst.Assign() | cst.AugAssign() | cst.For() | cst.Del():
                yield from ((target, None) for target in flat_targets(one))
            case cst.NamedExpr(target=target) | cst.CompFor(target=target):
                yield from ((name, None) for name in every(target) if isinstance(name, cst.Name))
            case cst.Param(name=name) | cst.AsName(name=cst.Name() as name):
                yield name, None


def _means(target: cst.BaseExpression, name: cst.Name) -> bool:
    return isinstance(target, cst.Name) and target.value == name.value


def _is_word(code: Code, name: cst.Name) -> bool:
    """Is it an attribute's name, or a keyword?"""
    match code.parent(name):
        case cst.Attribute(attr=attr):
            return attr is name
        case cst.Arg(keyword=keyword):
            return keyword is name
    return False


def is_set_once(code: Code, name: cst.Name) -> bool:
    """Does the name mean the same in the whole function, once it is set?"""
    return len(set_to(code, name)) <= 1

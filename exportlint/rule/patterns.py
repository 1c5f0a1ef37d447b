"""What torch code looks like: matchers that several rules share."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo


_IN_PLACE = re.compile(r"[a-z]\w*[a-z0-9]_")

# Methods that end in an underscore and change the shape, the storage or the autograd state, never the values.
SHAPE_METHODS = frozenset(
    {"t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "resize_", "resize_as_", "set_"}
    | {"as_strided_", "rename_"}
)
_NO_VALUE_METHODS = SHAPE_METHODS | {"requires_grad_", "share_memory_", "detach_"}

CONTAINER_METHODS = frozenset(
    {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "move_to_end"}
    | {"pop", "popleft", "popitem", "remove", "discard", "clear", "rotate", "sort", "reverse"}
)


def flat_targets(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What an assignment, a `del` or a `for` gives new values to, with tuples, lists and stars taken apart.

    node   a statement of libcst, or a part of one; any other node gives nothing

    >>> import libcst as cst
    >>> assignment = cst.parse_statement("a, (b.c, *d) = values").body[0]
    >>> [cst.Module([]).code_for_node(target) for target in flat_targets(assignment)]
    ['a', 'b.c', 'd']
    """
    match node:
        case cst.Assign(targets=targets):
            for target in targets:
                yield from flat_targets(target.target)
        case cst.AnnAssign(target=target, value=value) if value is not None:
            yield target
        case cst.AugAssign(target=target) | cst.Del(target=target) | cst.For(target=target):
            yield from flat_targets(target)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from flat_targets(element.value)
        case cst.Name() | cst.Attribute() | cst.Subscript():
            yield node


def written_in_place(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions whose values an assignment or a call writes in place, should they be tensors.

    `x[0] = 1`, `x += 1`, `x[0] += 1`, `x.add_(1)`, `torch.add(a, b, out=x)`, `F.relu(x, inplace=True)`,
    `nn.init.ones_(x)`. By the names alone: whether they are tensors, `Code.value` knows.

    >>> import libcst as cst
    >>> call = cst.parse_expression("torch.add(a, b, out=total)")
    >>> [cst.Module([]).code_for_node(written) for written in written_in_place(call)]
    ['total']
    """
    match node:
        case cst.AugAssign(target=cst.Subscript(value=written)) | cst.AugAssign(target=written):
            yield written
        case cst.Assign() | cst.AnnAssign():
            for target in flat_targets(node):
                if isinstance(target, cst.Subscript):
                    yield target.value
        case cst.Call():
            yield from _written_by_call(node)


def _written_by_call(call: cst.Call) -> Iterator[cst.BaseExpression]:
    words = {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
    name = called(call)
    if name and _IN_PLACE.fullmatch(name) and name not in _NO_VALUE_METHODS:
        yield from _first(call) if _of_module(call) else _owner(call)
    elif isinstance(flag := words.get("inplace"), cst.Name) and flag.value == "True":
        yield from _first(call)
    if "out" in words:
        yield from _displayed(words["out"])


def _of_module(call: cst.Call) -> bool:
    """Is this `torch.relu_(x)`, and not the method `x.relu_()`?"""
    owner = next(_owner(call), None)
    return owner is None or root_name(owner) in {"torch", "F", "nn", "init", "functional"}


def _owner(call: cst.Call) -> Iterator[cst.BaseExpression]:
    if isinstance(call.func, cst.Attribute):
        yield call.func.value


def _first(call: cst.Call) -> Iterator[cst.BaseExpression]:
    if call.args and not call.args[0].keyword and not call.args[0].star:
        yield call.args[0].value


def _displayed(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.Tuple):
        yield from (element.value for element in node.elements)
    else:
        yield node


def called(call: cst.Call) -> str | None:
    """The last name of what is called; None where it is no name, as in `table[0](x)`.

    >>> import libcst as cst
    >>> called(cst.parse_expression("self.past.append(x)"))
    'append'
    """
    match call.func:
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name
    return None


def root_name(node: cst.CSTNode) -> str | None:
    """The name a chain of attributes, items and calls starts with; None where it starts with anything else.

    >>> import libcst as cst
    >>> root_name(cst.parse_expression("self.store['k'].t()"))
    'self'
    """
    while not isinstance(node, cst.Name):
        match node:
            case cst.Attribute(value=inner) | cst.Subscript(value=inner) | cst.Call(func=inner):
                node = inner
            case _:
                return None
    return node.value


def dotted(node: cst.CSTNode) -> str | None:
    """A plain chain of names as text, else None.

    >>> import libcst as cst
    >>> dotted(cst.parse_expression("self.store.k")), dotted(cst.parse_expression("self.store[0]"))
    ('self.store.k', None)
    """
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=inner, attr=cst.Name(value=name)) if head := dotted(inner):
            return f"{head}.{name}"
    return None


def text_argument(call: cst.Call, index: int = 0) -> str | None:
    """The value of a plain string argument, by its place (from 0); None where there is none.

    >>> import libcst as cst
    >>> text_argument(cst.parse_expression("delattr(self, 'bias')"), 1)
    'bias'
    """
    if index < len(call.args) and isinstance(text := call.args[index].value, cst.SimpleString):
        value = text.evaluated_value
        return value if isinstance(value, str) else None
    return None


def is_part(cls: ClassInfo) -> bool:
    """Does another class of the file make such an object, or take one in its constructor, to have it as a part?

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Head(torch.nn.Module): ...
    ... class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         self.head = Head()
    ... ''')
    >>> {name: is_part(cls) for name, cls in code.module.classes.items()}
    {'Head': True, 'Net': False}
    """
    names = frozenset(one.name for one in cls.lineage)
    return any(names & used for other, used in _used_by(cls.module.tree).items() if other not in names)


@lru_cache(maxsize=8)
def _used_by(tree: ast.Module) -> dict[str, frozenset[str]]:
    """The names that each class of the file calls, or annotates a parameter of its constructor with."""
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {cls.name: frozenset((*_called_names(cls), *_taken_names(cls))) for cls in classes}


def _called_names(cls: ast.ClassDef) -> Iterator[str]:
    for node in walked(cls):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _taken_names(cls: ast.ClassDef) -> Iterator[str]:
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            annotations = (arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs) if arg.annotation)
            yield from (n.id for a in annotations for n in walked(a) if isinstance(n, ast.Name))

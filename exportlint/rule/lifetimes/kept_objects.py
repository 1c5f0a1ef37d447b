"""Objects that are no modules, and that a module keeps from one call to the next."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rule.lifetimes.attribute_use import use_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rule.code import Code


def methods_of(cls: ClassInfo) -> dict[str, ast.FunctionDef]:
    """The methods by name, with those of the project's base classes.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... class Meter:
    ...     def step(self): ...
    ... class Fast(Meter):
    ...     def read(self): ...
    ... ''')
    >>> sorted(methods_of(code.module.classes["Fast"]))
    ['read', 'step']
    """
    found = (method for base in reversed(cls.lineage) for method in base.methods.values())
    return {method.name: method.node for method in found if isinstance(method.node, ast.FunctionDef)}


def is_read_first(code: Code, attribute: str) -> bool:
    """Is the attribute read before this method sets it: by the method, or by the class that keeps the object?

    code        of a method of a class
    attribute   the name behind `self.`

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Carry:
    ...     def update(self, hidden):
    ...         self.hidden = hidden
    ... class Policy(torch.nn.Module):
    ...     def __init__(self):
    ...         self.carry = Carry()
    ...     def forward(self, x):
    ...         return self.carry.update(x + self.carry.hidden)
    ... ''', "update")
    >>> is_read_first(code, "hidden")
    True
    """
    cls, method = code.cls, code.function
    if cls is None or method is None:
        return False
    return bool(use_of(attribute, methods_of(cls), method.name).early) or any(
        _reads_before(function, slot, attribute, method.name)
        for keeper in cls.module.classes.values()
        for slot in _slots(keeper, cls.name)
        for function in methods_of(keeper).values()
    )


def _slots(keeper: ClassInfo, name: str) -> Iterator[str]:
    """The attributes that are assigned an object of the class of this name."""
    methods = {method.name: (base, method) for base in reversed(keeper.lineage) for method in base.methods.values()}
    for base, method in methods.values():
        if isinstance(method.node, ast.FunctionDef):
            made = base.module.parts.kept(method.node, _made_on_self)
            yield from (slot for slot, made_by in made if made_by == name)


def _made_on_self(_file: Parsed, method: ast.AST) -> tuple[tuple[str, str], ...]:
    """`self.SLOT = NAME(…)`, as slots and names."""
    found = []
    for node in walked(method):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=slot)], value=ast.Call(func=ast.Name(id=name))
            ):
                found.append((slot, name))
    return tuple(found)


def _reads_before(function: ast.FunctionDef, slot: str, attribute: str, method: str) -> bool:
    """Where both stand in one function: is the first read, as the text goes, not behind the first call?"""
    reads, calls = [], []
    for node in walked(function):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name == method and _is_own(owner, slot):
                calls.append((node.end_lineno or 0, node.end_col_offset or 0))
            case ast.Attribute(value=owner, attr=name, ctx=ast.Load()) if name == attribute and _is_own(owner, slot):
                reads.append((node.lineno, node.col_offset))
    return bool(reads and calls) and min(reads) < min(calls)


def _is_own(node: ast.expr, slot: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == slot
    return False

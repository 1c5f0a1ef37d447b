"""Numbers that a seeded generator draws anew, and alike, in every call are drawn once, in `__init__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.made_once.made_before import free_attribute, is_free
from exportlint.rewriting.made_once.moved_to_init import Sized
from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rule.editing.repair import Change, InInit, ModuleImport, Rewrite
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


def drawn_before(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`node` makes, seeds or takes a generator that forward seeds and that one call draws from."""
    generator = _generator(code, node)
    lines = _lines(code, node, generator) if generator is not None else []
    draws = [
        one
        for one in every(whole_function(code, node))
        if generator is not None and isinstance(one, cst.Call) and _takes(one, code, generator)
    ]
    statements = [line for line in lines if not any(one is draw for draw in draws for one in every(line))]
    seeded = any(_seeds(one) for line in statements for one in every(line))
    draw = draws[0].visit(Sized(code)) if len(draws) == 1 else None
    if generator is None or not seeded or not isinstance(draw, cst.Call):
        return
    by_torch = (code.name(draws[0].func) or "").startswith("torch.")
    if not by_torch or not _are_free(code, statements, draw, generator):
        return
    name = free_attribute(code, _name(code, draws[0]))
    made = [code.source_of(line) for line in statements]
    drawn = f'self.register_buffer("{name}", {cst.Module([]).code_for_node(draw)}, persistent=False)'
    gone = (Change(line, "") for line in statements)
    before, taken = InInit("\n".join([*made, drawn])), Change(draws[0], f"self.{name}")
    yield Rewrite("draw it in `__init__`", (before, *gone, taken, ModuleImport("torch")))


def _generator(code: Code, node: cst.Call) -> str | None:
    """`generator` or `self.generator`."""
    given = next((arg.value for arg in node.args if arg.keyword and arg.keyword.value == "generator"), None)
    if given is not None:
        return code.source_of(given) if isinstance(given, cst.Name | cst.Attribute) else None
    match node.func:
        case cst.Attribute(value=cst.Name() | cst.Attribute() as owner) if code.name(node.func) != "torch.Generator":
            return code.source_of(owner)
    now: cst.CSTNode | None = node
    while now is not None and not isinstance(now, cst.Assign):
        now = code.parent(now)
    match now:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
            return code.source_of(target)
    return None


def _lines(code: Code, node: cst.CSTNode, generator: str) -> list[cst.SimpleStatementLine]:
    lines = (one for one in every(whole_function(code, node)) if isinstance(one, cst.SimpleStatementLine))
    return [line for line in lines if any(_is(code, one, generator) for one in every(line))]


def _is(code: Code, node: cst.CSTNode, generator: str) -> bool:
    return isinstance(node, cst.Name | cst.Attribute) and code.source_of(node) == generator


def _takes(node: cst.Call, code: Code, generator: str) -> bool:
    words = [arg for arg in node.args if arg.keyword]
    return any(arg.keyword and arg.keyword.value == "generator" and _is(code, arg.value, generator) for arg in words)


def _seeds(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and called(node) == "manual_seed"


def _are_free(code: Code, lines: Sequence[cst.CSTNode], draw: cst.Call, generator: str) -> bool:
    plain = all(len(line.body) == 1 for line in lines if isinstance(line, cst.SimpleStatementLine))
    return plain and all(is_free(code, one, {generator}) for one in (*lines, draw))


def _name(code: Code, draw: cst.CSTNode) -> str:
    match code.parent(draw):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name
    return "noise"

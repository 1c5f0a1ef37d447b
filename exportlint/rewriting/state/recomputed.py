"""A table of sizes that the first call keeps on self, as a variable that every call computes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rule.editing.repair import Change, Elsewhere, Rewrite
from exportlint.rule.patterns import called, text_argument
from exportlint.rule.taint import ValuesUsed, made_from_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


_DRAWS = re.compile(r"\b(rand\w*|normal_?|uniform_?|bernoulli_?|multinomial|dropout|nn\.Parameter|Parameter)\(")


def recomputed(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """`if self.table is None: self.table = torch.arange(n)` as `table = torch.arange(n)`; None where it is more."""
    guard = _guard(code, node)
    function = code.function
    if guard is None or code.cls is None or function is None:
        return None
    kept = [_kept(line) for line in guard.body.body]
    owns = {name: OwnAttribute(code.cls, name) for one in kept if one for name, _ in [one] if not name.startswith("=")}
    if None in kept or not owns or any(_is_used_elsewhere(own, function.node) for own in owns.values()):
        return None
    values = [one[1] for one in kept if one]
    if any(_DRAWS.search(code.source_of(value)) for value in values) or _carry_data(code, node, values):
        return None
    if any(name in code.sketch.bound for name in owns) or not all(
        own.mentions(_test(guard)) for own in _asked(owns, guard)
    ):
        return None
    read = [one for one in kept if one and (one[0].startswith("=") or _is_read(code, guard, owns[one[0]]))]
    text = "\n".join(_line(code, one) for one in read)
    whole = Change(guard, _as_locals(text, owns))
    return Rewrite("compute it in every call", (whole, *_reads(code, guard, owns), *_definitions(owns)))


def _guard(code: Code, node: cst.CSTNode) -> cst.If | None:
    """The `if` of the store, that has no other side."""
    now: cst.CSTNode | None = node
    while now is not None and not isinstance(now, cst.If | cst.FunctionDef):
        now = code.parent(now)
    plain = isinstance(now, cst.If) and now.orelse is None and isinstance(now.body, cst.IndentedBlock)
    return now if plain and isinstance(now, cst.If) and not isinstance(code.parent(now), cst.If) else None


def _kept(line: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """What a line sets, and to what: an attribute, a buffer, or (with `=`) a variable."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]):
            match target:
                case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                    return name, _bare(value)
                case cst.Name(value=name):
                    return f"={name}", value
        case cst.SimpleStatementLine(
            body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name(value="self"))) as call)]
        ):
            buffer = text_argument(call)
            if called(call) == "register_buffer" and buffer is not None and len(call.args) > 1:
                return buffer, call.args[1].value
    return None


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """What `nn.Buffer(…)` holds."""
    if isinstance(value, cst.Call) and called(value) == "Buffer" and value.args:
        return value.args[0].value
    return value


def _carry_data(code: Code, node: cst.CSTNode, values: Sequence[cst.BaseExpression]) -> bool:
    root = node
    while (above := code.parent(root)) is not None:
        root = above
    given = made_from_inputs(
        root, lambda name: name.value != "self" and code.value(name).kind in {Kind.TENSOR, Kind.UNKNOWN}
    )
    used = ValuesUsed()
    for value in values:
        value.visit(used)
    return bool(used.names & given)


def _is_used_elsewhere(own: OwnAttribute, function: ast.AST) -> bool:
    """Does another method than `__init__` and this one name it?"""
    methods = (method for name, found in own.methods.items() if name != "__init__" for method in found)
    return any(own.mentions(method) for method in methods if method is not function)


def _is_read(code: Code, guard: cst.If, own: OwnAttribute) -> bool:
    """Apart from the test."""
    last = code.place(guard.test).end_line
    return any(read.lineno > last for read in own.reads_in(code.function.node)) if code.function else False


def _test(guard: cst.If) -> ast.AST:
    return ast.parse(cst.Module([]).code_for_node(guard.test).strip())


def _asked(owns: dict[str, OwnAttribute], guard: cst.If) -> Iterator[OwnAttribute]:
    """The first of them decides whether it is time; `hasattr` names it as text."""
    text = cst.Module([]).code_for_node(guard.test)
    if not any(f'"{name}"' in text or f"'{name}'" in text or f"self.{name}" in text for name in owns):
        yield next(iter(owns.values()))


def _line(code: Code, one: tuple[str, cst.BaseExpression]) -> str:
    name, value = one
    return f"{name.removeprefix('=')} = {code.source_of(value)}"


def _as_locals(text: str, owns: dict[str, OwnAttribute]) -> str:
    return re.sub(rf"\bself\.({'|'.join(map(re.escape, owns))})\b", r"\1", text)


def _reads(code: Code, guard: cst.If, owns: dict[str, OwnAttribute]) -> Iterator[Elsewhere]:
    place = code.place(guard)
    for name, own in owns.items():
        for read in own.reads_in(code.function.node) if code.function else ():
            if not place.line <= read.lineno <= place.end_line:
                yield Elsewhere(read, name)


def _definitions(owns: dict[str, OwnAttribute]) -> Iterator[Elsewhere]:
    for own in owns.values():
        definition = own.definition
        inits = own.methods.get("__init__", ())
        if definition is not None and sum(own.mentions(one) for init in inits for one in init.body) <= 1:
            yield Elsewhere(definition, "")

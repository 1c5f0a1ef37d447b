"""What only the first call sets, under a flag: written in every call, with what is there already behind the first."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name
from exportlint.rewriting.source.left_statements import comments_of
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import buffer_line
from exportlint.rule.editing.repair import Elsewhere, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rule.editing.repair import AnyChange


def written_in_first_call(cls: ClassInfo, flag: str) -> tuple[AnyChange, ...] | None:
    """`if not self.ready: self.scale.copy_(x.std()); self.ready = True`, in its own block or in a method that it calls.

    None where the block does more than to fill buffers, or something else asks for the flag.
    """
    own = OwnAttribute(cls, flag)
    decisions = [one for method in own.run for one in ast.walk(method) if isinstance(one, ast.If)]
    asking = [one for one in decisions if own.mentions(one.test)]
    begins = isinstance(own.defined, ast.Constant) and own.defined.value is False and own.definition is not None
    if not begins or own.definition is None or len(asking) != 1 or len(own.stores) != 1 or asking[0].orelse:
        return None
    decision = asking[0]
    if _is_named(own, flag) or (_called(own, decision) is None and _is_read_behind(own, decision)):
        return None
    rest = _without_flag(own, decision.test)
    lines = _First(own).lines(_block(own, decision))
    if rest is None or lines is None or sum(1 for method in own.run for _ in own.reads_in(method)) != 1:
        return None
    return (
        Elsewhere(own.definition, buffer_line(flag, "torch.tensor(False)")),
        *_placed(own, decision, rest, lines),
        ModuleImport("torch"),
    )


def _is_named(own: OwnAttribute, flag: str) -> bool:
    """Is the flag set or asked for by its name, as `setattr(net, "ready", False)` does?"""
    return any(isinstance(one, ast.Constant) and one.value == flag for one in ast.walk(own.module.tree))


def _is_read_behind(own: OwnAttribute, decision: ast.If) -> bool:
    """Is a name that the block sets read outside of it, where later calls would meet another value?"""
    inside = {id(one) for one in ast.walk(decision)}
    names = [one for method in own.run for one in ast.walk(method) if isinstance(one, ast.Name)]
    made = {one.id for one in names if id(one) in inside and isinstance(one.ctx, ast.Store)}
    return any(one.id in made and id(one) not in inside for one in names)


def _block(own: OwnAttribute, decision: ast.If) -> Sequence[ast.stmt]:
    """The statements that the first call runs."""
    method = _called(own, decision)
    return _body(method) if method is not None else decision.body


def _called(own: OwnAttribute, decision: ast.If) -> ast.FunctionDef | None:
    """The method of `if not self.ready: self.prepare(x)`, where nothing else calls it."""
    match decision.body:
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)))]:
            reads = (one for method in own.run for one in ast.walk(method) if isinstance(one, ast.Attribute))
            found = own.methods.get(name, [])
            alone = sum(one.attr == name and ast.unparse(one.value) == "self" for one in reads) == 1
            return found[0] if len(found) == 1 and alone else None
    return None


def _body(method: ast.FunctionDef) -> Sequence[ast.stmt]:
    return method.body[ast.get_docstring(method, clean=False) is not None :]


def _placed(own: OwnAttribute, decision: ast.If, rest: str, lines: Sequence[str]) -> Iterator[Elsewhere]:
    method = _called(own, decision)
    text = _rewritten(own, decision.body, lines) if method is None else _source(own, decision.body[0])
    head = own.module.parsed.lines[decision.lineno - 1 : decision.body[0].lineno - 1]
    text = "\n".join([*comments_of(head), text])
    yield Elsewhere(decision, f"if {rest}:\n{textwrap.indent(text, '    ')}" if rest else text)
    if method is not None:
        pairs = zip(_body(method), lines, strict=True)
        yield from (Elsewhere(one, line) for one, line in pairs if line != _source(own, one))


def _rewritten(own: OwnAttribute, block: Sequence[ast.stmt], texts: Sequence[str]) -> str:
    """The lines of the block, with their comments, and with other texts for its statements."""
    first = block[0].lineno
    lines = own.module.parsed.lines[first - 1 : block[-1].end_lineno]
    for node, text in zip(reversed(block), reversed(texts), strict=True):
        start, end = node.lineno - first, (node.end_lineno or 0) - first
        behind = lines[end].encode()[node.end_col_offset or 0 :].decode()
        indent = " " * node.col_offset
        lines[start : end + 1] = textwrap.indent(f"{text}{behind}", indent).split("\n")
    return textwrap.dedent("\n".join(lines))


def _without_flag(own: OwnAttribute, test: ast.expr) -> str | None:
    """What the test asks beside `not self.ready`."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    others = [one for one in parts if not _is_not_set(own, one)]
    if len(others) != len(parts) - 1 or any(map(own.mentions, others)):
        return None
    return " and ".join(_source(own, one) for one in others)


def _is_not_set(own: OwnAttribute, node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and own.is_own(node.operand)


# What raises for some values: factorisations, solvers, and draws by weights.
_MAY_RAISE = frozenset({
    "cholesky", "cholesky_inverse", "cholesky_solve", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inverse", "lobpcg",
    "lstsq", "lu", "multinomial", "pinv", "pinverse", "qr", "solve", "svd", "svdvals", "tensorinv", "tensorsolve",
})  # fmt: skip


@dataclass
class _First:
    """Of the block that the first call runs."""

    own: OwnAttribute

    def lines(self, block: Sequence[ast.stmt]) -> list[str] | None:
        """None where it does anything else than to compute, to fill buffers, and to set the flag in the end."""
        *others, last = block
        found = [self._line(one) for one in others]
        if not others or None in found or not isinstance(last, ast.Assign) or not self._sets_flag(last):
            return None
        return [*(one for one in found if one is not None), f"self.{self.own.name}.fill_(True)"]

    def _sets_flag(self, node: ast.Assign) -> bool:
        return self.own.is_own(node.targets[0]) and isinstance(node.value, ast.Constant) and node.value.value is True

    def _line(self, node: ast.stmt) -> str | None:
        match node:
            case ast.With(items=[ast.withitem(context_expr=context)], body=body):
                inside = [self._line(one) for one in body]
                kept = [textwrap.indent(one, "    ") for one in inside if one is not None]
                text = "\n".join([f"with {_source(self.own, context)}:", *kept])
                return text if None not in inside else None
            case ast.Assign(targets=[ast.Name()]):
                return _source(self.own, node)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name) as target], value=value):
                return self._filled(target, value) if self._is_buffer(name) else None
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="copy_"), args=[value])):
                return self._filled(target, value)
        return None

    def _is_buffer(self, name: str) -> bool:
        return isinstance(OwnAttribute(self.own.cls, name).definition, ast.Expr)

    def _filled(self, target: ast.expr, value: ast.expr) -> str | None:
        """None of what may raise for later inputs."""
        if any(isinstance(one, ast.Call) and last_name(one.func) in _MAY_RAISE for one in ast.walk(value)):
            return None
        whole = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target
        place = _source(self.own, whole)
        written = place if whole is target else f"{place}.detach()"
        return f"{written}.copy_(torch.where(self.{self.own.name}, {place}, {_source(self.own, value)}))"


def _source(own: OwnAttribute, node: ast.AST) -> str:
    return ast.get_source_segment(own.module.parsed.text, node) or ast.unparse(node)

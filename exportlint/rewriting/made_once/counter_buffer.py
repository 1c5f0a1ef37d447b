"""Write an iterator that outlives the call as a buffer that counts."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.as_tensors.number_tensors import NumbersAsTensors
from exportlint.rewriting.made_once.endless_generator import Unrolled, counting_steps, endless_steps, given_arguments
from exportlint.rewriting.made_once.made_before import free_attribute
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.replaced_parts import text_with
from exportlint.rewriting.state.registered import buffer_line
from exportlint.rule.editing.repair import Change, Elsewhere, ModuleImport, Rewrite, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.rewriting.made_once.endless_generator import Steps
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_OVER_ANY = frozenset({"itertools.cycle", "builtins.iter", "iter"})


@dataclass(frozen=True)
class _Iterator:
    """`made`: the statement of `__init__`; `buffers`: the lines that make its buffers; `value`: the element now.

    before, after   the lines that lead to the value, and from it to the next one (None: one more is taken)
    """

    made: ast.stmt
    buffers: tuple[str, ...]
    value: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None


def counter_buffer(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`next(self.steps)`, once in a statement that runs once where it stands."""
    statement = _statement_of(code, node)
    attribute = _attribute(node)
    if statement is None or attribute is None or _uses(code, attribute) != 1:
        return
    index = f"self.{free_attribute(code, f'{attribute}_taken')}"
    found = _made(code, attribute, index)
    if found is None:
        return
    made, torch = Elsewhere(found.made, "\n".join(found.buffers)), ModuleImport("torch")
    moved = [f"{index}.add_(1)"] if found.after is None else list(found.after)
    if isinstance(code.parent(node), cst.Assign):
        led = [Change(statement, "\n".join(found.before), Where.BEFORE)] if found.before else []
        led += [Change(statement, "\n".join(moved), Where.AFTER)] if moved else []
        changes: tuple[AnyChange, ...] = (made, Change(node, found.value), *led, torch)
    else:
        name = FreshNames(code).of(attribute.lstrip("_"))
        lines = "\n".join([*found.before, f"{name} = {found.value}", *moved])
        changes = (made, Change(statement, lines, Where.BEFORE), _in_tensors(code, node, name), torch)
    yield Rewrite("count in a buffer", changes)


def _in_tensors(code: Code, node: cst.Call, name: str) -> Change:
    """The name of the tensor in the place of the call; functions of numbers around it become those of torch."""
    outer, above = node, code.parent(node)
    while isinstance(above, cst.BaseExpression | cst.Arg):
        if isinstance(above, cst.Call) and (code.name(above.func) or "").startswith(("math.", "builtins.")):
            outer = above
        above = code.parent(above)
    tensors = NumbersAsTensors(frozenset({name}))
    new = tensors.visit(ast.parse(text_with(code, outer, {node: name}), mode="eval"))
    return Change(node, name) if tensors.refused or outer is node else Change(outer, ast.unparse(new))


def _attribute(node: cst.Call) -> str | None:
    match node:
        case cst.Call(args=[cst.Arg(value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)))]):
            return name
        case cst.Call(
            func=cst.Attribute(value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))), args=[]
        ):
            return name
    return None


def _statement_of(code: Code, node: cst.CSTNode) -> cst.CSTNode | None:
    """None where the call may run more than once, or not at all, in its statement."""
    while not isinstance(node, cst.BaseStatement):
        above = code.parent(node)
        if isinstance(above, cst.IfExp | cst.BooleanOperation | cst.Lambda | cst.BaseComp | cst.CompFor | cst.Await):
            return None
        if above is None:
            return None
        node = above
    return node if isinstance(node, cst.SimpleStatementLine) else None


def _uses(code: Code, attribute: str) -> int:
    """Where the class reads it."""
    classes = code.cls.lineage if code.cls else ()
    nodes = (node for cls in classes for node in ast.walk(cls.node))
    return sum(
        isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load) for node in nodes
    )


def _made(code: Code, attribute: str, index: str) -> _Iterator | None:
    init = code.cls.methods.get("__init__") if code.cls else None
    for statement in init.node.body if init is not None and isinstance(init.node, ast.FunctionDef) else ():
        match statement:
            case ast.Assign(targets=[target], value=value) if ast.unparse(target) == f"self.{attribute}":
                return _iterator(code, statement, value, attribute, index) or _generated(
                    code, statement, value, attribute
                )
    return None


def _iterator(code: Code, statement: ast.stmt, value: ast.expr, attribute: str, index: str) -> _Iterator | None:
    match value:
        case ast.Call(func=func, args=args, keywords=[]):
            name = code.module.dotted(func) or ast.unparse(func)
            if name in _OVER_ANY and len(args) == 1 and isinstance(args[0], ast.Name | ast.Attribute):
                values = f"list({ast.unparse(args[0])})"
                return _tabled(code, statement, values, attribute, is_endless=name == "itertools.cycle")
            return _counted(code, statement, name, args, index)
    return None


def _generated(code: Code, statement: ast.stmt, value: ast.expr, attribute: str) -> _Iterator | None:
    """By a generator function of the file, or a generator expression over `itertools.count`."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in code.module.functions:
            function = code.module.functions[name].node
            given = given_arguments(function, value) if isinstance(function, ast.FunctionDef) else None
            steps = endless_steps(function) if isinstance(function, ast.FunctionDef) else None
        case ast.GeneratorExp(
            elt=element,
            generators=[ast.comprehension(target=ast.Name() as target, iter=ast.Call(func=func, args=args), ifs=[])],
        ) if code.module.dotted(func) == "itertools.count" and len(args) <= 1:
            given, steps = {}, counting_steps(target.id, args, element)
        case _:
            return None
    if steps is None and isinstance(value, ast.Call) and _ends(function):
        return _tabled(code, statement, f"list({ast.unparse(value)})", attribute, is_endless=False)
    if steps is None or given is None or not steps.kept or not _names_are_global(code, steps, given):
        return None
    unrolled = Unrolled(steps, given, attribute.lstrip("_"), FreshNames(code))
    parts = unrolled.registered(), unrolled.lines(steps.before), unrolled.value(), unrolled.lines(steps.after)
    made, before, element_now, after = parts
    if made is None or before is None or element_now is None or after is None:
        return None
    owned = {f"{attribute.lstrip('_')}_{name}" for name in (*steps.kept, *given)}
    if any(free_attribute(code, one) != one for one in owned):
        return None
    return _Iterator(statement, tuple(made), element_now, tuple(before), tuple(after))


def _ends(function: ast.AST) -> bool:
    """Is its only loop one over a range, and does it give numbers?"""
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.While)]
    ranged = all(
        isinstance(one, ast.For) and isinstance(one.iter, ast.Call) and ast.unparse(one.iter.func) == "range"
        for one in loops
    )
    return bool(loops) and ranged


def _tabled(code: Code, made: ast.stmt, values: str, attribute: str, *, is_endless: bool) -> _Iterator:
    """Numbers that a table holds, of which each call takes the next one."""
    name = attribute.lstrip("_")
    table, index = (f"self.{free_attribute(code, f'{name}_{what}')}" for what in ("values", "taken"))
    lines = (
        buffer_line(table.removeprefix("self."), f"torch.tensor({values}, dtype=torch.float64)"),
        buffer_line(index.removeprefix("self."), "torch.tensor(0)"),
    )
    place = f"{index}.reshape(1)" + (f" % {table}.shape[0]" if is_endless else "")
    return _Iterator(made, lines, f"{table}.index_select(0, {place}).squeeze(0)", after=(f"{index}.add_(1)",))


def _names_are_global(code: Code, steps: Steps, given: Mapping[str, ast.expr]) -> bool:
    """Does what else the steps read mean the same in the method that takes their values?"""
    parts = (steps.value, *steps.begin, *steps.before, *steps.after)
    read = {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}
    begun = {target.id for one in steps.begin for target in one.targets if isinstance(target, ast.Name)}
    return not (read - set(given) - begun - set(steps.passing)) & set(code.sketch.bound)


def _counted(code: Code, made: ast.stmt, name: str, args: list[ast.expr], index: str) -> _Iterator | None:
    register = f'self.register_buffer("{index.removeprefix("self.")}", torch.tensor(0), persistent=False)'
    match name, args:
        case "itertools.count", [] | [ast.Constant()] | [ast.Constant(), ast.Constant()]:
            start, step = [*(ast.unparse(one) for one in args), *("0", "1")[len(args) :]]
            value = index if step == "1" else f"{index} * {step}"
            return _Iterator(made, (register,), f"{start} + {value}" if start != "0" else f"{value} + 0")
        case "itertools.cycle" | "builtins.iter" | "iter", [ast.List() | ast.Tuple() as rows] if _numbers(rows):
            table = f"self.{free_attribute(code, index.removeprefix('self.').replace('_taken', '_values'))}"
            place = f"{index}.reshape(1)" + (f" % {len(rows.elts)}" if name.endswith("cycle") else "")
            tensor = f"torch.tensor({ast.unparse(rows)}{_dtype(rows)})"
            line = f'self.register_buffer("{table.removeprefix("self.")}", {tensor}, persistent=False)'
            return _Iterator(made, (line, register), f"{table}.index_select(0, {place}).squeeze(0)")
    return None


def _numbers(rows: ast.List | ast.Tuple) -> bool:
    return bool(rows.elts) and all(
        isinstance(one, ast.Constant) and type(one.value) in {int, float} for one in rows.elts
    )


def _dtype(rows: ast.List | ast.Tuple) -> str:
    """As exact as Python's numbers."""
    floats = any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in rows.elts)
    return ", dtype=torch.float64" if floats else ""

"""A generator function of numbers that never ends, as what each `next` does: its variables become buffers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from exportlint.rewriting.as_tensors.number_tensors import NumbersAsTensors, is_exact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.rewriting.source.fresh_names import FreshNames


@dataclass(frozen=True)
class Steps:
    """What a generator does: `begin` once, `before` the value, `value`, and `after` it, of every `next`."""

    begin: Sequence[ast.Assign]
    before: Sequence[ast.stmt]
    value: ast.expr
    after: Sequence[ast.stmt]

    @property
    def kept(self) -> list[str]:
        """The variables that one `next` leaves for the following one."""
        begun = [target.id for one in self.begin for target in one.targets if isinstance(target, ast.Name)]
        changed = {name for one in (*self.before, *self.after) for name in _set_by(one)}
        return [name for name in dict.fromkeys(begun) if name in changed]

    @property
    def passing(self) -> list[str]:
        """The variables of one step alone."""
        changed = dict.fromkeys(name for one in (*self.before, *self.after) for name in _set_by(one))
        return [name for name in changed if name not in self.kept]


def endless_steps(function: ast.FunctionDef) -> Steps | None:
    """`k = 0`, then `while True: yield f(k); k += 1`; None where it is more than that."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [*begin, ast.While(test=ast.Constant(value=True | 1), body=loop, orelse=[])] if _are_plain(begin):
            places = [index for index, one in enumerate(loop) if _yielded(one) is not None]
            yields = [one for part in loop for one in ast.walk(part) if isinstance(one, ast.Yield | ast.YieldFrom)]
            if len(places) == 1 and len(yields) == 1:
                value = _yielded(loop[places[0]])
                before, after = loop[: places[0]], loop[places[0] + 1 :]
                if value is not None and all(map(_is_step, (*before, *after))):
                    return Steps(begin, before, value, after)
    return None


def counting_steps(name: str, start: list[ast.expr], value: ast.expr) -> Steps:
    """Those of `(f(k) for k in itertools.count(1))`."""
    first = start[0] if start else ast.Constant(0)
    begin = ast.Assign([ast.Name(name, ast.Store())], first)
    return Steps([begin], [], value, [ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1))])


def given_arguments(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """Parameter -> what the call, or the default, gives for it; None where that is not plain."""
    spec = function.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    if spec.vararg or spec.kwarg or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    given = dict(zip(reversed(names), reversed(spec.defaults), strict=False))
    given |= {one.arg: default for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default}
    given |= dict(zip(names, call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    wanted = {*names, *(one.arg for one in spec.kwonlyargs)}
    return (
        given if set(given) == wanted and len(call.args) <= len(names) and all(w.arg for w in call.keywords) else None
    )


@dataclass
class Unrolled:
    """The text of the steps, where the variables are buffers of self.

    given    the parameters, and what the call gave for them
    fresh    names for the variables of one step
    """

    steps: Steps
    given: Mapping[str, ast.expr]
    attribute: str
    fresh: FreshNames
    exact: bool = field(init=False)

    def __post_init__(self) -> None:
        parts = [self.steps.value, *self.steps.begin, *self.steps.before, *self.steps.after]
        self._new = {name: self.fresh.of(name) for name in self.steps.passing}
        self.exact = is_exact([*parts, *(one for one in self.given.values() if isinstance(one, ast.Constant))])

    def registered(self) -> list[str] | None:
        """The lines of `__init__`."""
        lines = []
        for name, value in self._fixed.items():
            if not isinstance(value, ast.Constant):
                lines.append(f"{self._owned(name)} = {ast.unparse(value)}")
        for one in self.steps.begin:
            match one.targets:
                case [ast.Name(id=name)] if name in self.steps.kept:
                    kind = "" if self.exact else ", dtype=torch.float64"
                    first = ast.unparse(self._in_init(one.value))
                    own = self._owned(name).removeprefix("self.")
                    lines.append(f'self.register_buffer("{own}", torch.tensor({first}{kind}), persistent=False)')
        return lines

    @property
    def _fixed(self) -> dict[str, ast.expr]:
        """Parameters, and variables that no step changes."""
        begun = {target.id: one.value for one in self.steps.begin for target in one.targets if _is_name(target)}
        rest = {name: self._in_init(value) for name, value in begun.items() if name not in self.steps.kept}
        used = {one.id for part in self._parts for one in ast.walk(part) if isinstance(one, ast.Name)}
        return {name: value for name, value in {**self.given, **rest}.items() if name in used}

    @property
    def _parts(self) -> list[ast.AST]:
        return [self.steps.value, *self.steps.before, *self.steps.after]

    def _in_init(self, value: ast.expr) -> ast.expr:
        new: ast.expr = _WithOtherNames(self.given).visit(ast.parse(ast.unparse(value), mode="eval").body)
        return new

    def _owned(self, name: str) -> str:
        return f"self.{self.attribute}_{name}"

    def value(self) -> str | None:
        """The element now, which later steps do not change."""
        text = self._text(self.steps.value)
        return f"{text}.clone()" if text in [self._owned(one) for one in self.steps.kept] else text

    def lines(self, statements: Sequence[ast.stmt]) -> list[str] | None:
        """None where one is not known of tensors."""
        found = [self._line(one) for one in statements]
        return None if None in found else [one for one in found if one is not None]

    def _line(self, statement: ast.stmt) -> str | None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if name in self.steps.kept:
                return f"{self._owned(name)}.fill_({value!r})"
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text = self._text(value)
                if text and name in self._new:
                    return f"{self._new[name]} = {text}"
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                text = self._text(ast.BinOp(ast.Name(target.id, ast.Load()), op, value))
            case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=value)], orelse=[]):
                text = self._text(ast.IfExp(test, value, ast.Name(name, ast.Load())))
            case _:
                return None
        return f"{self._owned(name)}.copy_({text})" if text and name in self.steps.kept else None

    def _text(self, node: ast.expr) -> str | None:
        whole = ast.parse(ast.unparse(node), mode="eval").body
        as_tensors = NumbersAsTensors(frozenset({*self.steps.kept, *self._new}))
        new = as_tensors.visit(whole)
        if as_tensors.refused:
            return None
        names: dict[str, ast.expr] = {name: _owned_node(self._owned(name)) for name in self.steps.kept}
        names |= {name: ast.Name(new, ast.Load()) for name, new in self._new.items()}
        for name, value in self._fixed.items():
            names[name] = value if isinstance(value, ast.Constant) else _owned_node(self._owned(name))
        return ast.unparse(_WithOtherNames(names).visit(new))


def _owned_node(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _WithOtherNames(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._names.get(node.id, node)


def _are_plain(begin: Sequence[ast.stmt]) -> TypeGuard[Sequence[ast.Assign]]:
    return all(isinstance(one, ast.Assign) and len(one.targets) == 1 and _is_name(one.targets[0]) for one in begin)


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _yielded(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
            return value
    return None


def _is_step(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()]) | ast.AugAssign(target=ast.Name()):
            return True
        case ast.If(body=[ast.Assign(targets=[ast.Name()])], orelse=[]):
            return True
    return False


def _set_by(statement: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}

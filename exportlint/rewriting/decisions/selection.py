"""Write a decision on data as statements that compute every side, and select what the decision would have given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.context.effects import has_effects
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.source.assigned_names import is_read_later
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine, text_of
from exportlint.rule.editing.repair import Change, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


@dataclass(frozen=True, slots=True)
class _Side:
    """One way that a chain of `if`s can go. `test`: a tensor that is true where it does; None of `else`."""

    test: str | None
    block: StraightLine


def selected_expression(code: Code, node: cst.IfExp) -> tuple[AnyChange, ...] | None:
    """`a if test else b` as `torch.where(test, a, b)`; None where the test or a side is no tensor."""
    test = tensor_test(code, node.test)
    if test is None or not all(map(_selectable, (node.body, node.orelse))):
        return None
    sides = (code.source_of(side) for side in (node.body, node.orelse))
    return (Change(node, f"torch.where({test}, {', '.join(sides)})"), ModuleImport("torch"))


def selected_statement(code: Code, node: cst.If) -> tuple[AnyChange, ...] | None:
    """An `if` with its `elif`s and `else`; None where a side does more than to set names, or to return."""
    sides = list(_sides(code, node))
    if not sides or sides[0].test is None:
        return None
    selecting = _Selecting(code, node, sides)
    return selecting.changes() if all(map(_selectable, selecting.returned)) else None


def _sides(code: Code, node: cst.If | cst.Else) -> Iterator[_Side]:
    """Nothing at all where one of them cannot be taken."""
    found: list[_Side] = []
    now: cst.If | cst.Else | None = node
    while now is not None:
        block = StraightLine.of(now.body.body)
        test = tensor_test(code, now.test) if isinstance(now, cst.If) else None
        if block is None or (isinstance(now, cst.If) and test is None) or has_effects(code, now.body):
            return
        found.append(_Side(test, block))
        now = now.orelse if isinstance(now, cst.If) else None
    yield from found
    if found[-1].test is not None:
        yield _Side(None, StraightLine(()))


def _selectable(node: cst.BaseExpression) -> bool:
    """Can a tensor be selected in its place?"""
    match node:
        case cst.Name(value="None" | "True" | "False") | cst.BaseString() | cst.Dict() | cst.List() | cst.Lambda():
            return False
        case cst.Tuple(elements=elements):
            return all(isinstance(one, cst.Element) and _selectable(one.value) for one in elements)
    return True


class _Selecting:
    """Of one `if` statement."""

    def __init__(self, code: Code, node: cst.If, sides: Sequence[_Side]) -> None:
        self.code, self.node, self.sides = code, node, sides
        self.returned = [side.block.returned for side in sides if side.block.returned is not None]
        names = dict.fromkeys(name for side in sides for name in side.block.names)
        self.names = tuple(name for name in names if self.is_needed(name))
        self._fresh = FreshNames(code).of

    def is_needed(self, name: str) -> bool:
        return is_read_later(self.code, self.node, name)

    def changes(self) -> tuple[AnyChange, ...] | None:
        if not self.returned:
            return self._instead(self._inline() or self._named()) if self.names else None
        if len(self.returned) == len(self.sides):
            return self._instead(self._returning(self.sides))
        missing = [side for side in self.sides if side.block.returned is None]
        if (
            missing == [self.sides[-1]]
            and not missing[0].block.statements
            and not isinstance(self.node.orelse, cst.Else)
        ):
            return self._early()
        return None

    def _instead(self, lines: Sequence[str]) -> tuple[AnyChange, ...]:
        if self._is_elif:
            lines = ["else:", *("    " + line for line in lines)]
        return (Change(self.node, "\n".join(lines)), ModuleImport("torch"))

    @property
    def _is_elif(self) -> bool:
        return isinstance(self.code.parent(self.node), cst.If)

    def _inline(self) -> list[str]:
        """`x = torch.where(test, new, x)`, where every side is at most one assignment to the same name."""
        if any(len(side.block.statements) > 1 or {*side.block.names} - {*self.names[:1]} for side in self.sides):
            return []
        (name,) = self.names
        values = [self._only_value(side.block, name) for side in self.sides]
        return [f"{name} = {_where(self.sides, values)}"]

    def _only_value(self, block: StraightLine, name: str) -> str:
        lines, _ = block.renamed({})
        return lines[0].partition(" = ")[2] if lines else name

    def _named(self) -> list[str]:
        """Every side under names of its own, then the selection of each name."""
        conditions, lines, held = self._laid_out(self.sides)
        sides = [_Side(test, side.block) for test, side in zip(conditions, self.sides, strict=True)]
        return lines + [f"{name} = {self._chosen(sides, name, held)}" for name in self.names]

    def _chosen(self, sides: Sequence[_Side], name: str, held: Sequence[Mapping[str, str]]) -> str:
        """Of lists or tuples that are equally long, one choice for each place."""
        values = [now.get(name, name) for now in held]
        shown = [_last_value(side.block, name) for side in sides]
        lists = [one.elements for one in shown if isinstance(one, cst.List | cst.Tuple)]
        starred = any(isinstance(element, cst.StarredElement) for one in lists for element in one)
        if starred or len(lists) < len(sides) or len({len(one) for one in lists}) > 1:
            return _where(sides, values)
        index = self._fresh("index")
        each = f"{_where(sides, [f'{value}[{index}]' for value in values])} for {index} in range({len(lists[0])})"
        return f"[{each}]" if isinstance(shown[0], cst.List) else f"tuple({each})"

    def _laid_out(self, sides: Sequence[_Side]) -> tuple[list[str | None], list[str], list[dict[str, str]]]:
        """The names of the tests, the lines that compute them and the sides, and the names of what each sets."""
        conditions: list[str | None] = []
        lines: list[str] = []
        for side in sides:
            conditions.append(side.test and self._fresh("condition"))
            lines += [f"{conditions[-1]} = {side.test}"] if side.test else []
        held: list[dict[str, str]] = []
        for index, side in enumerate(sides):
            suffix = "if" if index == 0 else "else" if side.test is None else "elif"
            computed, now = side.block.renamed(
                {name: self._fresh(f"{name}_{suffix}") for name in side.block.names if name != "_"}
            )
            lines += computed
            held.append(dict(now))
        return conditions, lines, held

    def _returning(self, sides: Sequence[_Side]) -> list[str]:
        if not any(side.block.statements for side in sides):
            return [f"return {self._selected(sides, [side.block.returned for side in sides])}"]
        conditions, lines, held = self._laid_out(sides)
        named = [_Side(test, side.block) for test, side in zip(conditions, sides, strict=True)]
        values = [_parse(text_of(side.block.returned, now)) for side, now in zip(sides, held, strict=True)]  # type: ignore[arg-type] # every side returns
        return [*lines, f"return {self._selected(named, values)}"]

    def _early(self) -> tuple[AnyChange, ...] | None:
        """`if test: return a`, what follows, `return b`: the last return selects."""
        rest = _after(self.code, self.node)
        last = _only_return(rest)
        if last is None or last.value is None or not _selectable(last.value):
            return None
        if self._is_elif:
            if len(rest) > 1:
                return None
            return self._instead(self._returning((*self.sides[:-1], _Side(None, StraightLine((), last.value)))))
        if len(rest) == 1:
            sides = (*self.sides[:-1], _Side(None, StraightLine((), last.value)))
            if not any(side.block.statements for side in sides):
                values = [side.block.returned for side in sides]
                return (
                    Change(self.node, ""), Change(last.value, self._selected(sides, values)), ModuleImport("torch")
                )  # fmt: skip
        conditions, lines, held = self._laid_out(self.sides[:-1])
        results = []
        for side, now in zip(self.sides[:-1], held, strict=True):
            results.append(self._fresh("result"))
            lines.append(f"{results[-1]} = {text_of(side.block.returned, now)}")  # type: ignore[arg-type] # all but the last return
        named = [_Side(test, StraightLine(())) for test in (*conditions, None)]
        width = len(last.value.elements) if isinstance(last.value, cst.Tuple) else None
        values = [_taken_apart(result, width) for result in results]
        selected = self._selected(named, [*values, last.value])
        return (*self._instead(lines), Change(last.value, selected))

    def _selected(self, sides: Sequence[_Side], values: Sequence[cst.BaseExpression | None]) -> str:
        """One choice, or a tuple of choices where every side is a tuple."""
        if all(isinstance(value, cst.Tuple) for value in values):
            rows = [[element.value for element in value.elements] for value in values if isinstance(value, cst.Tuple)]
            if len({len(row) for row in rows}) == 1:
                return ", ".join(_where(sides, [_text(one) for one in column]) for column in zip(*rows, strict=True))
        return _where(sides, [_text(value) for value in values if value is not None])


def _last_value(block: StraightLine, name: str) -> cst.BaseExpression | None:
    """What the block sets the name to, in the end."""
    for one in reversed(block.statements):
        match one:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))], value=value) if target == name:
                return value
    return None


def _where(sides: Sequence[_Side], values: Sequence[str]) -> str:
    """One `torch.where` around the other, the last value innermost."""
    text = values[-1]
    for side, value in zip(sides[-2::-1], values[-2::-1], strict=True):
        text = text if value == text else f"torch.where({side.test}, {value}, {text})"
    return text


def _after(code: Code, node: cst.BaseStatement) -> Sequence[cst.CSTNode]:
    """The statements that follow in the function's own block; of an `elif`, those after its whole chain."""
    while isinstance(above := code.parent(node), cst.If):
        node = above
    block = code.parent(node)
    if not isinstance(block, cst.IndentedBlock) or not isinstance(code.parent(block), cst.FunctionDef):
        return ()
    body = list(block.body)
    return body[body.index(node) + 1 :]


def _only_return(rest: Iterable[cst.CSTNode]) -> cst.Return | None:
    """The last statement, where it returns and nothing before it does."""
    found = [one for statement in rest for one in _returns(statement)]
    last = list(rest)[-1:]
    ends = [one for line in last for one in line.children if isinstance(one, cst.Return)]
    return ends[0] if len(found) == 1 and ends == found else None


def _returns(node: cst.CSTNode) -> Iterator[cst.Return]:
    if isinstance(node, cst.Return):
        yield node
    elif not isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
        for child in node.children:
            yield from _returns(child)


def _parse(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _taken_apart(name: str, width: int | None) -> cst.BaseExpression:
    return _parse(name if width is None else f"({', '.join(f'{name}[{index}]' for index in range(width))},)")


def _text(node: cst.BaseExpression) -> str:
    """Without the parentheses around it, which a call's arguments need not."""
    bare = (
        node.with_changes(lpar=[], rpar=[])
        if node.lpar and not isinstance(node, cst.Tuple | cst.GeneratorExp)
        else node
    )
    return cst.Module([]).code_for_node(bare)

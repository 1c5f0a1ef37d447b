"""Blocks of plain assignments: what they set, and their text under other names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class StraightLine:
    """Statements that only set names, one after the other; `returned` is what the last one gives back, if it does."""

    statements: tuple[cst.BaseSmallStatement, ...]
    returned: cst.BaseExpression | None = None

    @classmethod
    def of(cls, statements: Sequence[cst.CSTNode]) -> StraightLine | None:
        """None where a statement does anything else."""
        small = [one for line in statements for one in _small(line)]
        last = small[-1] if small else None
        returned = last.value if isinstance(last, cst.Return) else None
        rest = small[:-1] if isinstance(last, cst.Return) else small
        if isinstance(last, cst.Return) and returned is None:
            return None
        plain = tuple(one for one in rest if not isinstance(one, cst.Pass))
        if not all(_targets(one) for one in plain):
            return None
        return cls(tuple(one for one in plain if isinstance(one, cst.BaseSmallStatement)), returned)

    @property
    def names(self) -> tuple[str, ...]:
        """What is set, in order."""
        return tuple(dict.fromkeys(name for one in self.statements for name in _targets(one) or ()))

    def renamed(self, new: Mapping[str, str]) -> tuple[list[str], Mapping[str, str]]:
        """The lines with other names for what is set, and the names that hold it after them."""
        lines: list[str] = []
        now: dict[str, str] = {}
        for one in self.statements:
            wide = as_assignment(one)
            value = _renamed(wide.value, now)
            now = {**now, **{name: new[name] for name in _targets(one) or () if name in new}}
            target = _renamed(wide.targets[0].target, new)
            lines.append(f"{_text(target)} = {_text(value)}")
        return lines, now


def text_of(node: cst.BaseExpression, names: Mapping[str, str]) -> str:
    """The source of an expression under other names."""
    return _text(_renamed(node, names))


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _small(line: cst.CSTNode) -> Sequence[cst.CSTNode]:
    return line.body if isinstance(line, cst.SimpleStatementLine) else [line]


def _targets(one: cst.CSTNode) -> tuple[str, ...] | None:
    match one:
        case cst.Assign(targets=[cst.AssignTarget(target=target)]):
            return tuple(_names(target)) or None
        case cst.AugAssign(target=cst.Name(value=name)):
            return (name,)
        case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression()):
            return (name,)
    return None


def _names(target: cst.CSTNode) -> Iterator[str]:
    """Of a name, or of a tuple of names; nothing where another target is among them."""
    match target:
        case cst.Name(value=name):
            yield name
        case cst.Tuple(elements=elements) if all(isinstance(one.value, cst.Name) for one in elements):
            yield from (one.value.value for one in elements if isinstance(one.value, cst.Name))


_OPERATORS = {
    cst.AddAssign: cst.Add, cst.SubtractAssign: cst.Subtract, cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide, cst.FloorDivideAssign: cst.FloorDivide, cst.ModuloAssign: cst.Modulo,
    cst.PowerAssign: cst.Power, cst.MatrixMultiplyAssign: cst.MatrixMultiply, cst.BitAndAssign: cst.BitAnd,
    cst.BitOrAssign: cst.BitOr, cst.BitXorAssign: cst.BitXor,
}  # fmt: skip
_ATOMS = (cst.Name, cst.Call, cst.Attribute, cst.Subscript, cst.BaseNumber)


def as_assignment(one: cst.CSTNode) -> cst.Assign:
    """`x *= 2` as `x = x * 2`: the sides of a choice must not write into what the other one reads."""
    match one:
        case cst.Assign():
            return one
        case cst.AugAssign(target=target, operator=operator, value=value):
            right = value if isinstance(value, _ATOMS) or value.lpar else value.with_changes(
                lpar=[cst.LeftParen()], rpar=[cst.RightParen()]
            )  # fmt: skip
            whole = cst.BinaryOperation(target, _OPERATORS[type(operator)](), right)  # type: ignore[abstract]
            return cst.Assign([cst.AssignTarget(target)], whole)
        case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
            return cst.Assign([cst.AssignTarget(target)], value)
    raise AssertionError(one)


def _renamed(node: cst.BaseExpression, names: Mapping[str, str]) -> cst.BaseExpression:
    new = node.visit(_Renaming(names)) if names else node
    assert isinstance(new, cst.BaseExpression)  # noqa: S101 - a renaming takes nothing away
    return new


class _Renaming(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        del node

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        del original_node
        return updated_node.with_changes(value=self._names.get(updated_node.value, updated_node.value))

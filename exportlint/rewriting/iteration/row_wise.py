"""Loops and comprehensions whose steps know nothing of each other, as one `torch.vmap` over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.masked_sums import without_selections
from exportlint.rewriting.numbers.rows import Rows, entries_as_rows, names_read, rows_source
from exportlint.rewriting.numbers.unread import without_reads
from exportlint.rewriting.source.assigned_names import name_set_to, reads, statement_of
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_TORCH = ModuleImport("torch")


def looped_over(code: Code, node: cst.BaseExpression) -> cst.BaseExpression:
    """The whole `enumerate(zip(…))` that the node stands in."""
    arg = code.parent(node)
    call = code.parent(arg) if isinstance(arg, cst.Arg) else None
    return looped_over(code, call) if isinstance(call, cst.Call) else node


def collected(code: Code, node: cst.BaseExpression, mapped: str, rows: Rows) -> Iterator[Rewrite]:
    """What `torch.stack` and its kin make of the list, made of `torch.vmap`'s result."""
    name = name_set_to(code, node)
    places = [node] if name is None else list(reads(code, name))
    changes: list[AnyChange] = []
    for place in places:
        joined = joining(code, place)
        if joined is None:
            return
        changes.append(joined_change(code, *joined, mapped if name is None else name.value))
    if name is not None:
        changes.append(Change(node, mapped))
    if changes:
        yield from with_check(code, node, "compute all rows at once with `torch.vmap`", (*changes, _TORCH), rows)


def with_check(
    code: Code, node: cst.BaseExpression, description: str, changes: tuple[AnyChange, ...], rows: Rows
) -> Iterator[Rewrite]:
    """The rewrite, and the same with a check that there are rows, without which there was nothing to stack."""
    yield Rewrite(description, changes)
    if (statement := statement_of(code, node)) is not None:
        check = Change(statement, f"torch._check({rows.length} > 0)", Where.BEFORE)
        yield Rewrite(description, (check, *changes))


def joining(code: Code, place: cst.BaseExpression) -> tuple[cst.Call, str] | None:
    """The call that makes one tensor, or a sum, of a list, and how to write it of the rows' results."""
    arg = code.parent(place)
    call = code.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0] is not arg or arg.star:
        return None
    dim = _dim(code, call)
    match code.name(call.func):
        case "builtins.list" | "builtins.tuple" if len(call.args) == 1:
            return joining(code, call)
        case "torch.stack" if dim is not None:
            return call, "{}" if dim == "0" else f"{{}}.movedim(0, {dim})"
        case "torch.cat" | "torch.concat" if dim == "0":
            return call, "{}.flatten(0, 1)"
        case "torch.tensor" | "torch.as_tensor" if len(call.args) == 1:
            return call, "{}"
        case "builtins.sum" if len(call.args) == 1:
            return call, "{}.sum(0)"
    return None


def joined_change(code: Code, call: cst.Call, form: str, source: str) -> Change:
    """The results in the place of the call; a name that would be set to itself is not set."""
    text, statement = form.format(source), code.parent(call)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]) if name == text:
            return Change(statement, "")
    return Change(call, text)


def _dim(code: Code, call: cst.Call) -> str | None:
    """The dim that is given as the second argument, "0" where there is none."""
    match call.args[1:]:
        case []:
            return "0"
        case [cst.Arg(value=dim, keyword=None | cst.Name(value="dim" | "axis"))]:
            return code.source_of(dim)
    return None


@dataclass(frozen=True)
class RowStep:
    """One step of a loop as a function of rows."""

    code: Code
    rows: Rows
    entries: dict[str, str]

    @classmethod
    def of(cls, code: Code, rows: Rows, body: Sequence[cst.CSTNode]) -> RowStep:
        """Only what the step reads is given to it."""
        wide, entries = entries_as_rows(code, rows, body, FreshNames(code))
        step = cls(code, wide, entries)
        if wide.counted is None or len(wide.given) == 1:
            return step
        read = set(names_read([step._replaced(part) for part in body]))
        kept = tuple((name, source) for name, source in wide.given if name != wide.counted or name in read)
        return cls(code, Rows(kept, wide.length, wide.counted), entries)

    @property
    def parameters(self) -> str:
        return ", ".join(name for name, _ in self.rows.given)

    @property
    def arguments(self) -> str:
        return self.rows.stars or ", ".join(source for _, source in self.rows.given)

    def mapped(self, function: str) -> str:
        return f"torch.vmap({function})({self.arguments})"

    def text(self, node: cst.BaseExpression) -> str:
        """The source of an expression of the step: entries are rows, and no number is read."""
        masked = without_selections(self.code, node)
        return _text(self._replaced(_parsed(without_reads(self.code, node) if masked is None else masked)))

    def _replaced(self, node: cst.CSTNode) -> cst.CSTNode:
        new = node.visit(_Entries(self.entries))
        assert isinstance(new, cst.CSTNode)  # noqa: S101 - an entry is replaced by a name
        return new


class _Entries(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        bare = original_node.with_changes(lpar=[], rpar=[])
        name = self._names.get(_text(bare))
        return cst.Name(name) if name is not None else updated_node


def listed_rows(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`torch.stack(list(x))`, `torch.stack(x.unbind(0))` as `x`."""
    tensor = rows_source(code, node)
    if tensor is None:
        return
    rows = Rows((), f"{code.source_of(tensor)}.shape[0]")
    for one in collected(code, node, code.source_of(tensor), rows):
        yield Rewrite("use the whole tensor", one.changes)


def _parsed(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)

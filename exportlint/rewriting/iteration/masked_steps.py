"""Loops whose steps data skips or ends: every step is taken, and one that would not have been changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.context.effects import has_effects
from exportlint.rewriting.decisions.tensor_test import joined_tests, tensor_test
from exportlint.rewriting.source.assigned_names import every, is_read_later, whole_function
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine, as_assignment
from exportlint.rule.editing.repair import Change, ModuleImport, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def full_loop(code: Code, node: cst.If) -> tuple[AnyChange, ...] | None:
    """`if test: break` in the block of a loop: all steps are taken, and those after the test held change nothing."""
    loop, test = _loop_of(code, node), tensor_test(code, node.test)
    if loop is None or test is None or not _only(node, cst.Break) or not _can_go_on(code, loop):
        return None
    body, steps = list(loop.body.body), _MaskedSteps(code, loop)
    at, done = body.index(node), steps.fresh.of("done")
    before, after = steps.masked(body[:at], done), steps.masked(body[at + 1 :], done)
    if before is None or after is None:
        return None
    first = Change(loop, f"{done} = torch.tensor(False)", Where.BEFORE)
    return (first, *before, Change(node, f"{done} = torch.logical_or({done}, {test})"), *after, ModuleImport("torch"))


def skipped_rest(code: Code, node: cst.If) -> tuple[AnyChange, ...] | None:
    """`if test: continue` in the block of a loop: the rest of the step is taken, and changes nothing."""
    loop, test = _loop_of(code, node), tensor_test(code, node.test)
    if loop is None or test is None or not _only(node, cst.Continue):
        return None
    body, steps = list(loop.body.body), _MaskedSteps(code, loop)
    skipped = steps.fresh.of("skipped")
    rest = steps.masked(body[body.index(node) + 1 :], skipped)
    if rest is None:
        return None
    return (Change(node, f"{skipped} = {test}"), *rest, ModuleImport("torch"))


def bounded_loop(code: Code, node: cst.While) -> tuple[AnyChange, ...] | None:
    """`while step < 8 and test:` goes on as long as Python's part says; steps after the test failed change nothing."""
    parts = joined_tests(node.test, cst.And)
    tests = [one for one in parts if code.value(one).may_be_data]
    texts = [tensor_test(code, one) for one in tests]
    plain = [code.source_of(one) for one in parts if one not in tests]
    if not isinstance(node.body, cst.IndentedBlock) or node.orelse or not plain or not texts or None in texts:
        return None
    counters = frozenset(one.value for part in parts if part not in tests for one in _names(part))
    steps = _MaskedSteps(code, node, counters)
    done = steps.fresh.of("done")
    body = steps.masked(list(node.body.body), done)
    if body is None or any(is_read_later(code, node, name) for name in counters & steps.counted):
        return None
    ended = " | ".join(f"torch.logical_not({text})" for text in texts)
    return (
        Change(node, f"{done} = torch.tensor(False)", Where.BEFORE),
        Change(node.test, " and ".join(plain)),
        Change(node.body.body[0], f"{done} = {done} | {ended}", Where.BEFORE),
        *body,
        ModuleImport("torch"),
    )


class _MaskedSteps:
    """`counters`: names of Python numbers that go on in every step."""

    def __init__(self, code: Code, loop: cst.For | cst.While, counters: frozenset[str] = frozenset()) -> None:
        self.code, self.loop = code, loop
        self.fresh = FreshNames(code)
        self.counted: set[str] = set()
        self._counters = counters
        self._before = _names_before(code, loop)

    def masked(self, statements: Sequence[cst.CSTNode], off: str) -> list[Change] | None:
        """What they set keeps its value where `off` is true; None where one does more than to set."""
        small = [one for line in statements for one in _small(line)]
        found = [list(self._kept(one, off)) for one in small]
        return None if [None] in found else [change for one in found for change in one if change is not None]

    def _kept(self, statement: cst.CSTNode, off: str) -> Iterator[Change | None]:
        """[None] where it cannot be."""
        match statement:
            case cst.Pass() | cst.Expr(value=cst.SimpleString()):
                return
            case _ if has_effects(self.code, statement):
                yield None
                return
            case (
                cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)])
                | cst.AugAssign(target=cst.Subscript() as target)
            ):
                place, value = self.code.source_of(target), _text(as_assignment(statement).value)
                yield Change(statement, f"{place} = torch.where({off}, {place}, {value})")
                return
        block = StraightLine.of([statement])
        if block is None or block.returned is not None:
            yield None
        elif {*block.names} <= self._counters:
            self.counted |= {*block.names}
        else:
            yield from self._names_kept(statement, block, off)

    def _names_kept(self, statement: cst.CSTNode, block: StraightLine, off: str) -> Iterator[Change | None]:
        """Names of the step alone may have any value."""
        kept = [name for name in block.names if name in self._before]
        if any(name not in kept and is_read_later(self.code, self.loop, name) for name in block.names):
            yield None
        elif len(block.names) == len(kept) == 1:
            (name,), (line,) = kept, block.renamed({})[0]
            yield Change(statement, f"{name} = torch.where({off}, {name}, {line.partition(' = ')[2]})")
        elif kept:
            lines, now = block.renamed({name: self.fresh.of(f"{name}_next") for name in kept})
            chosen = [f"{name} = torch.where({off}, {name}, {now[name]})" for name in kept]
            yield Change(statement, "\n".join([*lines, *chosen]))


def _names_before(code: Code, loop: cst.CSTNode) -> frozenset[str]:
    """The names that the function mentions before the loop, its arguments among them."""
    found = set()
    for one in every(whole_function(code, loop)):
        if one is loop:
            break
        found |= {one.value} if isinstance(one, cst.Name) else set()
    return frozenset(found)


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    return (one for one in every(node) if isinstance(one, cst.Name))


def _small(line: cst.CSTNode) -> Sequence[cst.CSTNode]:
    return line.body if isinstance(line, cst.SimpleStatementLine) else [line]


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _can_go_on(code: Code, loop: cst.For) -> bool:
    """Is nothing lost by further steps: no iterator that is read on, no name that the loop sets and that is read?"""
    known = isinstance(loop.iter, cst.Call) or code.value(loop.iter).kind is not Kind.UNKNOWN
    names = (one.value for one in every(loop.target) if isinstance(one, cst.Name))
    return known and not any(is_read_later(code, loop, name) for name in names)


def _loop_of(code: Code, node: cst.If) -> cst.For | None:
    """The `for` in whose own block the statement stands; a `while` may never end with all its steps."""
    block = code.parent(node)
    loop = code.parent(block) if isinstance(block, cst.IndentedBlock) else None
    return loop if isinstance(loop, cst.For) and loop.orelse is None else None


def _only(node: cst.If, leaving: type[cst.Break | cst.Continue]) -> bool:
    """Does the statement nothing but to leave?"""
    match node:
        case cst.If(
            body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[one])]) | cst.SimpleStatementSuite(body=[one]),
            orelse=None,
        ):
            return isinstance(one, leaving)
    return False

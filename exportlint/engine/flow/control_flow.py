"""The control-flow graph of a function: which of its statements may run after which.

A node of the graph is a *step*: a simple statement, or the part of a compound one that runs by itself (the test of an
`if`, the iterable and the target of a `for`, the items of a `with`). The steps of a nested function or class belong to
that function; here it is one step, its definition.

The graph is what compilers' textbooks call it, at the granularity of statements. beniget and CPython's own
compiler build theirs of basic blocks, which saves time on long functions; a forward has about thirty statements.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A simple statement, or the compound one of whose head it is; handlers and cases are heads too.
Head: TypeAlias = ast.stmt | ast.ExceptHandler | ast.match_case


@dataclass(eq=False, slots=True)
class Step:
    """What runs as one: `node` is the statement; of a compound statement only its head.

    followers   the steps that may run next; none of them: the function ends here
    """

    node: Head
    followers: list[Step] = field(default_factory=list)

    @property
    def parts(self) -> tuple[ast.AST, ...]:
        """The nodes of `ast` that run in this step; those of the blocks below are left out."""
        match self.node:
            case ast.If(test=test) | ast.While(test=test):
                return (test,)
            case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
                return (over, target)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                return tuple(items)
            case ast.Match(subject=subject):
                return (subject,)
            case ast.match_case(pattern=pattern, guard=guard):
                return (pattern, guard) if guard else (pattern,)
            case ast.Try():
                return ()
            case ast.ExceptHandler(type=kind):
                return (kind,) if kind else ()
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as definition:
                # Its body runs when it is called. What it reads from here counts as read here: it may run at any time.
                return (definition,)
        return (self.node,)


class ControlFlow:
    """The graph of one function, or of any list of statements.

    >>> flow = ControlFlow(ast.parse('''
    ... for row in rows:
    ...     if row.sum() > 0:
    ...         break
    ...     total = total + row
    ... print(total)
    ... ''').body)
    >>> [(type(step.node).__name__, [type(one.node).__name__ for one in step.followers]) for step in flow.steps]
    [('For', ['If', 'Expr']), ('If', ['Break', 'Assign']), ('Break', ['Expr']), ('Assign', ['For']), ('Expr', [])]
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.steps: list[Step] = []  # in the order of the source
        self.step_of: dict[int, Step] = {}  # by the identity of the statement
        self._loops: list[tuple[Step, list[Step]]] = []  # the head of each loop around, and the steps that leave it
        self._handlers: list[list[Step]] = []  # of each `try` around
        self.ends = self._block(body, [])

    def _step(self, node: Head, before: Iterable[Step]) -> Step:
        step = Step(node)
        self.steps.append(step)
        self.step_of[id(node)] = step
        for one in before:
            one.followers.append(step)
        for handlers in self._handlers[-1:]:
            step.followers += handlers  # any step of a `try` may raise
        return step

    def _block(self, body: Iterable[ast.stmt], before: list[Step]) -> list[Step]:
        """The steps of a block; those after which the block has ended."""
        for node in body:
            before = self._statement(node, before)
        return before

    def _statement(self, node: ast.stmt, before: list[Step]) -> list[Step]:
        match node:
            case ast.If(body=body, orelse=orelse):
                test = self._step(node, before)
                return [*self._block(body, [test]), *(self._block(orelse, [test]) if orelse else [test])]
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, before)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self._block(body, [self._step(node, before)])
            case ast.Try():
                return self._try(node, before)
            case ast.Match(cases=cases):
                return self._match(node, cases, before)
            case ast.Return() | ast.Raise():
                self._step(node, before)
                return []
            case ast.Break() if self._loops:
                self._loops[-1][1].append(self._step(node, before))
                return []
            case ast.Continue() if self._loops:
                self._step(node, before).followers.append(self._loops[-1][0])
                return []
        return [self._step(node, before)]

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, before: list[Step]) -> list[Step]:
        head = self._step(node, before)
        left: list[Step] = []
        self._loops.append((head, left))
        for last in self._block(node.body, [head]):
            last.followers.append(head)
        self._loops.pop()
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        after = [] if endless else [head]
        return [*(self._block(node.orelse, after) if node.orelse else after), *left]

    def _try(self, node: ast.Try, before: list[Step]) -> list[Step]:
        head = self._step(node, before)
        handlers = [self._step(handler, [head]) for handler in node.handlers]
        self._handlers.append(handlers)
        ended = self._block(node.body, [head])
        self._handlers.pop()
        ended = self._block(node.orelse, ended)
        for handler, step in zip(node.handlers, handlers, strict=True):
            ended = [*ended, *self._block(handler.body, [step])]
        return self._block(node.finalbody, ended or [head]) if node.finalbody else ended

    def _match(self, node: ast.Match, cases: Iterable[ast.match_case], before: list[Step]) -> list[Step]:
        asked = [self._step(node, before)]
        ended: list[Step] = []
        for case in cases:
            step = self._step(case, asked)
            ended += self._block(case.body, [step])
            asked = [step]
        return [*ended, *asked]


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of some blocks and of the blocks below, in order; nested functions and classes stay closed.

    >>> [type(one).__name__ for one in statements(ast.parse("if a:\\n    b\\nelse:\\n    c = 1").body)]
    ['If', 'Expr', 'Assign']
    """
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for block in blocks(node):
                yield from statements(block)


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements right below a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body

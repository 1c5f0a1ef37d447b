"""Kept in eager: what only says something, or measures time, goes behind `if not torch.compiler.is_compiling()`.

Of torch.compile: a `print`, a logger or a clock ends the graph, and what it is told is mostly computed for it alone. So
the statements that say something go out of what is compiled together with all that only they use. Eager does what it
did; what is compiled says nothing, which is told.

Where one such block reads what another has set, both ask a flag that is set once, at the beginning: behind a break that
is left, Dynamo gives a function up that it compiled too often, and Python would find the second block open, and the
first one never run.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_SAYS = frozenset({
    "builtins.print", "warnings.warn", "sys.stdout.write", "sys.stderr.write", "sys.stdout.flush", "sys.stderr.flush",
    "tqdm.tqdm.write", "logging.debug", "logging.info", "logging.warning", "logging.error", "logging.critical",
    "logging.exception", "logging.log",
})  # fmt: skip
# Methods of what is named like a logger, or like a writer of metrics.
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
_WRITES = frozenset({"add_scalar", "add_scalars", "add_histogram", "add_image", "add_text"})
_CLOCKS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.time_ns", "time.perf_counter_ns",
    "time.monotonic_ns", "time.process_time_ns",
})  # fmt: skip
_PURE_BUILTINS = frozenset({
    "float", "int", "round", "len", "str", "abs", "min", "max", "sum", "sorted", "list", "tuple", "dict", "range",
    "repr", "format", "isinstance", "enumerate", "zip", "bool",
})  # fmt: skip


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class KeptInEager:
    """All such statements of the function, where the site is in one of them."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        yield from _without_progress_bar(site)
        view, draft = site.fresh_view(), site.draft()
        aside = _Aside(view)
        if not any(_holds(one, site.node) for one in aside.statements):
            return
        runs = [run for body in aside.bodies() for run in aside.runs(body)]
        test: ast.expr = expression("not torch.compiler.is_compiling()")
        flag = None
        if _reads_of_others(runs):
            name = draft.free_name("in_eager", view.flow.names)
            (flag,), test = statements("FLAG = TEST", FLAG=name, TEST=test), ast.Name(name, ast.Load())
        for first, *rest in runs:
            said: ast.stmt = ast.If(test, [first, *rest], [])
            begins = flag is not None and first is _first_line(view)
            draft.replace(first, [flag, said] if flag is not None and begins else [said])
            flag = None if begins else flag
            for one in rest:
                draft.move(one, [])
        if flag is not None:
            draft.above(_first_line(view), [flag])
        yield Proposal("say it in eager only: what is compiled leaves it out", draft)


def _first_line(view: View) -> ast.stmt:
    """The first statement behind the docstring."""
    first, *rest = view.body
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return rest[0] if is_text and rest else first


def _reads_of_others(runs: Sequence[Sequence[ast.stmt]]) -> bool:
    """Does one of them read what another one sets?"""

    def names(run: Sequence[ast.stmt], context: type[ast.expr_context]) -> set[str]:
        found = (one for statement in run for one in walked(statement) if isinstance(one, ast.Name))
        return {one.id for one in found if isinstance(one.ctx, context)}

    return any(names(one, ast.Store) & names(other, ast.Load) for one in runs for other in runs if one is not other)


def _without_progress_bar(site: Site) -> Iterator[Proposal]:
    """`for step in tqdm(steps)`: over the steps themselves, where torch compiles."""
    view, draft = site.fresh_view(), site.draft()
    for loop in walked(view.node):
        if not (isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)):
            continue
        is_there = loop is site.node or _holds(loop.iter, site.node)
        if is_there and (steps := _steps_of_bar(view, loop.iter)) is not None:
            draft.swap(
                loop.iter, expression("STEPS if torch.compiler.is_compiling() else BAR", STEPS=steps, BAR=loop.iter)
            )
            yield Proposal("show progress in eager only", draft)


def _steps_of_bar(view: View, call: ast.Call) -> ast.expr | None:
    """What a progress bar of tqdm's goes over."""
    package, _, name = (view.origin(call.func) or "").rpartition(".")
    if package.partition(".")[0] != "tqdm" or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if name == "trange":
        return ast.Call(ast.Name("range", ast.Load()), list(call.args), [])
    given = (word.value for word in call.keywords if word.arg == "iterable")
    return (call.args[0] if call.args else next(given, None)) if name in {"tqdm", "tqdm_notebook"} else None


def _holds(statement: ast.AST, node: ast.AST) -> bool:
    return any(one is node for one in walked(statement))


class _Aside:
    """The statements of a function that only say something, and those that compute what only these use."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._ids: set[int] = set()
        self.statements: list[ast.stmt] = []
        self._find()

    def _find(self) -> None:
        """What says something first; then what only that uses, until there is nothing more."""
        before = -1
        while len(self._ids) != before:
            before = len(self._ids)
            for body in self.bodies():
                for one in body:
                    if id(one) not in self._ids and self._is_aside(one):
                        self._ids.add(id(one))
                        self.statements.append(one)

    def bodies(self) -> Iterator[Sequence[ast.stmt]]:
        """The blocks of the function, of what is not aside as a whole."""
        waiting: list[Sequence[ast.stmt]] = [self._view.body]
        while waiting:
            body = waiting.pop()
            yield body
            for one in body:
                if id(one) not in self._ids and not isinstance(one, _DEFINITIONS):
                    waiting += _blocks(one)

    def runs(self, body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
        """Statements that are aside and stand one behind the other."""
        run: list[ast.stmt] = []
        for one in body:
            if id(one) in self._ids:
                run.append(one)
            elif run:
                yield run
                run = []
        if run:
            yield run

    def _is_aside(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Expr(value=ast.Call() as call):
                given = [*call.args, *(word.value for word in call.keywords)]
                return self._says(call) and all(map(self._is_pure, given))
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                only_said = all(isinstance(one, ast.Name) and self._is_only_said(one.id, statement) for one in names)
                return only_said and self._is_pure(value)
            case ast.If(test=test) | ast.For(iter=test):
                inside = [one for block in _blocks(statement) for one in block]
                is_aside = bool(inside) and self._is_pure(test) and all(id(one) in self._ids for one in inside)
                return is_aside and not (isinstance(statement, ast.For) and self._is_set_for_others(statement))
        return False

    def _says(self, call: ast.Call) -> bool:
        if self._view.origin(call.func) in _SAYS:
            return True
        match call.func:
            case ast.Attribute(value=owner, attr=name) if name in _LOGS:
                return "log" in ast.unparse(owner).lower().rpartition(".")[2]
            case ast.Attribute(attr=name):
                return name in _WRITES
        return False

    def _is_pure(self, node: ast.expr) -> bool:
        """Does it compute, and change nothing? A method of a tensor that ends in `_` writes into it."""
        return all(self._is_pure_call(one) for one in walked(node) if isinstance(one, ast.Call)) and not any(
            isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for one in walked(node)
        )

    def _is_pure_call(self, call: ast.Call) -> bool:
        origin = self._view.origin(call.func) or ""
        if origin in _CLOCKS or origin.removeprefix("builtins.") in _PURE_BUILTINS:
            return True
        match call.func:
            case ast.Attribute(value=owner, attr=name):
                if origin.startswith(("torch.", "numpy.")):
                    return not name.endswith("_") and "random" not in origin and "rand" not in name
                value = self._view.value(owner)
                plain = isinstance(owner, ast.Constant | ast.JoinedStr)
                return not name.endswith("_") and (plain or value.is_tensor or self._is_computed(owner))
        return False

    def _is_computed(self, node: ast.expr) -> bool:
        """Is it what a pure call gave, as in `x.mean().item()`?"""
        return isinstance(node, ast.Call) and self._is_pure_call(node)

    def _is_set_for_others(self, loop: ast.For) -> bool:
        """Does something outside of the loop use what it counts with?"""
        names = {one.id for one in walked(loop.target) if isinstance(one, ast.Name)}
        own = {id(one) for one in walked(loop)}
        uses = (one for one in walked(self._view.node) if isinstance(one, ast.Name) and one.id in names)
        return any(id(one) not in own for one in uses)

    def _is_only_said(self, name: str, statement: ast.stmt) -> bool:
        """Is the name used in what is aside alone, and set nowhere else?"""
        own = {id(one) for one in walked(statement)}
        inside = {id(one) for aside in self.statements for one in walked(aside)}
        uses = [one for one in walked(self._view.node) if isinstance(one, ast.Name) and one.id == name]
        return any(id(one) in inside for one in uses) and all(id(one) in inside | own for one in uses)


def _blocks(statement: ast.stmt) -> list[Sequence[ast.stmt]]:
    blocks = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", ())]
    return [block for block in blocks if block]

"""A handler swallows the tracer's refusal, or waits for a failure that only data can cause.

Why: what torch raises while it traces is an exception like any other. In non-strict mode `except Exception` around a
branch on a tensor catches the tracer's own error, and the program is the except branch for good: no error, no
warning, wrong results. Strict mode refuses the branch. An operation that fails for some values (`cholesky` of an
indefinite matrix, a singular `inverse`) never fails while it is traced, so the program has no fallback in either mode
and raises where eager recovers. Exceptions that Python code raises and catches for Python's reasons (a missing key, an
optional import, a check of a size) export correctly.

Instead: operations that report instead of raising, and a selection:

    root, info = torch.linalg.cholesky_ex(x)
    torch.where(info == 0, root, fallback)

and `torch.where` or `torch.cond` instead of the branch. Catch the one exception that is meant.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import (
    CATCH_REFUSALS,
    Asked,
    Case,
    Code,
    Kind,
    Severity,
    TruthRule,
    called,
    functions_below,
    names_caught,
    raises_again,
    suppressing,
    walked,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import FunctionInfo, Sketch, Value

_BRANCH = "write the data-dependent part with `torch.where` or `torch.cond`, and catch the one exception that is meant"
_EX = "use an operation that reports instead of raising (`cholesky_ex`, `inv_ex`, `pinv`), and `torch.where`"
_SWALLOWS = "`{name}` also catches the tracer's refusal of the data-dependent code it guards"
_WAITS = "`{name}` waits for a failure of `{op}` that only values can cause"
_NO_FALLBACK = "; the program has no fallback"
_LINALG = frozenset({"LinAlgError", "_LinAlgError"})
_RAISING = frozenset(
    {"cholesky", "inverse", "inv", "solve", "cholesky_inverse", "eigh", "svd", "multinomial", "lu_factor"}
)
_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.complex", "builtins.range", "builtins.round"})
_REDUCED = frozenset({"any", "all", "sum", "mean", "max", "min", "norm", "item"})
_CHECKS = frozenset({"_check", "_check_value", "_check_index", "_check_is_size"})


class _Tried:
    """What stands in a try body: the first data-dependent thing, what may raise for some values, what is called.

    helper    a function that may decide by data; `decided`: what it surely decides by
    """

    def __init__(self) -> None:
        self.data: Value | None = None
        self.asserts: Value | None = None
        self.ops: dict[str, str] = {}
        self.helper = False
        self.decided: Value | None = None


class SwallowedTracerError(TruthRule):
    mended_by = ("decide-in-data", "untried", "loop-in-data", "numbers-stay-tensors")
    words = r"\b(try|suppress)\b"
    torch_says = ()
    shown_by = ("own-inputs",)
    cases: ClassVar = {
        "BadExceptException": Case(_SWALLOWS, _BRANCH),
        "BadHelper": Case("`{name}` would also catch the tracer's refusals in the code it guards", _BRANCH),
        "BadNumber": Case(_SWALLOWS, _BRANCH),
        "BadNumpy": Case(_SWALLOWS, _BRANCH),
        "BadSuppress": Case(
            "`{code}` also swallows the tracer's refusal of the data-dependent code it guards", _BRANCH
        ),
        "BadFinally": Case("the `return` in `finally` drops the tracer's refusal of what is tried", _BRANCH),
        "BadAssertCaught": Case("`{name}` waits for an assertion on a tensor to fail", "use `torch.where`"),
        "BadCholesky": Case(_WAITS, _EX, in_program=_NO_FALLBACK),
        "BadIndexOutOfRange": Case(
            "`{name}` waits for an index out of range", "clamp or mask the index", in_program=_NO_FALLBACK
        ),
        "BadShapeFallback": Case("`{name}` waits for `view` to fail", "use `reshape`", in_program=_NO_FALLBACK),
        "BadMissingKwarg": Case(
            "`{name}` waits for a module to refuse an argument",
            "look at the signature in `__init__`, or test the class",
        ),
        "BadCheckCaught": Case("`{name}` waits for a failed `torch._check`", "use `torch.where`"),
        "BadMultinomial": Case(_WAITS, "clamp the weights so that they can be sampled", in_program=_NO_FALLBACK),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is anything caught that a tensor, or a module, may raise?"""
        sketch = code.sketch
        tried = [statement for node in sketch.nodes(ast.Try) for statement in node.body]
        if "suppress" in sketch.methods:
            tried += (statement for node in sketch.nodes(ast.With) for statement in node.body)
        return any(_may_raise(sketch, part) for statement in tried for part in walked(statement))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._tried: list[_Tried] = []
        self._assert = False

    def visit_Try(self, node: cst.Try) -> bool:
        self._tried.append(_Tried())
        node.body.visit(self)
        tried = self._tried.pop()
        for handler in node.handlers:
            if not raises_again(handler.body):
                self._judge(handler, tried)
        if node.finalbody and tried.data and _returns(node.finalbody):
            self.report(node.finalbody, "BadFinally", because=tried.data)
        for part in (*node.handlers, node.orelse, node.finalbody):
            if part is not None:
                part.visit(self)
        return False

    def visit_With(self, node: cst.With) -> bool:
        call = suppressing(self.code, node)
        if call is None:
            return True
        self._tried.append(_Tried())
        node.body.visit(self)
        tried = self._tried.pop()
        if tried.data or tried.decided:
            self.report(call, "BadSuppress", because=tried.data or tried.decided)
        return False

    def _judge(self, handler: cst.ExceptHandler, tried: _Tried) -> None:
        caught = names_caught(handler)
        broad = bool(caught & CATCH_REFUSALS)
        name = f"except {', '.join(sorted(caught - {''}))}".rstrip()
        place = handler.type or handler
        if broad and tried.data:
            self.report(place, "BadExceptException", because=tried.data, name=name)
        elif "AssertionError" in caught and tried.asserts:
            self.report(place, "BadAssertCaught", because=tried.asserts, name=name)
        elif op := next((op for op in tried.ops if _would_catch(op, caught)), None):
            case = tried.ops[op]
            at_most = Severity.ERROR if case in {"BadCholesky", "BadMultinomial"} else Severity.WARNING
            self.report(place, case, at_most=at_most, name=name, op=op)
        elif broad and tried.helper:
            at_most = Severity.ERROR if tried.decided else Severity.WARNING
            self.report(place, "BadHelper", at_most=at_most, because=tried.decided, name=name)

    def asked(self, asked: Asked) -> None:
        value = self.code.value(asked.node)
        if self._tried and value.is_data and asked.form != "chained":
            tried = self._tried[-1]
            if asked.form in {"assert", "assert-message"}:
                tried.asserts = tried.asserts or value
            tried.data = tried.data or value

    def visit_Call(self, node: cst.Call) -> None:
        if not self._tried:
            return
        tried, name = self._tried[-1], self.code.name(node.func) or ""
        values = [self.code.value(arg.value) for arg in node.args]
        owner = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        method = called(node) or ""
        tensor = next((value for value in values if value.is_tensor), None)
        if tensor and (name in _NUMBERS or name.startswith("numpy.")):
            tried.data = tried.data or tensor
        elif owner and owner.is_tensor and method == "numpy":
            tried.data = tried.data or owner
        elif method in _RAISING and (name.startswith("torch.") or (owner and owner.is_tensor)):
            tried.ops[method] = "BadMultinomial" if method == "multinomial" else "BadCholesky"
        elif name.startswith("torch.") and method in _CHECKS:
            tried.ops[method] = "BadCheckCaught"
        elif owner and owner.is_tensor and method == "view":
            tried.ops[method] = "BadShapeFallback"
        else:
            self._module_call(tried, node, tensor)

    def _module_call(self, tried: _Tried, node: cst.Call, tensor: Value | None) -> None:
        function = self.code.value(node.func)
        if function.kind is Kind.MODULE:
            tried.ops["module"] = "BadIndexOutOfRange"
            if any(arg.keyword for arg in node.args):
                tried.ops["keyword"] = "BadMissingKwarg"
        elif function.function is not None and tensor:
            tried.decided = tried.decided or self._decided_in(function.function)
            tried.helper = tried.helper or tried.decided is not None or _decides(function.function.node)

    def _decided_in(self, helper: FunctionInfo) -> Value | None:
        """The data by which a function, or one that it calls, decides, as far as they stand in this file."""
        value = self.code.sketch.value
        for function in functions_below([helper]):
            if function.module is self.code.module:
                for part in _asked_in(function.node):
                    if value(part).is_data:
                        return value(part)
        return None


def _asked_in(function: ast.AST) -> Iterator[ast.expr]:
    """What a function asks for its truth, a test taken apart; and what it makes a number of."""
    for node in walked(function):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield from _asked_parts(test)
            case ast.Call(func=ast.Name(id="bool" | "int" | "float"), args=[given]):
                yield given


def _asked_parts(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.BoolOp(values=values):
            for one in values:
                yield from _asked_parts(one)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _asked_parts(operand)
        case _:
            yield test


def _decides(function: ast.AST) -> bool:
    """Does a helper test a number that was reduced from something?"""
    tests = (node.test for node in walked(function) if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert))
    parts = (part for test in tests for part in walked(test))
    return any(isinstance(part, ast.Attribute) and part.attr in _REDUCED for part in parts)


def _would_catch(op: str, caught: frozenset[str]) -> bool:
    match op:
        case "module":
            return "IndexError" in caught
        case "keyword":
            return "TypeError" in caught
        case _:
            return bool(caught & (CATCH_REFUSALS | _LINALG))


def _returns(final: cst.Finally) -> bool:
    lines = (line for line in final.body.body if isinstance(line, cst.SimpleStatementLine))
    return any(isinstance(small, cst.Return) for line in lines for small in line.body)


def _may_raise(sketch: Sketch, node: ast.AST) -> bool:
    value = sketch.value(node)
    raises = isinstance(node, ast.Attribute) and node.attr in _RAISING | _CHECKS
    return value.is_data or value.kind is Kind.MODULE or raises

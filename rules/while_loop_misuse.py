"""What a `while_loop` carries from step to step changes, or its functions touch something else.

Why: the body is traced once, for all steps. Measured on torch 2.13, in eager and in both export modes: the body returns
what it carries, in the same structure, with the same number of dims, sizes and dtypes, so nothing can be appended or
cast; a result is never a carried tensor itself, a view of one, or a tensor from outside; the condition has one element;
neither function writes into anything but what it made itself. Three more export and fail later: a tensor made of Python
numbers in either function, or carried twice, cannot be decomposed, so not lowered; a program that carries an int cannot
be saved. Closures over tensors, parameters and numbers are allowed.

Instead: make what is carried as large as it will get, and write the step's part with a mask. Write `t.clone()` for what
stays, and keep dtypes: `i // 2` for a counter, `.to(t.dtype)` after other arithmetic.

    def body(i, out, h):
        h = self.step(h)
        return i + 1, torch.where(torch.arange(out.shape[0])[:, None] == i, h, out), h
    while_loop(lambda i, out, h: i < out.shape[0], body, (torch.zeros((), dtype=torch.long), out, h))
"""

from __future__ import annotations

import ast
from typing import ClassVar

import libcst as cst

from exportlint import Branch, BranchRule, Case, Kind, Results, Severity, Touch

_CLONE = "return `{name}.clone()`, or compute a new tensor"
_PURE = "return the new value, and let the caller write it"
_LARGE = "carry a tensor that is as large as it will get, and write with a mask (`torch.where`)"
_MAY_BE_TENSOR = frozenset({Kind.TENSOR, Kind.UNKNOWN})
_TOUCHES = {
    Touch.ARGUMENT: "BadIdentity",
    Touch.VIEW: "BadAliasView",
    Touch.OUTSIDE: "BadAliasOutside",
    Touch.WRITES_ARGUMENT: "BadMutate",
    Touch.WRITES_TENSOR: "BadMutateBuffer",
    Touch.WRITES_CONTAINER: "BadMutateOutside",
    Touch.SETS_ATTRIBUTE: "BadMutateOutside",
    Touch.REBINDS: "BadMutateOutside",
    Touch.MAKES_CONSTANT: "BadConstant",
}


class WhileLoopMisuse(BranchRule):
    mended_by = ("operator-functions", "decide-in-data", "loop-in-data", "numbers-stay-tensors")
    words = r"while_loop\b"
    graph_breaks = ("GB0303", "GB0304", "GB0308", "GB0339")
    torch_says = (
        r"Higher Order Operator: torch\.while_loop",
        r"Expected body_fn_output and carried_inputs to have same metadata",
        r"\Awhile_loop doesn't work unless it is captured completely",
    )
    cases: ClassVar = {
        "BadArity": Case("the body returns {returned} values, {given} are carried", "return every carried value"),
        "BadArgs": Case("the function takes {takes} arguments, {given} values are carried", "take every carried value"),
        "BadIdentity": Case("the body hands `{name}` on unchanged", _CLONE),
        "BadAliasView": Case("the body returns a view of what it carries: `{name}`", _CLONE),
        "BadAliasOutside": Case("the body returns `{name}`, a tensor from outside", _CLONE),
        "BadMutate": Case("the body writes into what it carries: `{name}`", _PURE),
        "BadMutateBuffer": Case("the body writes into a tensor from outside: `{name}`", _PURE),
        "BadMutateOutside": Case(
            "the body changes something from outside: `{name}`", "carry it, and return the new value"
        ),
        "BadConstant": Case(
            "the function makes a tensor of Python numbers: `{name}`",
            "make it before the call and close over it, or use `torch.full(…)`",
        ),
        "BadGrows": Case("the body returns `{name}`, of another size than what it carries", _LARGE),
        "BadRank": Case("the body returns `{name}`, which has another number of dims than what it carries", _LARGE),
        "BadListGrows": Case("the body returns `{name}`, a longer list than it carries", _LARGE),
        "BadDtype": Case(
            "the body returns `{name}`, of another dtype than what it carries", "cast it back, as `.to(t.dtype)`"
        ),
        "BadCarriedTwice": Case("`{code}` is carried twice", "carry `{code}.clone()` the second time"),
        "BadCarriedNumber": Case("`{code}` is carried, which is neither a tensor nor an int", "carry a tensor"),
        "BadCarriedInt": Case(
            "the int `{code}` is carried",
            "carry a tensor: `torch.full((), {code})`, or `torch.zeros((), dtype=torch.long)`",
        ),
    }

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name.startswith(("torch", "functorch")) and name.endswith(".while_loop"):
            self._loop(self.given(node, ("cond_fn", "body_fn", "carried_inputs")))

    def _loop(self, given: dict[str, cst.BaseExpression]) -> None:
        carried = given.get("carried_inputs")
        parts = self._carried(carried) if isinstance(carried, cst.Tuple | cst.List) else None
        for key in ("cond_fn", "body_fn"):
            branch = self.branch(given[key]) if key in given else None
            if branch is None:
                continue
            if parts is not None and len(branch.params) != len(parts) and not branch.spare:
                self.report(given[key], "BadArgs", takes=str(len(branch.params)), given=str(len(parts)))
            elif key == "cond_fn":
                self.report_touches(given[key], branch, {Touch.MAKES_CONSTANT: "BadConstant"})
            else:
                self._body(given[key], branch, parts)

    def _carried(self, node: cst.Tuple | cst.List) -> list[cst.BaseExpression] | None:
        """What is carried at first, after what is wrong with it was reported; None where stars hide it."""
        parts = [element.value for element in node.elements]
        seen: set[str] = set()
        for part in parts:
            if isinstance(part, cst.Float | cst.SimpleString) or (isinstance(part, cst.Name) and part.value == "None"):
                self.report(part, "BadCarriedNumber")
            elif isinstance(part, cst.Integer):
                self.report(part, "BadCarriedInt")
            if isinstance(part, cst.Name) and part.value in seen and self.code.value(part).kind in _MAY_BE_TENSOR:
                self.report(part, "BadCarriedTwice")
            seen.update([part.value] if isinstance(part, cst.Name) else [])
        return None if any(isinstance(element, cst.StarredElement) for element in node.elements) else parts

    def _body(self, place: cst.BaseExpression, branch: Branch, carried: list[cst.BaseExpression] | None) -> None:
        self.report_touches(place, branch, _TOUCHES)
        known = {i: dtype for i, part in enumerate(carried or ()) if (dtype := self.dtype_made(part))}
        results = Results(branch, known)
        for returned in branch.returns:
            parts = branch.results(returned)
            if carried is not None and parts and len(parts) != len(carried) and _is_display(branch, returned):
                self.report(place, "BadArity", returned=str(len(parts)), given=str(len(carried)))
            elif _is_display(branch, returned):
                for i, part in enumerate(parts):
                    self._part(place, i, part, results)
                    if _appends(part, branch.params[i : i + 1]):
                        self.report(place, "BadListGrows", name=ast.unparse(part))

    def _part(self, place: cst.BaseExpression, i: int, part: ast.expr, results: Results) -> None:
        """What comes back at the place of argument `i`."""
        name, shape, dtype = ast.unparse(part), results.shape(part), results.dtype(part)
        before = results.argument(i)
        if shape and shape.of == i and shape.dims:
            self.report(place, "BadRank", name=name)
        elif shape and shape.of == i and shape.resized:
            self.report(place, "BadGrows", name=name)
        elif dtype and dtype.name and before.name and dtype.name != before.name:
            self.report(place, "BadDtype", name=name)
        elif dtype and shape and shape.of == i and dtype.differs(before):
            self.report(place, "BadDtype", at_most=Severity.WARNING, name=name)


def _is_display(branch: Branch, returned: ast.expr | None) -> bool:
    return isinstance(branch.resolved(returned), ast.Tuple | ast.List)


def _appends(node: ast.expr, params: list[str]) -> bool:
    """`items + [x]` and `[*items, x]`, where `items` is what is carried at this place."""
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.List() | ast.Tuple()):
            return name in params
        case (
            ast.List(elts=[ast.Starred(value=ast.Name(id=name)), _, *_])
            | ast.Tuple(elts=[ast.Starred(value=ast.Name(id=name)), _, *_])
        ):
            return name in params
    return False

"""The branches, the operands or the predicate of `torch.cond` break its rules.

Why: both branches are traced into the program, so they must fit each other and touch nothing else. Measured on torch
2.13, in eager and in both export modes: operands are a tuple or list (possibly nested) of tensors, of which none is a
view of another; the branches take as many arguments as there are operands and return the same structure of tensors (or
ints) of equal rank and dtype, while sizes may differ, and a tensor counts as a tuple of one; a result is never an
operand, a view of one, or a tensor from outside, and never the same tensor twice; a branch writes into nothing but what
it made itself; the predicate has one element, which strict mode notices only when the program runs. A tensor that a
branch makes of Python numbers exports, and then cannot be decomposed, so not lowered. Allowed, contrary to older pages:
closures over tensors and numbers, `self`, no operands at all, a module or `functools.partial` as branch, a predicate
that is a number or a one-element float tensor.

Instead: `t.clone()` instead of `t`, `torch.zeros(…)` instead of `None`, `0.0` or `torch.tensor(0.0)`, and results
handed out instead of written:

    torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t.clone(), (x,))
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Branch, BranchRule, Case, Code, Instead, Kind, Results, Severity, Touch, has_several_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLONE = "return `{name}.clone()`, or compute a new tensor"
_PURE = "return the new value, and let the caller write it"
_FIT = "let both branches return the same structure, ranks and dtypes"
_TENSORS = Instead("close over Python values, or pass a tensor", shown_in="GoodClosureNumber")
_TENSOR = "a tensor"
_OUT = "return tensors: `torch.zeros(…)`, `torch.full(…)`"
_PY = {"NoneType": "BadOutputNone", "str": "BadOutputString", "bool": "BadOutputBool", "float": "BadOutputFloat"}
_OPERANDS = {
    Kind.SCALAR: "BadOperandNumber",
    Kind.SIZE: "BadOperandSize",
    Kind.NONE: "BadOperandNone",
    Kind.MODULE: "BadOperandModule",
}
_TOUCHES = {
    Touch.ARGUMENT: "BadIdentity",
    Touch.VIEW: "BadAliasView",
    Touch.OUTSIDE: "BadAliasClosure",
    Touch.MAYBE_ARGUMENT: "BadAliasTo",
    Touch.WRITES_ARGUMENT: "BadMutateInput",
    Touch.WRITES_TENSOR: "BadMutateBuffer",
    Touch.WRITES_CONTAINER: "BadMutateList",
    Touch.SETS_ATTRIBUTE: "BadMutateAttribute",
    Touch.REBINDS: "BadNonlocal",
    Touch.RAISES: "BadBranchRaise",
    Touch.MAKES_CONSTANT: "BadConstant",
}


# What torch says of each, by which a refusal is known to be of one case and not of another at the same call.
_PREDICATE, _CONTENTS = r"Expected pred", r"Expect\w* `?operands`? to be"
_ARITY = r"[Aa]rgument mismatch|bind arguments|positional arg"
_ALIAS, _WRITES = r"\baliasing\b", r"[Ss]ide effect|\bmutation\b"
_STRUCTURE = r"differing branch outputs|Unmatched output spec|different number|same pytree"
_META = r"When merging two branches|Unmatched output spec"


class CondMisuse(BranchRule):
    mended_by = ("operator-functions", "decide-in-data")
    words = r"cond\b(?<!\wcond)"
    exportdb = ("cond_predicate", "cond_operands", "cond_branch_nested_function", "cond_closed_over_variable")
    graph_breaks = (
        "GB0040",
        "GB0041",
        "GB0067",
        "GB0309",
        "GB0310",
        "GB0311",
        "GB0312",
        "GB0313",
        "GB0314",
        "GB0340",
        "GB0350",
    )
    torch_says = (
        r"Higher Order Operator: torch\.cond",
        r"Expect operands to be a tuple",
        r"Expected pred to be bool or",
        r"When merging two branches",
        r"\ACond doesn't work unless it is captured completely",
    )
    cases: ClassVar = {
        "BadPredVector": Case(
            "the predicate `{code}` has more than one element",
            "reduce it to one, as in `({code}).all()` or `({code}).any()`;"
            " to choose element by element, use `torch.where`",
            torch_says=_PREDICATE,
        ),
        "BadPredString": Case(
            "the predicate `{code}` is neither a bool nor a tensor",
            Instead("give a one-element tensor", shown_in="GoodPredOne"),
            torch_says=_PREDICATE,
        ),
        "BadOperandNumber": Case(
            "the operand `{code}` is a Python value, not a tensor",
            _TENSORS,
            torch_says=_CONTENTS,
        ),
        "BadOperandString": Case(
            "the operand `{code}` is a string, not a tensor",
            _TENSORS,
            torch_says=_CONTENTS,
        ),
        "BadOperandSize": Case("the operand `{code}` is a size, not a tensor", _TENSORS, torch_says=_CONTENTS),
        "BadOperandNone": Case("the operand `{code}` is None, not a tensor", _TENSORS, torch_says=_CONTENTS),
        "BadOperandModule": Case(
            "the operand `{code}` is a module, not a tensor", "close over the module instead", torch_says=_CONTENTS
        ),
        "BadOperandBare": Case(
            "the operands `{code}` are one tensor, not a tuple", "write `({code},)`", torch_says=_CONTENTS
        ),
        "BadOperandViews": Case(
            "the operand `{code}` is a view of another operand", "take the view in the branches", torch_says=_ALIAS
        ),
        "BadArity": Case(
            "the branch takes {takes}, and {given} given", "pass one operand per argument", torch_says=_ARITY
        ),
        "BadBranchTensor": Case("the branch `{code}` is a tensor, not a function", "write `lambda: {code}`"),
        "BadClosureItem": Case("the branch reads `{name}`, a number that was read from a tensor", "pass the tensor"),
        "BadIdentity": Case("the branch returns its operand `{name}` itself", _CLONE, torch_says=_ALIAS),
        "BadAliasView": Case("the branch returns a view of its operand: `{name}`", _CLONE, torch_says=_ALIAS),
        "BadAliasTo": Case(
            "where it has nothing to convert, `{name}` is the operand itself", _CLONE, torch_says=_ALIAS
        ),
        "BadAliasClosure": Case("the branch returns `{name}`, a tensor from outside", _CLONE, torch_says=_ALIAS),
        "BadSameTwice": Case("the branch returns `{name}` twice", _CLONE, torch_says=_ALIAS),
        "BadMutateInput": Case("the branch writes into its operand: `{name}`", _PURE, torch_says=_WRITES),
        "BadMutateBuffer": Case("the branch writes into a tensor from outside: `{name}`", _PURE, torch_says=_WRITES),
        "BadMutateAttribute": Case("the branch sets `{name}`", _PURE, torch_says=_WRITES),
        "BadMutateList": Case("the branch changes a container from outside: `{name}`", _PURE, torch_says=_WRITES),
        "BadNonlocal": Case("the branch rebinds a name from outside: `{name}`", _PURE, torch_says=_WRITES),
        "BadBranchRaise": Case("the branch raises", "use `torch._assert_async`, and return a tensor"),
        "BadOutputFloat": Case("the branch returns the float `{name}`", _OUT),
        "BadOutputNone": Case("the branch returns None", _OUT),
        "BadOutputString": Case("the branch returns the string `{name}`", _OUT),
        "BadOutputBool": Case("the branch returns the bool `{name}`", _OUT),
        "BadOutputForgotten": Case("the branch returns nothing", "return the result"),
        "BadConstant": Case(
            "the branch makes a tensor of Python numbers: `{name}`",
            "make it before the call and close over it, or use `torch.full(…)`",
        ),
        "BadOutputStructure": Case("one branch returns {one}, the other {other}", _FIT, torch_says=_STRUCTURE),
        "BadOutputCount": Case(
            "the branches return different numbers of results, {one} and {other}", _FIT, torch_says=_STRUCTURE
        ),
        "BadOutputDictKeys": Case("the branches return dicts with different keys", _FIT, torch_says=_STRUCTURE),
        "BadOutputShape": Case("the branches return results of different rank", _FIT, torch_says=_META),
        "BadOutputDtype": Case("the branches return results of different dtype", _FIT, torch_says=_META),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._read: set[str] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        super().visit_Assign(node)
        names = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
        self._read.update(names if self.code.value(node.value).is_unbacked else ())

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name.startswith(("torch", "functorch")) and name.endswith(".cond") and "linalg" not in name:
            self._cond(self.given(node, ("pred", "true_fn", "false_fn", "operands")))

    def _cond(self, given: dict[str, cst.BaseExpression]) -> None:
        pred, operands = given.get("pred"), given.get("operands")
        if isinstance(pred, cst.SimpleString) or (isinstance(pred, cst.Name) and pred.value == "None"):
            self.report(pred, "BadPredString")
        elif pred is not None and has_several_elements(self.code.value(pred)):
            self.report(pred, "BadPredVector", because=self.code.value(pred))
        parts = self._operands(operands) if operands is not None else []
        places = [given[key] for key in ("true_fn", "false_fn") if key in given]
        branches = [branch for place in places if (branch := self._branch(place, parts)) is not None]
        if len(branches) == 2:  # noqa: PLR2004 - the two branches
            known = {i: dtype for i, part in enumerate(parts or ()) if (dtype := self.dtype_made(part))}
            for first, second in _pairs(*branches):
                self._fit(places[1], first, second, Results(branches[0], known), Results(branches[1], known))
            self._structures(places[1], *branches)

    def _operands(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """The operands, after what is wrong with them was reported; None where their number is not known."""
        if not isinstance(node, cst.Tuple | cst.List):
            if self.code.value(node).is_tensor:
                self.report(node, "BadOperandBare")
            return None
        parts = [element.value for element in node.elements]
        names = [part.value for part in parts if isinstance(part, cst.Name)]
        for part in parts:
            value = self.code.value(part)
            if isinstance(part, cst.SimpleString):
                self.report(part, "BadOperandString")
            elif value.kind in _OPERANDS and value.certain:
                self.report(part, _OPERANDS[value.kind], because=value)
            elif (view := self.origin(part)) and Branch(names, spare=False, body=[]).touched(view) is Touch.VIEW:
                self.report(part, "BadOperandViews")
        return None if any(isinstance(element, cst.StarredElement) for element in node.elements) else parts

    def _branch(self, place: cst.BaseExpression, operands: list[cst.BaseExpression] | None) -> Branch | None:
        """The branch, after what is wrong with it alone was reported."""
        branch = self.branch(place)
        if branch is None:
            if self.code.value(place).is_tensor:
                self.report(place, "BadBranchTensor")
            return None
        if operands is not None and len(branch.params) != len(operands) and not branch.spare:
            takes, given = _count(len(branch.params), "argument"), _count(len(operands), "operand")
            self.report(place, "BadArity", takes=takes, given=f"{given} {'is' if len(operands) == 1 else 'are'}")
        self.report_touches(place, branch, _TOUCHES, {"BadAliasTo": Severity.WARNING})
        for name in sorted(branch.outside & self._read):
            self.report(place, "BadClosureItem", name=name)
        self._outputs(place, branch)
        return branch

    def _outputs(self, place: cst.BaseExpression, branch: Branch) -> None:
        """What a branch returns that is no tensor, or twice the same."""
        if not branch.returns and not any(isinstance(statement, ast.Raise) for statement in branch.body):
            self.report(place, "BadOutputForgotten")
        for parts in map(branch.results, branch.returns):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            twice = [part for part in parts if isinstance(part, ast.Name) and names.count(part.id) > 1]
            if twice and branch.touched(twice[0]) is not Touch.ARGUMENT:
                self.report(place, "BadSameTwice", name=twice[0].id)
            for part in parts:
                if isinstance(part, ast.Constant) and (case := _PY.get(type(part.value).__name__)):
                    self.report(place, case, name=ast.unparse(part))

    def _structures(self, place: cst.BaseExpression, yes: Branch, no: Branch) -> None:
        """A tensor fits a tuple of one: torch counts the tensors, and compares the kinds of containers."""
        one, other = _structure(yes), _structure(no)
        if one is None or other is None:
            return
        if _TENSOR not in (one[0], other[0]) and one[0] != other[0]:
            self.report(place, "BadOutputStructure", one=one[0], other=other[0])
        elif one[1] != other[1]:
            self.report(place, "BadOutputCount", one=str(one[1]), other=str(other[1]))
        else:
            match _first(yes), _first(no):
                case (ast.Dict() as x, ast.Dict() as y) if _by_key(x).keys() != _by_key(y).keys():
                    self.report(place, "BadOutputDictKeys")

    def _fit(self, place: cst.BaseExpression, a: ast.expr, b: ast.expr, yes: Results, no: Results) -> None:
        shape, dtype = yes.shape(a), yes.dtype(a)
        if shape and shape.differs(no.shape(b)):
            self.report(place, "BadOutputShape")
        elif dtype and dtype.differs(no.dtype(b)):
            self.report(place, "BadOutputDtype")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _structure(branch: Branch) -> tuple[str, int] | None:
    """What all that it returns is, and of how many parts; None: not known, as of a function that may give a tuple."""
    found = {_put_together(branch, returned) for returned in branch.returns}
    return found.pop() if len(found) == 1 else None


def _put_together(branch: Branch, returned: ast.expr | None) -> tuple[str, int] | None:
    match branch.resolved(returned):
        case ast.Tuple(elts=parts) if not _nested(parts):
            return "a tuple", len(parts)
        case ast.List(elts=parts) if not _nested(parts):
            return "a list", len(parts)
        case ast.Dict(values=parts, keys=keys) if not _nested(parts) and None not in keys:
            return "a dict", len(parts)
        case (ast.Call() | ast.BinOp() | ast.Compare()) as whole:
            results = Results(branch)
            return (_TENSOR, 1) if results.shape(whole) or results.dtype(whole) else None
    return None


def _nested(parts: list[ast.expr]) -> bool:
    return any(isinstance(part, ast.Tuple | ast.List | ast.Dict | ast.Starred) for part in parts)


def _first(branch: Branch) -> ast.expr | None:
    return branch.resolved(branch.returns[0]) if branch.returns else None


def _pairs(yes: Branch, no: Branch) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The results of two branches that stand at the same place."""
    match _first(yes), _first(no):
        case (ast.Tuple(elts=x), ast.Tuple(elts=y)) | (ast.List(elts=x), ast.List(elts=y)):
            yield from zip(x, y, strict=False)
        case (ast.Dict() as first, ast.Dict() as second):
            other = _by_key(second)
            yield from ((value, other[key]) for key, value in _by_key(first).items() if key in other)
        case (ast.expr() as first, ast.expr() as second):
            yield first, second


def _by_key(node: ast.Dict) -> dict[str, ast.expr]:
    return {ast.unparse(key): value for key, value in zip(node.keys, node.values, strict=True) if key}

"""`torch.cond` or `while_loop` is used against its rules.

Why: both branches are traced into the program, so they must fit each other and touch nothing else. Measured on torch
2.13, in eager and in both export modes: operands are a tuple or list (possibly nested) of tensors; the branches take
as many arguments as there are operands and return the same structure of tensors (or ints) of equal rank and dtype; a
result is never an operand, a view of one, or a tensor from outside, and never the same tensor twice; a branch writes
into nothing but what it made itself. Allowed, contrary to older pages: closures over tensors and numbers, `self`, no
operands at all, a module or `functools.partial` as branch, a predicate that is a number or a one-element float tensor.

Instead: `t.clone()` instead of `t`, `torch.zeros(…)` instead of `None` or `0.0`, and results handed out instead of
written:

    torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t.clone(), (x,))
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

_VIEWS = frozenset({"view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "expand", "flatten"})
_VIEWS |= frozenset(
    {"narrow", "detach", "select", "diagonal", "movedim", "swapaxes", "unflatten", "view_as", "expand_as"}
)
_MAYBE_VIEWS = frozenset({"contiguous", "to", "float", "double", "half", "type_as", "type"})
_CASTS = frozenset(
    {"long", "int", "bool", "short", "char", "byte", "argmax", "argmin", "isnan", "isinf", "eq", "gt", "lt"}
)
_REDUCTIONS = frozenset({"sum", "mean", "amax", "amin", "prod", "std", "var", "norm", "any", "all", "logsumexp"})
_SAME = frozenset(
    {"relu", "tanh", "sigmoid", "abs", "exp", "neg", "clone", "clamp", "sqrt", "log", "sin", "cos", "square"}
)
_SAME |= frozenset({"mul", "add", "sub", "div", "float", "contiguous", "detach", "softmax", "cumsum", "gelu", "silu"})
_GROWS = frozenset({"append", "extend", "insert", "add", "update", "pop", "clear", "setdefault"})
_CLONE = "return `{name}.clone()`, or compute a new tensor"
_PURE = "return the new value, and let the caller write it"
_FIT = "let both branches return the same structure, ranks and dtypes"
_TENSORS = "close over Python values, or pass a tensor"
_OUT = "return tensors: `torch.tensor(…)`, `torch.zeros(…)`"
_PY = {"NoneType": "BadOutputNone", "str": "BadOutputString", "bool": "BadOutputBool", "float": "BadOutputFloat"}
_OPERANDS = {
    Kind.SCALAR: "BadOperandNumber",
    Kind.SIZE: "BadOperandSize",
    Kind.NONE: "BadOperandNone",
    Kind.MODULE: "BadOperandModule",
}


@dataclass(slots=True)
class _Branch:
    """A branch function, in `ast` so that lambdas, nested functions and methods read alike."""

    params: list[str]
    spare: bool  # *args or defaults: the number of arguments is free
    body: list[ast.stmt]
    returns: list[ast.expr | None]
    made: dict[str, ast.expr] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)


class CondMisuse(Rule):
    words = r"\b(cond|while_loop)\b"
    exportdb = ("cond_predicate", "cond_operands", "cond_branch_nested_function", "cond_closed_over_variable")
    graph_breaks = ("GB0040", "GB0041", "GB0067", "GB0309", "GB0310", "GB0311", "GB0312", "GB0313", "GB0314")
    torch_says = (
        r"Higher Order Operator: torch\.(cond|while_loop)",
        r"Expect operands to be a tuple",
        r"Expected pred to be bool or",
        r"When merging two branches",
        r"\A(Cond|while_loop) doesn't work unless it is captured completely",
    )
    cases: ClassVar = {
        "BadPredString": Case("the predicate `{code}` is neither a bool nor a tensor", "give a one-element tensor"),
        "BadOperandNumber": Case("the operand `{code}` is a Python value, not a tensor", _TENSORS),
        "BadOperandString": Case("the operand `{code}` is a string, not a tensor", _TENSORS),
        "BadOperandSize": Case("the operand `{code}` is a size, not a tensor", _TENSORS),
        "BadOperandNone": Case("the operand `{code}` is None, not a tensor", _TENSORS),
        "BadOperandModule": Case("the operand `{code}` is a module, not a tensor", "close over the module instead"),
        "BadOperandBare": Case("the operands `{code}` are one tensor, not a tuple", "write `({code},)`"),
        "BadArity": Case(
            "the branch takes {takes} arguments, {given} operands are given", "pass one operand per argument"
        ),
        "BadBranchTensor": Case("the branch `{code}` is a tensor, not a function", "write `lambda: {code}`"),
        "BadClosureItem": Case("the branch reads `{name}`, a number that was read from a tensor", "pass the tensor"),
        "BadIdentity": Case("the branch returns its operand `{name}` itself", _CLONE),
        "BadAliasView": Case("the branch returns a view of its operand: `{name}`", _CLONE),
        "BadAliasTo": Case("where it has nothing to convert, `{name}` is the operand itself", _CLONE),
        "BadAliasClosure": Case("the branch returns `{name}`, a tensor from outside", _CLONE),
        "BadSameTwice": Case("the branch returns `{name}` twice", _CLONE),
        "BadMutateInput": Case("the branch writes into its operand: `{name}`", _PURE),
        "BadMutateBuffer": Case("the branch writes into a tensor from outside: `{name}`", _PURE),
        "BadMutateAttribute": Case("the branch sets `{name}`", _PURE),
        "BadMutateList": Case("the branch changes a container from outside: `{name}`", _PURE),
        "BadNonlocal": Case("the branch rebinds a name from outside: `{name}`", _PURE),
        "BadBranchRaise": Case("the branch raises", "use `torch._assert_async`, and return a tensor"),
        "BadOutputFloat": Case("the branch returns the float `{name}`", _OUT),
        "BadOutputNone": Case("the branch returns None", _OUT),
        "BadOutputString": Case("the branch returns the string `{name}`", _OUT),
        "BadOutputBool": Case("the branch returns the bool `{name}`", _OUT),
        "BadOutputForgotten": Case("the branch returns nothing", "return the result"),
        "BadOutputCount": Case("the branches return different numbers of results", _FIT),
        "BadOutputDictKeys": Case("the branches return dicts with different keys", _FIT),
        "BadOutputShape": Case("the branches return results of different rank", _FIT),
        "BadOutputDtype": Case("the branches return results of different dtype", _FIT),
        "BadWhileArity": Case("the body returns {returned} values, {given} are carried", "return every carried value"),
        "BadWhileArgs": Case(
            "the function takes {takes} arguments, {given} values are carried", "take every carried value"
        ),
        "BadWhileIdentity": Case("the body hands `{name}` on unchanged", _CLONE),
        "BadWhileMutate": Case("the body writes into what it carries: `{name}`", _PURE),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._functions: dict[str, cst.FunctionDef | cst.Lambda] = {}
        self._read: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions[node.name.value] = node

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                if isinstance(node.value, cst.Lambda):
                    self._functions[target.target.value] = node.value
                elif self.code.value(node.value).is_unbacked:
                    self._read.add(target.target.value)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if not name.startswith(("torch", "functorch")):
            return
        if name.rpartition(".")[2] == "cond" and "linalg" not in name:
            self._cond(_given(node, ("pred", "true_fn", "false_fn", "operands")))
        elif name.rpartition(".")[2] == "while_loop":
            self._while(_given(node, ("cond_fn", "body_fn", "carried_inputs")))

    def _cond(self, given: dict[str, cst.BaseExpression]) -> None:
        pred, operands = given.get("pred"), given.get("operands")
        if isinstance(pred, cst.SimpleString) or (isinstance(pred, cst.Name) and pred.value == "None"):
            self.report(pred, "BadPredString")
        count = self._operands(operands) if operands is not None else 0
        branches = [(given[key], self._branch(given[key])) for key in ("true_fn", "false_fn") if key in given]
        for place, branch in branches:
            if branch is None:
                if self.code.value(place).is_tensor:
                    self.report(place, "BadBranchTensor")
                continue
            takes = len(branch.params)
            if count is not None and takes != count and not branch.spare:
                self.report(place, "BadArity", takes=str(takes), given=str(count))
            self._alone(place, branch, {"BadIdentity": "BadIdentity", "BadMutateInput": "BadMutateInput"})
        if len(branches) == 2 and branches[0][1] and branches[1][1]:  # noqa: PLR2004 - the two branches
            self._together(branches[1][0], branches[0][1], branches[1][1])

    def _operands(self, node: cst.BaseExpression) -> int | None:
        if not isinstance(node, cst.Tuple | cst.List):
            if self.code.value(node).is_tensor:
                self.report(node, "BadOperandBare")
            return None
        for element in node.elements:
            value = self.code.value(element.value)
            if isinstance(element.value, cst.SimpleString):
                self.report(element.value, "BadOperandString")
            elif value.kind in _OPERANDS and value.certain:
                self.report(element.value, _OPERANDS[value.kind], because=value)
        starred = any(isinstance(element, cst.StarredElement) for element in node.elements)
        return None if starred else len(node.elements)

    def _while(self, given: dict[str, cst.BaseExpression]) -> None:
        carried = given.get("carried_inputs")
        count = len(carried.elements) if isinstance(carried, cst.Tuple | cst.List) else None
        for key in ("cond_fn", "body_fn"):
            branch = self._branch(given[key]) if key in given else None
            if branch is None:
                continue
            if count is not None and len(branch.params) != count and not branch.spare:
                self.report(given[key], "BadWhileArgs", takes=str(len(branch.params)), given=str(count))
            elif key == "body_fn":
                self._alone(given[key], branch, {"BadIdentity": "BadWhileIdentity", "BadMutateInput": "BadWhileMutate"})
                sizes = {len(r.elts) for r in branch.returns if isinstance(r, ast.Tuple)}
                if count is not None and sizes and count not in sizes:
                    self.report(given[key], "BadWhileArity", returned=str(sizes.pop()), given=str(count))

    def _branch(self, node: cst.BaseExpression) -> _Branch | None:
        if isinstance(node, cst.Name) and node.value in self._functions:
            node = self._functions[node.value]  # type: ignore[assignment]
        if isinstance(node, cst.FunctionDef | cst.Lambda):
            return _read(ast.parse(cst.Module([]).code_for_node(node).strip()).body[0])
        function = self.code.value(node).function
        return _read(function.node, method=isinstance(node, cst.Attribute)) if function else None

    def _alone(self, place: cst.BaseExpression, branch: _Branch, said: dict[str, str]) -> None:
        """What is wrong with one branch whatever the other does."""
        for case, name in (*_effects(branch), *_results(branch)):
            at_most = Severity.WARNING if case == "BadAliasTo" else Severity.ERROR
            self.report(place, said.get(case, case), at_most=at_most, name=name)
        for name in sorted(branch.outside & self._read):
            self.report(place, "BadClosureItem", name=name)

    def _together(self, place: cst.BaseExpression, yes: _Branch, no: _Branch) -> None:
        for a, b in zip(yes.returns[:1], no.returns[:1], strict=False):
            first, second = (_resolved(r, branch) for r, branch in ((a, yes), (b, no)))
            match first, second:
                case (ast.Tuple(elts=x), ast.Tuple(elts=y)) if len(x) != len(y):
                    self.report(place, "BadOutputCount")
                case (ast.Tuple(elts=x), ast.Tuple(elts=y)):
                    self._fit(place, list(zip(x, y, strict=True)), yes, no)
                case (ast.Dict(keys=x), ast.Dict(keys=y)):
                    if {ast.dump(k) for k in x if k} != {ast.dump(k) for k in y if k}:
                        self.report(place, "BadOutputDictKeys")
                case (ast.expr(), ast.expr()):
                    self._fit(place, [(first, second)], yes, no)

    def _fit(
        self, place: cst.BaseExpression, pairs: list[tuple[ast.expr, ast.expr]], yes: _Branch, no: _Branch
    ) -> None:
        for a, b in pairs:
            ranks = (_rank(a, yes), _rank(b, no))
            dtypes = (_dtype(a, yes), _dtype(b, no))
            if None not in ranks and ranks[0] != ranks[1]:
                self.report(place, "BadOutputShape")
            elif None not in dtypes and dtypes[0] != dtypes[1]:
                self.report(place, "BadOutputDtype")


def _given(node: cst.Call, names: tuple[str, ...]) -> dict[str, cst.BaseExpression]:
    given = dict(zip(names, (arg.value for arg in node.args if not arg.keyword and not arg.star), strict=False))
    return given | {arg.keyword.value: arg.value for arg in node.args if arg.keyword}


def _read(node: ast.AST, *, method: bool = False) -> _Branch | None:
    if isinstance(node, ast.Expr):
        node = node.value
    if not isinstance(node, ast.Lambda | ast.FunctionDef):
        return None
    static = isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)
    args = node.args
    params = [arg.arg for arg in (*args.posonlyargs, *args.args)][1 if method and not static else 0 :]
    body: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
    returns = [found.value for statement in body for found in _inside(statement) if isinstance(found, ast.Return)]
    branch = _Branch(params, bool(args.vararg or args.defaults), body, returns)
    for statement in body:
        for found in _inside(statement):
            if isinstance(found, ast.Assign):
                branch.made.update(_bound(found.targets[0], found.value))
            if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Load):
                branch.outside.add(found.id)
    branch.outside -= {*params, *branch.made}
    return branch


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What an assignment gives each name, `a, b = pair` included."""
    if isinstance(target, ast.Name):
        yield target.id, value
    for i, inner in enumerate(getattr(target, "elts", ())):
        parts = getattr(value, "elts", ())
        yield from _bound(inner, parts[i] if i < len(parts) else ast.Subscript(value, ast.Constant(i), ast.Load()))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what it contains, without the bodies of functions defined in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from _inside(child)


def _effects(branch: _Branch) -> Iterator[tuple[str, str]]:
    for statement in branch.body:
        if isinstance(statement, ast.Raise):
            yield "BadBranchRaise", ""
        for node in _inside(statement):
            yield from _effect(node, branch)


def _effect(node: ast.AST, branch: _Branch) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Nonlocal(names=names) | ast.Global(names=names):
            yield "BadNonlocal", names[0]
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method.endswith("_") and not method.startswith(
            "_"
        ):
            yield from _written(owner, node, branch)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)) if method in _GROWS:
            if owner in branch.outside and owner != "torch":
                yield "BadMutateList", ast.unparse(node)
        case ast.Assign(targets=[ast.Subscript(value=owner)]) | ast.AugAssign(target=ast.Subscript(value=owner)):
            yield from _written(owner, node, branch)
        case ast.Assign(targets=[ast.Attribute()]) | ast.AugAssign(target=ast.Attribute()):
            yield "BadMutateAttribute", ast.unparse(node)
        case ast.AugAssign(target=ast.Name(id=name)) if name in branch.params:
            yield "BadMutateInput", ast.unparse(node)


def _written(owner: ast.expr, node: ast.AST, branch: _Branch) -> Iterator[tuple[str, str]]:
    case = _shares(owner, branch)
    if case in {"BadIdentity", "BadAliasView"}:
        yield "BadMutateInput", ast.unparse(node)
    elif case == "BadAliasClosure" and ast.unparse(owner) not in {"torch", "F", "init", "nn.init"}:
        yield "BadMutateBuffer", ast.unparse(node)


def _results(branch: _Branch) -> Iterator[tuple[str, str]]:
    if not branch.returns and not any(isinstance(statement, ast.Raise) for statement in branch.body):
        yield "BadOutputForgotten", ""
    for returned in branch.returns:
        result = _resolved(returned, branch)
        parts = result.elts if isinstance(result, ast.Tuple | ast.List) else [result] if result else []
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if len(names) != len(set(names)):
            yield "BadSameTwice", max(names, key=names.count)
        for part in parts:
            if isinstance(part, ast.Constant):
                kind = type(part.value).__name__
                if kind in _PY:
                    yield _PY[kind], ast.unparse(part)
            elif case := _shares(part, branch):
                yield case, ast.unparse(part)


def _resolved(node: ast.expr | None, branch: _Branch) -> ast.expr | None:
    """A local name stands for what it was given, unless that is an operand's name."""
    if isinstance(node, ast.Name) and isinstance(branch.made.get(node.id), ast.Tuple | ast.Dict):
        return branch.made[node.id]
    return node


def _shares(node: ast.expr, branch: _Branch, depth: int = 0) -> str | None:
    """Which rule a result breaks that shares memory with an operand or with a tensor from outside."""
    match node:
        case ast.Name(id=name) if name in branch.made and depth < 4:  # noqa: PLR2004 - names that name names
            return _shares(branch.made[name], branch, depth + 1)
        case ast.Name(id=name) if name in branch.params:
            return "BadIdentity"
        case ast.Name(id=name) if name in branch.outside:
            return "BadAliasClosure"
        case ast.Attribute(value=ast.Name(id="self")):
            return "BadAliasClosure"
        case ast.Attribute(value=owner, attr="T" | "mT" | "data"):
            return _shares(owner, branch, depth) and "BadAliasView"
        case ast.Subscript(value=owner, slice=index) if _basic(index):
            return _shares(owner, branch, depth) and "BadAliasView"
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _VIEWS | _MAYBE_VIEWS:
            sharing = _shares(owner, branch, depth)
            outside = sharing == "BadAliasClosure"
            return None if not sharing or outside else "BadAliasView" if method in _VIEWS else "BadAliasTo"
    return None


def _basic(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(part, ast.Slice | ast.Constant | ast.UnaryOp) for part in parts)


def _rank(node: ast.expr, branch: _Branch, depth: int = 0) -> str | None:
    """ "same" as an operand, "0-d", "less" by a dim; None: not known."""
    match node:
        case ast.Name(id=name) if name in branch.made and depth < 4:  # noqa: PLR2004 - names that name names
            return _rank(branch.made[name], branch, depth + 1)
        case ast.Name(id=name) if name in branch.params and len(branch.params) == 1:
            return "same"
        case ast.UnaryOp(operand=inner):
            return _rank(inner, branch, depth)
        case ast.BinOp(left=left, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=left):
            return _rank(left, branch, depth)
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args, keywords=words):
            if isinstance(owner, ast.Name) and owner.id in {"torch", "F"} and args:
                owner, args = args[0], args[1:]
            rank = _rank(owner, branch, depth)
            if rank is None or method in _SAME:
                return rank
            if method in _REDUCTIONS:
                kept = any(word.arg == "keepdim" for word in words)
                return None if kept else "0-d" if not args and not words else "less"
    return None


def _dtype(node: ast.expr, branch: _Branch) -> str | None:
    match node:
        case ast.Name(id=name) if name in branch.made:
            return _dtype(branch.made[name], branch) if not isinstance(branch.made[name], ast.Name) else None
        case ast.Name(id=name) if name in branch.params:
            return "operand"
        case ast.Compare():
            return "bool"
        case ast.BinOp(left=left, right=ast.Constant(value=int())):
            return _dtype(left, branch) if not isinstance(node.op, ast.Div) else None
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _CASTS:
            return "operand" if _dtype(owner, branch) == method else method
    return None

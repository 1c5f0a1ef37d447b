"""A dim that is declared dynamic is frozen or narrowed by the model.

Why: the tracer runs the model with the sample's sizes. Where Python needs a number (`int`, `len`, a loop over rows, a
string) or a decision (`if x.shape[0] > 4`), the sample's answer is kept and becomes a constraint. A declared `Dim` then
fails with "Constraints violated"; with `Dim.AUTO` or `Dim.DYNAMIC` the export may pass and the program refuses the
other sizes when it runs.

Instead: hand sizes to operators as they are, compute with `//`, `*`, `+` and `torch.sym_max`/`sym_min`, and work on
whole tensors or with `torch.vmap`, or row by row with `functorch.experimental.control_flow.map`, and with `scan` where
each step goes on from the one before. Where two ways are needed, `torch.where` on `torch.tensor(x.shape[0]) > 4`.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Declaration, Rule, Severity, called, dims_of, extent_of, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Code, ModuleInfo, Value


_SYMBOLIC = "hand the size to operators as it is: `x.shape[{dim}]` may be multiplied, divided by `//` and added"
_WHOLE = "work on the whole tensor, or use `torch.vmap`"
_ROWS = (
    f"{_WHOLE}; or, where the steps know nothing of each other, `functorch.experimental.control_flow.map(f, x)`, in"
    " which `torch.cond` may stand; where each goes on from the one before, `scan`"
    " (`from torch._higher_order_ops.scan import scan`)"
)
_UNROLLED = "the loop is unrolled to the sample's length"
_BOTH = "compute both ways and select with `torch.where`, or declare the dim with the narrower range"
_DIM = re.compile(r"\b(Dim|dims)\b")
_TO_NUMBER = {
    "builtins.int": "BadInt",
    "builtins.float": "BadInt",
    "builtins.round": "BadRounded",
    "math.sqrt": "BadMath",
}
_TO_NUMBER |= {f"math.{name}": "BadRounded" for name in ("ceil", "floor", "log", "log2", "log10", "exp", "pow")}
# What demands a result of Python's arithmetic, not one size.
_NARROWING = frozenset({"BadIntOfQuotient", "BadRounded"})
_TO_ROWS = frozenset(
    {"builtins.list", "builtins.tuple", "builtins.enumerate", "builtins.zip", "builtins.reversed", "builtins.iter"}
)


# Operators after which dim 0 may be another one.
_REARRANGING = frozenset({
    "permute", "transpose", "t", "T", "mT", "H", "mH", "movedim", "moveaxis", "swapaxes", "swapdims", "view", "reshape",
    "unflatten", "flatten", "unsqueeze", "stack", "einsum",
})  # fmt: skip


class DynamicShapeFrozen(Rule):
    mended_by = ("declared-dims", "decide-in-data", "loop-in-data", "numbers-stay-tensors")
    words = r"\b(shape|size|len|for|list|unbind)\b"
    torch_says = (r"Constraints violated", r"Guard failed: .*size\(\)\[\d+\]", r"draft_export\.GUARD_ADDED_ON_SIZES")
    checks = ("frozen-dim", "narrowed-dim", "sizes")
    shown_by = ("sizes",)
    cases: ClassVar = {
        "BadInt": Case("`{code}` makes a constant of dim {dim}, which is declared dynamic", _SYMBOLIC),
        "BadLen": Case("`{code}` makes a constant of dim {dim}, which is declared dynamic", "use `x.shape[{dim}]`"),
        "BadIntOfQuotient": Case("`{code}` makes a constant of dim {dim}, which is declared dynamic", _SYMBOLIC),
        "BadMath": Case("`{code}` makes a constant of dim {dim}, which is declared dynamic", _SYMBOLIC),
        "BadRounded": Case("`{code}` makes a constant of dim {dim}, which is declared dynamic", _SYMBOLIC),
        "BadBranch": Case("`{code}` decides by dim {dim}, which is declared dynamic; one way is kept", _BOTH),
        "BadAutoBranch": Case(
            "`{code}` decides by dim {dim}, which `{how}` leaves to torch",
            _BOTH,
            in_program="; the program takes the sizes of one way",
        ),
        "BadAutoConstant": Case(
            "`{code}` makes a constant of dim {dim}, which `{how}` leaves to torch",
            _SYMBOLIC,
            in_program="; the program takes the sample's size alone",
        ),
        "BadDynamicQuotient": Case(
            "`{code}` computes a number from dim {dim}, which `{how}` leaves to torch",
            _SYMBOLIC,
            in_program="; the program takes the sizes that give the sample's number",
        ),
        "BadAssert": Case("`{code}` narrows dim {dim}, which is declared dynamic", "declare the dim with this range"),
        "BadWhile": Case(
            f"`{{code}}` loops as often as dim {{dim}} says, which is declared dynamic; {_UNROLLED}",
            _ROWS,
        ),
        "BadIteration": Case("`{code}` takes one step for every row of dim {dim}, which is declared dynamic", _ROWS),
        "BadRange": Case(
            f"`{{code}}` takes one step for every index of dim {{dim}}, which is declared dynamic; {_UNROLLED}",
            _ROWS,
        ),
        "BadUnbind": Case("`{code}` makes one tensor for every row of dim {dim}, which is declared dynamic", _ROWS),
        "BadList": Case("`{code}` makes one tensor for every row of dim {dim}, which is declared dynamic", _WHOLE),
        "BadRepeatedList": Case("`{code}` makes a Python list as long as dim {dim}, which is declared dynamic", _WHOLE),
        "BadText": Case("`{code}` writes the sample's size of dim {dim} into a string", "leave sizes out of strings"),
        "BadLookup": Case("`{code}` looks up dim {dim}, which is declared dynamic, in Python", "use a tensor as table"),
        "BadMinimum": Case(
            "`{code}` decides by dim {dim}, which is declared dynamic", "declare the dim with the narrower range"
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does a sample declare dims, or a dictionary of the file that looks as if it did?"""
        return code.declares_dims or bool(_declared(code.module))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._specs = _declared(code.module)
        self._names: dict[str, int] = {}
        self._rows: dict[str, set[int]] = {}
        self._rearranged: set[str] = set()

    def visit_Module(self, node: cst.Module) -> None:
        own = self.code.function
        if own and own.name == "forward":
            self._rows = self._specs
        elif own:
            every = {dim for dims in self._specs.values() for dim in dims}
            arguments = getattr(own.node, "args", None)
            self._rows = {a.arg: every for a in (arguments.args if arguments else []) if a.arg != "self"}

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            match target.target:
                case cst.Name(value=name):
                    dim = self._dim(node.value)
                    self._names.pop(name, None)
                    self._rearranged.discard(name)
                    if self._is_rearranged(node.value):
                        self._rearranged.add(name)
                    if dim is not None:
                        self._names[name] = dim
                case cst.Tuple(elements=elements):
                    self._unpacked(elements, node.value)

    def _unpacked(self, elements: object, value: cst.BaseExpression) -> None:
        """`b, t = x.shape`, `b, t = x.shape[:2]`."""
        if isinstance(value, cst.Subscript):
            value = value.value
        owner = _shape_owner(value)
        for i, element in enumerate(elements if isinstance(elements, tuple | list) else ()):
            if isinstance(element, cst.StarredElement) or owner is None:
                return
            if isinstance(element.value, cst.Name) and i in self._dims_of(owner):
                self._names[element.value.value] = i

    def _dims_of(self, tensor: cst.BaseExpression) -> set[int]:
        """Which dims of a tensor are declared dynamic: by their sizes where these are known, else by the name of an
        argument; dim 0 is kept by most operators, and by none that gives the dims another order or number."""
        value = self.code.value(tensor)
        known = dims_of(value) or ()
        of_numbers = {dim for dim, size in enumerate(known) if size is not None and not size.dims}
        return self._dims_by_name(tensor, value) - of_numbers

    def _dims_by_name(self, tensor: cst.BaseExpression, value: Value) -> set[int]:
        if isinstance(tensor, cst.Name) and tensor.value in self._rows:
            return self._rows[tensor.value]
        if self._is_rearranged(tensor):
            return set()
        if value.is_tensor and self._rows and value.source is not None and value.source.name == "COMPUTED":
            return {0} & {dim for dims in self._rows.values() for dim in dims}
        return set()

    def _is_rearranged(self, tensor: cst.BaseExpression) -> bool:
        match tensor:
            case cst.Name(value=name):
                return name in self._rearranged
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))):
                return method in _REARRANGING or self._is_rearranged(owner)
            case cst.Attribute(value=owner, attr=cst.Name(value=name)):
                return name in _REARRANGING or self._is_rearranged(owner)
        return False

    def _dim(self, node: cst.CSTNode) -> int | None:
        """The dynamic dim that an expression is the size of, or is computed from."""
        if (extent := extent_of(self.code.value(node))) is not None:
            return min((dim.index for dim in extent.dims), default=None)
        match node:
            case cst.Name(value=name):
                return self._names.get(name)
            case cst.Subscript(
                value=shape, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value=index)))]
            ):
                owner = _shape_owner(shape)
                return int(index) if owner is not None and int(index) in self._dims_of(owner) else None
            case cst.Call(
                func=cst.Attribute(value=owner, attr=cst.Name(value="size")),
                args=[cst.Arg(value=cst.Integer(value=index))],
            ):
                return int(index) if int(index) in self._dims_of(owner) else None
            case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=owner)]):
                return 0 if 0 in self._dims_of(owner) else None
            case cst.BinaryOperation(left=left, right=right):
                found = self._dim(left)
                return found if found is not None else self._dim(right)
        return None

    def _report_dim(
        self, node: cst.CSTNode, case: str, dim: int | None, size: cst.BaseExpression | None = None
    ) -> None:
        """`size`: of which Python makes a number here. Only where every size of a range has to work is that refused."""
        if dim is None:
            return
        how = self._left_to_torch(size) if size is not None else ""
        if how and case in _NARROWING:
            case = "BadDynamicQuotient"
        elif how == Declaration.AUTO.value:
            case = "BadAutoConstant"
        else:
            how = ""
        self.report(node, case, dim=str(dim), how=how)

    def visit_Call(self, node: cst.Call) -> None:
        self._unbound(node)
        name = self.code.name(node.func) or ""
        given = node.args[0].value if node.args else None
        if given is None:
            return
        if name == "builtins.len":
            self._report_dim(node, "BadLen", self._dim(node), node)
        elif case := _TO_NUMBER.get(name):
            self._report_dim(
                node, "BadIntOfQuotient" if case == "BadInt" and _is_quotient(given) else case, self._dim(given), given
            )
        elif name in {"builtins.list", "builtins.tuple"} and 0 in self._dims_of(given):
            self._report_dim(node, "BadList", 0)
        elif name == "builtins.min" and any(isinstance(arg.value, cst.Integer) for arg in node.args):
            dims = [dim for arg in node.args if (dim := self._dim(arg.value)) is not None]
            self._report_dim(node, "BadMinimum", dims[0] if dims else None)
        elif name == "builtins.str":
            self._report_dim(node, "BadText", self._dim(given))

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        self._report_dim(node.expression, "BadText", self._dim(node.expression))

    def visit_Subscript(self, node: cst.Subscript) -> None:
        match node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=index))] if self.code.value(node.value).kind.name in {
                "CONTAINER",
                "MODULE",
            }:
                self._report_dim(node, "BadLookup", self._dim(index))

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if isinstance(node.operator, cst.Multiply):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, cst.List):
                    self._report_dim(node, "BadRepeatedList", self._dim(other))

    def visit_For(self, node: cst.For) -> None:
        self._loop(node.iter)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._loop(node.iter)

    def _loop(self, over: cst.BaseExpression) -> None:
        if isinstance(over, cst.Call) and over.args:
            name = self.code.name(over.func) or ""
            if name == "builtins.range":
                dims = [dim for arg in over.args if (dim := self._dim(arg.value)) is not None]
                self._report_dim(over, "BadRange", dims[0] if dims else None)
                return
            if name in _TO_ROWS:
                if any(0 in self._dims_of(arg.value) for arg in over.args):
                    self._report_dim(over, "BadIteration", 0)
                return
        if isinstance(over, cst.Call) and called(over) == "unbind":
            return  # which is as wrong elsewhere
        if 0 in self._dims_of(over):
            self._report_dim(over, "BadIteration", 0)

    def _unbound(self, node: cst.Call) -> None:
        """`x.unbind(1)`, in a loop or elsewhere: one tensor for each row."""
        if called(node) != "unbind" or not isinstance(node.func, cst.Attribute):
            return
        named = next((arg.value for arg in node.args if arg.keyword is None or arg.keyword.value == "dim"), None)
        dim = int(named.value) if isinstance(named, cst.Integer) else 0
        if (named is None or isinstance(named, cst.Integer)) and dim in self._dims_of(node.func.value):
            self._report_dim(node, "BadUnbind", dim)

    def visit_Raise(self, node: cst.Raise) -> bool:
        """The message of an error is no part of the program."""
        return False

    def visit_If(self, node: cst.If) -> None:
        self._test(node.test, "BadWhile" if _leaves_loop(node) else "BadBranch")

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._test(node.test, "BadBranch")

    def visit_While(self, node: cst.While) -> None:
        self._test(node.test, "BadWhile")

    def visit_Assert(self, node: cst.Assert) -> None:
        self._test(node.test, "BadAssert")

    def _test(self, test: cst.BaseExpression, case: str) -> None:
        match test:
            case cst.BooleanOperation(left=left, right=right):
                self._test(left, case)
                self._test(right, case)
            case cst.UnaryOperation(expression=inner):
                self._test(inner, case)
            case _ if case != "BadWhile" and self.code.value(test).truth is not None:
                return  # the same for every size that is declared
            case cst.BinaryOperation():
                self._report_dim(test, case, self._dim(test))
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
                self._comparison(test, left, operator, right, case)

    def _comparison(
        self,
        test: cst.BaseExpression,
        left: cst.BaseExpression,
        operator: cst.BaseCompOp,
        right: cst.BaseExpression,
        case: str,
    ) -> None:
        dim = self._dim(left) if self._dim(left) is not None else self._dim(right)
        if dim is None or isinstance(operator, cst.Is | cst.IsNot):
            return
        low, high = (
            _range(self.code.module.tree) if isinstance(left, cst.Subscript | cst.Call | cst.Name) else (None, None)
        )
        is_loop = case == "BadWhile"
        if (
            not is_loop
            and isinstance(right, cst.Integer)
            and low is not None
            and _decided(operator, int(right.value), low, high)
        ):
            return
        how = self._left_to_torch(left, right) if case == "BadBranch" else ""
        case = "BadAutoBranch" if how else case
        doubtful = not isinstance(right, cst.Integer | cst.Tuple | cst.List | cst.Set) and self._dim(right) is None
        self.report(test, case, at_most=Severity.WARNING if doubtful else Severity.ERROR, dim=str(dim), how=how)

    def _left_to_torch(self, *sides: cst.BaseExpression) -> str:
        """How the dims are declared, where it is no `Dim(…)`, of which every size has to work; else ""."""
        parts = [part for side in sides for part in _operands(side)]
        extents = [extent for part in parts if (extent := extent_of(self.code.value(part))) is not None]
        how = {dim.how for extent in extents for dim in extent.dims}
        return "" if Declaration.NAMED in how else " or ".join(sorted(one.value for one in how))


def _leaves_loop(node: cst.If) -> bool:
    """`if …: break`."""
    match node.body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Break()])]):
            return True
        case cst.SimpleStatementSuite(body=[cst.Break()]):
            return True
    return False


def _shape_owner(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x` for `x.shape` and `x.size()`."""
    match node:
        case cst.Attribute(value=owner, attr=cst.Name(value="shape")):
            return owner
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="size")), args=()):
            return owner
    return None


def _operands(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """`a`, `b` and `c` for `(a + b) / c`: of the size behind a float nothing is known but by its parts."""
    if isinstance(node, cst.BinaryOperation):
        return [node, *_operands(node.left), *_operands(node.right)]
    return [node]


def _is_quotient(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BinaryOperation)


def _declared(module: ModuleInfo) -> dict[str, set[int]]:
    """Argument -> dims that the file declares dynamic."""
    imported = any(origin.rpartition(".")[2] in {"Dim", "dims"} for origin in module.imports.values())
    if not imported and not module.matches(r"\.\s*(Dim|dims)\b"):
        return {}  # nothing in it names a Dim, which asks less of the file than to look at all of it
    named = module.matches("Dim") or (module.matches("dims") and module.matches(r"torch\.export"))
    return _specs(module.tree) if named else {}


@lru_cache(maxsize=64)
def _specs(tree: ast.Module) -> dict[str, set[int]]:
    """Argument -> dims declared dynamic, over all dictionaries of the file that look like `{"x": {0: dim}}`."""
    found: dict[str, set[int]] = {}
    if not any(_names_dim(node) for node in walked(tree)):
        return found
    for node in walked(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and (dims := set(_dims(value))):
                    found.setdefault(key.value, set()).update(dims)
    return found


def _names_dim(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.alias(name=name):
            return name in {"Dim", "dims"}
    return False


def _dims(spec: ast.expr) -> Iterator[int]:
    """The dims of `{0: batch, 1: Dim.AUTO}` or `(batch, None)`."""
    if isinstance(spec, ast.Dict):
        for key, value in zip(spec.keys, spec.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, int) and _is_dim(value):
                yield key.value
    elif isinstance(spec, ast.Tuple | ast.List):
        yield from (i for i, value in enumerate(spec.elts) if _is_dim(value) and not isinstance(value, ast.Name))


def _is_dim(node: ast.expr) -> bool:
    """A name, a call of Dim or Dim.AUTO; None, numbers and Dim.STATIC leave the dim static."""
    if isinstance(node, ast.Attribute):
        return node.attr in {"AUTO", "DYNAMIC"}
    return isinstance(node, ast.Name | ast.Call | ast.BinOp)


def _range(tree: ast.Module) -> tuple[int | None, float | None]:
    """The widest range that the file declares: 0 and 1 are special to torch, so AUTO and DYNAMIC start at 2."""
    lows, highs = [], []
    for node in walked(tree):
        if isinstance(node, ast.Call) and _DIM.search(ast.unparse(node.func)):
            words = {w.arg: w.value.value for w in node.keywords if isinstance(w.value, ast.Constant)}
            low, high = words.get("min"), words.get("max")
            lows.append(low if isinstance(low, int) else 0)
            highs.append(high if isinstance(high, int) else float("inf"))
        elif isinstance(node, ast.Attribute) and node.attr in {"AUTO", "DYNAMIC"}:
            lows.append(2)
            highs.append(float("inf"))
    return (min(lows), max(highs)) if lows else (None, None)


def _decided(operator: cst.BaseCompOp, bound: int, low: int, high: float | None) -> bool:
    """Is the comparison the same for every size in the range?"""
    top = high if high is not None else float("inf")
    match operator:
        case cst.Equal() | cst.NotEqual():
            return bound < low or bound > top
        case cst.GreaterThan() | cst.LessThanEqual():
            return bound < low or bound >= top
        case cst.GreaterThanEqual() | cst.LessThan():
            return bound <= low or bound > top
    return False

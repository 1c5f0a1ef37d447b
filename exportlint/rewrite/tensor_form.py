"""Expressions in tensors: what reads a number from a tensor, or asks one for its truth, as the tensor itself.

`x.max().item() > 3 and not done` reads two tensors; `(x.max() > 3) & ~done` reads none. The form of an expression is
the same node where nothing has to change, so what is kept is the author's text.

Where Python takes no tensor (sizes, bounds of slices, dims), the number is read as a symbol that export carries along:
`int(t)`, which asks for a value, becomes `t.item()`, which does not. A part of a tensor that data chooses (`x[mask]`,
`x[:n]`) and that is reduced right away is the whole tensor under a mask.
"""

from __future__ import annotations

import ast
import struct
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Array, Kind, Tensor
from exportlint.rewrite.choices import Choices
from exportlint.rewrite.draft import as_value, changed_copy, expression
from exportlint.rewrite.transformation import CannotError
from exportlint.rewrite.view import Nature, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Functions of a number in Python's `math`, with their names in torch. Documentation of both.
_MATH = {
    "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "fabs": "abs", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "hypot": "hypot", "pow": "pow", "erf": "erf", "erfc": "erfc", "lgamma": "lgamma",
    "fmod": "fmod", "copysign": "copysign", "radians": "deg2rad", "degrees": "rad2deg",
}  # fmt: skip
_SAME_IN_NUMPY = frozenset({
    "sqrt", "exp", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2",
    "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "abs", "isnan", "isinf", "isfinite", "sign", "square", "where",
    "maximum", "minimum", "stack", "mean", "sum", "prod", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "any",
    "all", "sort", "argsort", "round", "power", "median", "var", "outer", "dot", "matmul", "einsum", "tril", "triu",
    "diag", "flip", "roll", "zeros_like", "ones_like", "full_like", "diff", "trace", "kron", "logical_and",
    "logical_or", "logical_not", "nan_to_num", "hstack", "vstack", "amax", "amin", "tile", "greater", "less", "equal",
    "greater_equal", "less_equal", "not_equal", "subtract", "multiply", "divide", "negative", "remainder", "squeeze",
    "reshape", "std", "isclose", "linalg.norm", "linalg.inv", "linalg.solve", "linalg.det", "linalg.eigh", "exp2",
    "bincount", "searchsorted", "cross", "ravel",
})  # fmt: skip
_NUMPY = {
    **{name: name for name in _SAME_IN_NUMPY}, "concatenate": "cat", "clip": "clamp", "absolute": "abs", "fabs": "abs",
    "power": "pow", "transpose": "t", "expand_dims": "unsqueeze", "asarray": "", "array": "", "ascontiguousarray": "",
    "float32": "", "float64": "", "equal": "eq", "mod": "remainder", "swapaxes": "swapaxes", "moveaxis": "movedim",
    "repeat": "repeat_interleave", "copy": "clone", "add": "add",
}  # fmt: skip
_KEYWORDS_OF_NUMPY = {"ddof": "correction", "axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
# What torch calls a dtype that NumPy's `astype` takes.
_DTYPES = {
    "float": "float64", "int": "int64", "bool": "bool", "float32": "float32", "float64": "float64", "int64": "int64",
    "int32": "int32", "float16": "float16", "bool_": "bool", "uint8": "uint8", "int8": "int8", "int16": "int16",
}  # fmt: skip
# In NumPy these give the values alone, and their spread is that of the whole population.
_SPREAD = frozenset({"var", "std"})
_NUMBERS = frozenset({Kind.UNBACKED, Kind.SCALAR})
_TO_NUMPY = frozenset({"numpy", "cpu", "detach", "tolist"})
# Arguments of these are sizes, or numbers of things: torch takes symbols there, and no tensors.
_SIZED = frozenset({
    "zeros", "ones", "empty", "full", "rand", "randn", "arange", "linspace", "eye", "new_zeros", "new_ones", "new_full",
    "new_empty", "view", "reshape", "expand", "repeat", "unflatten", "narrow", "split", "chunk", "roll", "pad", "topk",
    "one_hot", "interpolate", "repeat_interleave", "unfold", "tile", "resize_", "randint", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "diagonal", "tril", "triu", "fold", "randperm",
})  # fmt: skip
_FILLED = {"full": (0,), "new_full": (0,), "arange": None}  # of these only some places are sizes
# What a reduction over a masked tensor takes from places that the mask leaves out.
_BISECTING = frozenset({"bisect.bisect", "bisect.bisect_left", "bisect.bisect_right"})
_NEUTRAL: dict[str, str | None] = {
    "sum": "0", "any": "False", "all": "True", "prod": "1", "max": "-float('inf')", "amax": "-float('inf')",
    "min": "float('inf')", "amin": "float('inf')", "mean": None, "logsumexp": "-float('inf')", "nansum": "0",
    "count_nonzero": "0",
}  # fmt: skip


# Methods that compute each element from that element alone.
_BY_ELEMENT = frozenset({
    "abs", "relu", "exp", "log", "sqrt", "tanh", "sigmoid", "neg", "sin", "cos", "square", "clone", "detach", "float",
})  # fmt: skip
# Functions and methods whose answer has a bool for each element.
_ASKS_BY_ELEMENT = _BY_ELEMENT | frozenset({
    "isnan", "isinf", "isfinite", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not",
    "logical_xor", "bool", "signbit", "isclose", "to",
})  # fmt: skip
# What these make of some rows depends on which other rows are there.
_OF_ALL_ROWS = frozenset({
    "cat", "stack", "sort", "argsort", "topk", "cumsum", "cumprod", "softmax", "log_softmax", "nonzero", "unique",
    "std", "var", "median", "norm", "numel", "size", "flip", "roll", "argmax", "argmin", "cdist", "matmul", "mm", "bmm",
    "t", "transpose", "view", "reshape", "permute", "unbind", "tolist", "item", "new_zeros", "new_ones", "split",
    "chunk",
    "zeros_like", "ones_like", "randperm", "bincount", "quantile", "kthvalue", "interpolate", "layer_norm", "scatter",
    "nms", "einsum", "tensor", "as_tensor", "dim", "expand", "repeat", "normalize", "batch_norm", "dropout",
})  # fmt: skip


_CHOSEN = ast.Constant(None)  # stands for what is called


class TensorForm:
    """Writes the expressions of a function in tensors; `view.data` names the places that hold them now.

    >>> from exportlint.rewrite.view import View
    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import math
    ... from torch import Tensor, nn
    ... class Net(nn.Module):
    ...     def forward(self, x: Tensor):
    ...         return x * math.sqrt(float(x.max())) if x.sum().item() > 3 and not x.isnan().any() else x
    ... ''', "forward")
    >>> form = TensorForm(View(code.module, code.function, code.belief))
    >>> print(ast.unparse(ast.fix_missing_locations(form.of(code.function.node.body[0].value))))
    torch.where((x.sum() > 3) & ~x.isnan().any(), x * torch.sqrt(x.max().detach()), x)
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._finished: dict[int, ast.AST] = {}  # what is in tensors already, by identity
        # Names of integers. Lengths and indices are integers wherever they come from.
        self.whole = {"lengths", "length", "lens", "num", "count", "counts", "idx", "index", "indices", "position"}
        # What is set to rows that data chooses -> the name of the mask that takes its place.
        self.masks: dict[str, str] = {}
        self.in_tests = 0  # around the expression, where no gradient passes
        self.choices = Choices(self)
        self.in_rounding = 0  # around it, where the last digit decides: Python computes numbers with double precision
        self.fits = True  # do both sides of every selection surely have the same shape?

    # -- Values ---------------------------------------------------------------------------------------------------

    def of(self, node: ast.expr) -> ast.expr:
        """The expression as a tensor, or as Python where it holds no data. Raises CannotError."""
        if id(node) in self._finished:
            return node
        match node:
            case ast.Lambda(body=ast.IfExp(test=test)) if self.is_data(test):
                return self.each(node)
            case ast.Constant() | ast.Lambda():
                return node
            case ast.Attribute() | ast.Subscript() | ast.Name() if (choice := self.choices.of(node)) is not None:
                return self.choices.read(choice, node)
            case ast.Name() if self.choices.order(node) is not None:
                raise CannotError("what data orders is handed on")
            case ast.Name() | ast.JoinedStr():
                return node
            case ast.Call():
                return self._call(node)
            case ast.BoolOp():
                return self._joined(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand) if self.is_data(operand):
                return self.negated(self.truth(operand))
            case ast.Compare():
                return self._compared(node)
            case ast.BinOp(op=op) if self.in_rounding or isinstance(op, ast.FloorDiv | ast.Mod):
                return self._rounded(node)
            case ast.IfExp(test=test, body=body, orelse=orelse) if self.is_data(test):
                return self.selected(self.truth(test), self.of(body), self.of(orelse))
            case ast.Subscript(ctx=ast.Load()):
                return self._subscript(node)
            case ast.NamedExpr(target=target, value=value):
                new = self.of(value)
                if new is value:
                    return node
                self.holds(target, new)
                return changed_copy(node, value=new)
        return self.each(node)

    def finish(self, nodes: Iterable[ast.AST]) -> None:
        """These are in tensors already, and stay as they are."""
        self._finished.update((id(one), one) for one in nodes)

    def each(self, node: ast.expr) -> ast.expr:
        """The node with its parts in tensors; itself where none changes."""
        changes: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                new: object = self.of(value)
                if new is not value:
                    changes[name] = new
            elif isinstance(value, list) and any(
                isinstance(one, ast.expr | ast.keyword | ast.comprehension) for one in value
            ):
                news = [self._part(one) for one in value]
                if any(new is not old for new, old in zip(news, value, strict=True)):
                    changes[name] = news
        return changed_copy(node, **changes) if changes else node

    def _part(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.keyword):
            new = self.of(node.value)
            return node if new is node.value else ast.keyword(node.arg, new)
        if isinstance(node, ast.comprehension):
            over = self.of(node.iter)
            return node if over is node.iter else changed_copy(node, iter=over)
        return self.of(node) if isinstance(node, ast.expr) else node

    def is_data(self, node: ast.expr) -> bool:
        return self.view.is_data(node)

    def holds(self, target: ast.expr, value: ast.expr) -> None:
        """The place is set to what is in tensors now."""
        if (path := path_of(target)) is not None:
            self.choices.forget(path)
            self.view.data.add(path)
            if self.view.is_boolean(value):
                self.view.booleans.add(path)
            if self.view.is_single(value):
                self.view.singles.add(path)
            if self._is_whole(value) or _is_long(value):
                self.whole.add(path)

    # -- Truth ----------------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> ast.expr:
        """What is asked for its truth as a tensor of dtype bool."""
        if id(node) in self.view.asked:
            return expression("torch.tensor(TEST)", TEST=self.symbolic(node))
        self.in_tests += 1
        new = self.of(node)
        self.in_tests -= 1
        if self._asks_sizes(new):
            test = new if isinstance(new, ast.Compare) else expression("(X) != 0", X=new)
            return expression("torch.tensor(TEST)", TEST=self.symbolic(test))
        if self.view.is_boolean(new) or self.view.is_boolean(node):
            return new
        match new:
            case ast.Call(func=ast.Attribute(attr="bool"), args=[]):
                return new
            case ast.Call(func=ast.Attribute(value=mask, attr="sum" | "count_nonzero"), args=[]) if (
                self.view.is_boolean(mask)
            ):
                return expression("MASK.any()", MASK=mask)
            case ast.Call() | ast.Name() | ast.Attribute() | ast.Subscript():
                return expression("X.bool()", X=new)
        return expression("(X) != 0", X=new)

    def _asks_sizes(self, node: ast.expr) -> bool:
        """Is it made of sizes of tensors and of constants, and of no tensor?"""
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            return any(map(self.is_size, sides)) and all(
                isinstance(one, ast.Constant) or self.is_size(one) for one in sides
            )
        return self.is_size(node)

    def is_size(self, node: ast.expr) -> bool:
        """Is it a size of a tensor, or computed from such and from constants?"""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[given]):
                return self.is_data(given)
            case ast.Call(func=ast.Attribute(value=owner, attr="numel" | "nelement" | "size")):
                return self.is_data(owner)
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant()):
                return self.is_data(owner)
            case ast.BinOp(left=left, right=right):
                sides = (left, right)
                return any(map(self.is_size, sides)) and all(
                    isinstance(one, ast.Constant) or self.is_size(one) for one in sides
                )
            case ast.Name(id=name) if name not in self.view.data:
                value = self.view.only_value(name)
                return value is not None and not isinstance(value, ast.Name) and self.is_size(value)
        return False

    def symbolic(self, node: ast.expr) -> ast.expr:
        """What is computed of sizes, as torch carries it along: `len(x)` as `x.shape[0]`, `int(n)` as `n`,
        `n in (3, 4)` as `(n == 3) | (n == 4)`."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[given]) if self.is_data(given):
                return expression("X.shape[0]", X=given)
            case ast.Call(func=ast.Name(id="int"), args=[given]) if not isinstance(given, ast.BinOp):
                return self.symbolic(given) if self.is_symbol(given) else node
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[owner]) if (
                isinstance(owner, ast.Tuple | ast.List | ast.Set) and owner.elts
            ):
                size, equal = self.symbolic(left), isinstance(op, ast.In)
                sign, join = (ast.Eq(), ast.BitOr()) if equal else (ast.NotEq(), ast.BitAnd())
                tests: list[ast.expr] = [ast.Compare(size, [sign], [one]) for one in owner.elts]
                whole = tests[0]
                for one in tests[1:]:
                    whole = ast.BinOp(whole, join, one)
                return whole
            case ast.Compare(left=left, comparators=others):
                news = [self.symbolic(one) for one in (left, *others)]
                same = all(a is b for a, b in zip(news, (left, *others), strict=True))
                return node if same else changed_copy(node, left=news[0], comparators=news[1:])
            case ast.BinOp(left=left, right=right):
                first, second = self.symbolic(left), self.symbolic(right)
                same = first is left and second is right
                return node if same else changed_copy(node, left=first, right=second)
        return node

    def is_symbol(self, node: ast.expr) -> bool:
        """Is it a size, or computed from one, that export carries along?"""
        return self.view.nature(node) is Nature.SIZE or self.is_size(node)

    def negated(self, node: ast.expr) -> ast.expr:
        """`~node`, without a second `~`; a comparison the other way round where nan makes no difference to it."""
        match node:
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                return inner
            case ast.Compare(ops=[ast.Eq()]):
                return changed_copy(node, ops=[ast.NotEq()])
            case ast.Compare(ops=[ast.NotEq()]):
                return changed_copy(node, ops=[ast.Eq()])
        return ast.UnaryOp(ast.Invert(), node)

    def _joined(self, node: ast.BoolOp) -> ast.expr:
        """`a and b` of tests on data as `a & b`. What Python knows joins in as a bool."""
        if not any(map(self.is_data, node.values)):
            return self.each(node)
        python = [one for one in node.values if not self.is_data(one)]
        if any(_guards(one) for one in python):
            raise CannotError("a test guards another one that data answers")
        if not all(map(self._is_test, node.values)) or (not self.in_tests and any(map(self._counts, node.values))):
            return self._chosen(node)
        parts = [self.truth(one) if self.is_data(one) else _as_bool(one) for one in node.values]
        data_first = sorted(parts, key=lambda one: any(one is p for p in python))
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        whole = data_first[0]
        for one in data_first[1:]:
            whole = ast.BinOp(whole, operator, one)
        return whole

    def _is_test(self, node: ast.expr) -> bool:
        return not self.is_data(node) or self.view.is_boolean(node) or self.view.is_single(node) or isinstance(
            node, ast.Call | ast.Compare | ast.BoolOp | ast.UnaryOp
        )  # fmt: skip

    def _counts(self, node: ast.expr) -> bool:
        """Is it a tensor whose value goes on, and not its truth alone?"""
        return self.view.value(node).is_tensor and not self.view.is_boolean(node)

    def _chosen(self, node: ast.BoolOp) -> ast.expr:
        """`a or b` where the value counts and not its truth alone."""
        *others, last = node.values
        whole = self.of(last)
        for one in reversed(others):
            sides = (self.of(one), whole) if isinstance(node.op, ast.Or) else (whole, self.of(one))
            whole = self.selected(self.truth(one), *sides)
        return whole

    def _compared(self, node: ast.Compare) -> ast.expr:
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return node
        sides = [node.left, *node.comparators]
        if not any(map(self.is_data, sides)) and not any(self.view.holds_data(one) for one in sides):
            return self.each(node)
        if isinstance(node.ops[0], ast.In | ast.NotIn) and len(node.ops) == 1:
            found = self._contained(node.left, node.comparators[0])
            return self.negated(found) if isinstance(node.ops[0], ast.NotIn) else found
        self.in_tests += 1
        if len(node.ops) == 1:
            whole = self.each(node)
            self.in_tests -= 1
            if isinstance(whole, ast.Compare) and any(map(_is_rounded_in_single, sides)):
                # `t.item() > 0.1` holds for torch.tensor(0.1), and `t > 0.1` does not.
                first, other = map(self._in_double, sides, (whole.left, *whole.comparators))
                return changed_copy(whole, left=first, comparators=[other])
            return whole
        news = [self.of(one) for one in sides]
        self.in_tests -= 1
        pairs = zip(news, node.ops, news[1:], strict=False)
        first, *rest = [ast.Compare(left, [op], [right]) for left, op, right in pairs]
        whole = first
        for one in rest:
            whole = ast.BinOp(whole, ast.BitAnd(), one)
        return whole

    def _contained(self, item: ast.expr, owner: ast.expr) -> ast.expr:
        """`value in x` of a tensor, of numbers that are listed, or of a list of tensors."""
        match owner:
            case ast.Call(func=ast.Attribute(value=listed, attr="tolist"), args=[]) if self.is_data(listed):
                owner = listed
        if self.is_data(owner):
            return expression("(OWNER == ITEM).any()", OWNER=self.of(owner), ITEM=self.of(item))
        match owner:
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements) if elements:
                whole: ast.expr = ast.Compare(self.of(item), [ast.Eq()], [self.of(elements[0])])
                for one in elements[1:]:
                    whole = ast.BinOp(whole, ast.BitOr(), ast.Compare(self.of(item), [ast.Eq()], [self.of(one)]))
                return whole
        listed = expression("torch.tensor(sorted(OWNER))", OWNER=owner)
        return expression("torch.isin(ITEM, LISTED)", ITEM=self.of(item), LISTED=listed)

    # -- Selections -----------------------------------------------------------------------------------------------

    def selected(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
        """`yes` where the test holds, else `no`: element by element of what is a tuple, list or dict on both sides."""
        if ast.dump(yes) == ast.dump(no):
            return yes
        match yes, no:
            case (ast.Constant(value=True), ast.Constant(value=False)):
                return test
            case (ast.Constant(value=False), ast.Constant(value=True)):
                return self.negated(test)
            case (ast.Constant(value=True), _) if self.view.is_boolean(no):
                return ast.BinOp(no, ast.BitOr(), test)
            case (ast.Constant(value=False), _) if self.view.is_boolean(no):
                return ast.BinOp(no, ast.BitAnd(), self.negated(test))
            case (_, ast.Constant(value=False)) if self.view.is_boolean(yes):
                return ast.BinOp(yes, ast.BitAnd(), test)
            case (ast.Tuple(elts=first), ast.Tuple(elts=second)) | (ast.List(elts=first), ast.List(elts=second)):
                if len(first) != len(second):
                    raise CannotError(f"one side gives {len(first)} values, and the other {len(second)}")
                parts = [self.selected(test, a, b) for a, b in zip(first, second, strict=True)]
                return ast.Tuple(parts, ast.Load()) if isinstance(yes, ast.Tuple) else ast.List(parts, ast.Load())
            case (ast.Dict(keys=first_keys), ast.Dict(keys=second_keys)):
                if [ast.dump(key) for key in first_keys if key] != [ast.dump(key) for key in second_keys if key]:
                    raise CannotError("the sides give other keys")
                values = [self.selected(test, a, b) for a, b in zip(yes.values, no.values, strict=True)]
                return ast.Dict(first_keys, values)
            case (ast.Call(func=one), ast.Call(func=other)) if ast.dump(one) == ast.dump(other) and self._is_record(
                one
            ):
                return self._record(test, yes, no)
        if (record := self._fields(yes) or self._fields(no)) is not None:
            name, fields = record
            words = [
                ast.keyword(one, self.selected(test, _part_of(yes, one), _part_of(no, one))) for one in fields
            ]  # fmt: skip
            return ast.Call(ast.Name(name, ast.Load()), [], words)
        if any(isinstance(side, ast.Constant) and not _is_number(side) for side in (yes, no)):
            raise CannotError("one side is no tensor and no number")
        self.fits = self.fits and self._same_shape(yes, no)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Invert):
            return expression("torch.where(TEST, YES, NO)", TEST=test.operand, YES=no, NO=yes)
        return expression("torch.where(TEST, YES, NO)", TEST=test, YES=yes, NO=no)

    def _same_shape(self, one: ast.expr, other: ast.expr) -> bool:
        """Can the code tell that both have the shape of one tensor, of which numbers are made element by element?"""
        bases = [self._base(side) for side in (one, other)]
        return bases[0] is not None and bases[0] == bases[1]

    def _base(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name() | ast.Attribute():
                return path_of(node)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow(), right=right):
                if isinstance(right, ast.Constant):
                    return self._base(left)
                return self._base(right) if isinstance(left, ast.Constant) else None
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._base(operand)
            case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[]) if method in _BY_ELEMENT:
                return self._base(owner)
        return None

    def _fields(self, node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
        """The class of the project whose object it is, and what that is made of."""
        cls = self.view.value(node).cls
        if cls is None or not cls.is_record or not cls.record_fields or self.view.module.origin(cls.name) is None:
            return None
        return cls.name, cls.record_fields

    def _is_record(self, function: ast.expr) -> bool:
        """Is it a class whose objects hold what they are given?"""
        name = self.view.origin(function)
        return name is not None and not name.startswith(("torch.", "builtins.", "math.", "numpy.")) and (
            name.rpartition(".")[2][:1].isupper() and not name.rpartition(".")[2].isupper()
        )  # fmt: skip

    def _record(self, test: ast.expr, yes: ast.Call, no: ast.Call) -> ast.expr:
        if len(yes.args) != len(no.args) or [one.arg for one in yes.keywords] != [one.arg for one in no.keywords]:
            raise CannotError("the sides make objects of other parts")
        args = [self.selected(test, a, b) for a, b in zip(yes.args, no.args, strict=True)]
        pairs = zip(yes.keywords, no.keywords, strict=True)
        return ast.Call(yes.func, args, [ast.keyword(a.arg, self.selected(test, a.value, b.value)) for a, b in pairs])

    # -- Calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> ast.expr:
        if (choice := self.choices.of(node.func)) is not None:
            return self.choices.called(choice, cast("ast.Call", self.each(ast.Call(_CHOSEN, node.args, node.keywords))))
        name = self.view.origin(node.func) or ""
        if name.startswith("builtins."):
            return self._builtin(node, name.removeprefix("builtins."))
        if name == "math.log" and len(node.args) == 2 and self.is_data(node.args[0]):  # noqa: PLR2004 - with a base
            logs = [changed_copy(node, args=[one]) for one in node.args]
            return ast.BinOp(self._call(logs[0]), ast.Div(), self._call(logs[1]))
        if name.startswith("math.") and any(map(self.is_data, node.args)):
            known = _MATH.get(name.removeprefix("math."))
            if known is None:
                raise CannotError(f"torch has no `{name}`")
            return self._of_torch(known, node.args)
        if name in _BISECTING and len(node.args) == 2 and self.is_data(node.args[1]):  # noqa: PLR2004 - and no bounds
            edges, value = node.args
            side = ast.Constant(not name.endswith("_left"))
            return expression(
                "torch.bucketize(VALUE, torch.tensor(EDGES), right=SIDE)", VALUE=self.of(value), EDGES=edges, SIDE=side
            )
        if name.startswith("numpy.") and any(map(self.view.holds_data, node.args)):
            return self._of_numpy(node, name.removeprefix("numpy."))
        match node.func:
            case ast.Attribute(value=owner, attr="item") if not node.args and self.is_data(owner):
                return self._cut(self._read(self.of(owner), owner), owner)
            case ast.Attribute(value=owner, attr="tolist") if not node.args and self.is_data(owner):
                return self.of(owner)
            case ast.Attribute(value=owner, attr="numpy") if not node.args and self.is_data(owner):
                return self.of(_before_numpy(owner))
            case ast.Attribute(value=owner, attr="std" | "var" as name) if self.view.value(owner).kind is Kind.ARRAY:
                words = [ast.keyword({"axis": "dim", "ddof": "correction"}.get(one.arg or "", one.arg), one.value)
                         for one in node.keywords]  # fmt: skip
                if not any(one.arg == "correction" for one in words):
                    words.append(ast.keyword("correction", ast.Constant(0)))
                return ast.Call(ast.Attribute(self.of(owner), name, ast.Load()), list(map(self.of, node.args)), words)
            case ast.Attribute(value=owner, attr="astype") if len(node.args) == 1 and self.is_data(owner):
                return self._as_dtype(owner, node.args[0])
            case ast.Attribute(value=owner, attr="copy") if not node.args and path_of(owner) in self.view.data:
                return expression("X.clone()", X=self.of(owner))
            case ast.Attribute(value=owner, attr="numel" | "nelement") if (counted := self._counted(owner)) is not None:
                return counted
            case ast.Attribute(value=owner, attr="size") if (
                len(node.args) == 1 and (counted := self._counted(owner)) is not None
            ):
                return counted
            case ast.Attribute(value=owner, attr="equal" | "allclose" as asked) if self.is_data(owner):
                return self._asked(asked, node)
            case ast.Attribute(value=owner, attr=method) if method in _NEUTRAL and (
                masked := self._masked(owner, method, node)
            ):
                return masked
        if name.startswith("torch.") and self._last(node) in _NEUTRAL and node.args:
            as_method = changed_copy(
                node, func=ast.Attribute(node.args[0], self._last(node), ast.Load()), args=node.args[1:]
            )
            if (masked := self._masked(node.args[0], self._last(node), as_method)) is not None:
                return masked
        if name in {"torch.equal", "torch.allclose", "torch.is_nonzero"} and node.args:
            return self._asked(name.removeprefix("torch."), node)
        if name == "torch.from_numpy" or (name in {"torch.tensor", "torch.as_tensor"} and self._is_tensor(node.args)):
            return self._retyped(self.of(node.args[0]), node)
        if name in {"torch.tensor", "torch.as_tensor", "torch.FloatTensor"} and self._is_list(node.args):
            return self._stacked(node)
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in {"equal", "allclose"}
            and self.is_data(node.func.value)
        ):
            return self._asked(node.func.attr, node)
        return self._sized(node, name) if self._last(node) in _SIZED else self.each(node)

    @staticmethod
    def _last(node: ast.Call) -> str:
        match node.func:
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name
        return ""

    def _read(self, tensor: ast.expr, old: ast.expr) -> ast.expr:
        """The one element of a tensor, without dims."""
        if self.view.is_single(old) or self.view.is_single(tensor) or not _may_have_dims(tensor):
            return tensor
        return expression("X.reshape(())", X=tensor)

    def _cut(self, tensor: ast.expr, old: ast.expr) -> ast.expr:
        """A number of Python has no gradient, so the tensor in its place gets none. `old`: what was read."""
        if self.in_tests or self.view.has_no_gradient or self._is_whole(old) or self.view.is_boolean(old):
            return tensor
        parts = (one for whole in (old, tensor) for one in walked(whole))
        if any(isinstance(one, ast.Attribute) and one.attr in {"detach", "data"} for one in parts):
            return tensor
        return expression("X.detach()", X=tensor)

    def _of_torch(self, name: str, args: Sequence[ast.expr]) -> ast.expr:
        called = expression(f"torch.{name}")
        self.in_rounding += name in {"floor", "ceil", "trunc"}
        given = [self._cut(self.of(one), one) if self.view.value(one).is_tensor else self.of(one) for one in args]
        self.in_rounding -= name in {"floor", "ceil", "trunc"}
        # torch takes a tensor first
        given = [one if self.is_data(old) or place else expression("torch.tensor(X)", X=one)
                 for place, (one, old) in enumerate(zip(given, args, strict=True))]  # fmt: skip
        return ast.Call(called, given, [])

    def _builtin(self, node: ast.Call, name: str) -> ast.expr:
        args = node.args
        if id(node) in self.view.asked:
            return args[0]
        data = [self.is_data(one) for one in args]
        if name in {"int", "float", "bool", "round"} and args and data[0]:
            return self._converted(node, name)
        listed = (
            len(args) == 1 and args and self.view.nature(args[0]) is not Nature.PYTHON and self.view.holds_data(args[0])
        )
        if name in {"min", "max"} and (any(data) or listed) and not node.keywords:
            return self._extreme(args, name)
        if name in {"min", "max"} and len(args) == 1 and [one.arg for one in node.keywords] == ["key"]:
            return self._best(node, name)
        if name in {"any", "all"} and len(args) == 1 and self.view.holds_data(args[0]):
            if data[0]:
                return expression(f"X.{name}()", X=self.of(args[0]))
            tests = self._listed(args[0], truth=True)
            return expression(f"torch.stack(TESTS).{name}()", TESTS=tests)
        if name == "isinstance" and data[0] and self.view.origin(args[1]) == "numpy.ndarray":
            return changed_copy(node, args=[args[0], expression("torch.Tensor")])
        if name == "sum" and len(args) == 1 and data[0]:
            return expression("X.sum(0)", X=self.of(args[0]))
        if name == "len" and len(args) == 1 and (counted := self._counted(args[0])) is not None:
            return counted
        if name == "sorted" and len(args) == 1 and not node.keywords and self.view.holds_data(args[0]):
            whole = self.of(args[0]) if data[0] else expression("torch.stack(X)", X=self._listed(args[0]))
            return expression("torch.sort(X).values", X=whole)
        if name == "pow" and any(data) and len(args) == 2:  # noqa: PLR2004 - a base and an exponent
            return ast.BinOp(self.of(args[0]), ast.Pow(), self.of(args[1]))
        if name == "list" and len(args) == 1 and data[0]:
            return self.of(args[0])
        if name == "range" and any(data):
            return changed_copy(node, args=[self.number(one) for one in args])
        return self.each(node)

    def _converted(self, node: ast.Call, name: str) -> ast.expr:
        """`int(t)`, `float(t)` and so on: the tensor, as such a number."""
        given = node.args[0]
        self.in_rounding += name in {"int", "round"}
        inner = self.of(given)
        self.in_rounding -= name in {"int", "round"}
        if name != "round":
            inner = self._read(inner, given)
        match name:
            case "int":
                return inner if self._is_whole(given) else expression("X.long()", X=inner)
            case "float":
                return expression("X.float()", X=inner) if self.view.is_boolean(inner) else self._cut(inner, given)
            case "bool":
                return inner if self.view.is_boolean(inner) else expression("(X) != 0", X=inner)
            case "round" if len(node.args) > 1:
                return expression("torch.round(X, decimals=N)", X=inner, N=node.args[1])
            case "round":
                return expression("torch.round(X)", X=inner)
        raise AssertionError(name)

    def _rounded(self, node: ast.BinOp) -> ast.expr:
        """A computation that is rounded behind it, `int(x.max().item() * 10)`: with double precision, as Python's."""
        self.in_rounding += 1
        left, right = (self._in_double(one, self.of(one)) for one in (node.left, node.right))
        self.in_rounding -= 1
        same = left is node.left and right is node.right
        return node if same else changed_copy(node, left=left, right=right)

    def _in_double(self, old: ast.expr, new: ast.expr) -> ast.expr:
        """A number that Python read of a tensor, with the precision that it has there."""
        of_number = self.is_data(old) and self.view.value(old).kind in _NUMBERS
        if of_number and not isinstance(old, ast.BinOp) and not self._is_whole(_unread(old)):
            return expression("X.double()", X=new)
        return new

    def _is_whole(self, node: ast.expr) -> bool:
        """Can the code tell that its elements are integers?"""
        match node:
            case ast.Call(func=ast.Attribute(attr="argmax" | "argmin" | "long" | "int" | "count_nonzero" | "bincount")):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr="sum" | "item" | "max" | "min" | "reshape" | "numel")):
                return self.view.is_boolean(owner) or self._is_whole(owner)
            case ast.Call(func=ast.Name(id="int" | "len")):
                return True
            case ast.Subscript(value=owner):
                return self._is_whole(owner)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right):
                return self._is_whole(left) and self._is_whole(right)
            case ast.Constant(value=int()):
                return True
            case ast.Name(id=name) if name in self.whole:
                return True
            case ast.Name() | ast.Attribute():
                return path_of(node) in self.view.whole
        return False

    def _extreme(self, args: Sequence[ast.expr], name: str) -> ast.expr:
        if len(args) == 1:
            if self.is_data(args[0]) and not isinstance(args[0], ast.GeneratorExp | ast.ListComp):
                return expression(f"X.{name}()", X=self.of(args[0]))
            return expression(f"torch.stack(X).{name}()", X=self._listed(args[0]))
        whole, is_data = self.of(args[0]), self.is_data(args[0])
        for one in args[1:]:
            new, new_is_data = self.of(one), self.is_data(one)
            if is_data and new_is_data:
                whole = expression(f"torch.{name}imum(A, B)", A=whole, B=new)
            else:
                tensor, number = (whole, new) if is_data else (new, whole)
                word = "max" if name == "min" else "min"
                whole = ast.Call(expression("torch.clamp"), [tensor], [ast.keyword(word, number)])
                is_data = True
        return whole

    def _best(self, node: ast.Call, name: str) -> ast.expr:
        """`min(tensors, key=...)`: all of them, and the one whose key is the least."""
        (listed,), key = node.args, node.keywords[0].value
        if self.choices.lists_things(listed):
            raise CannotError("what data chooses is no tensor")
        counts = isinstance(listed, ast.Call) and self._last(listed) == "range" and len(listed.args) == 1
        if counts and isinstance(key, ast.Lambda) and not self.view.data & {one.arg for one in key.args.args}:
            self.view.python |= {one.arg for one in key.args.args}
        match key:
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=each)]), body=body) if self.view.holds_data(body):
                made: ast.expr = self.of(body)
            case ast.Name() | ast.Attribute() if self.view.holds_data(listed) and path_of(key) is not None:
                each, made = "each", ast.Call(key, [ast.Name("each", ast.Load())], [])
            case _:
                return self.each(node)
        keys = expression("torch.stack([MADE for EACH in LISTED])", MADE=made, EACH=each, LISTED=listed)
        if counts:
            return expression(f"KEYS.arg{name}()", KEYS=keys)
        whole = self.of(listed) if self.is_data(listed) else expression("torch.stack(X)", X=self._listed(listed))
        return expression(
            f"X[KEYS.arg{name}().reshape(1)].squeeze(0)", X=whole, KEYS=keys
        )  # fmt: skip

    def _listed(self, node: ast.expr, *, truth: bool = False) -> ast.expr:
        """A list of tensors, of what makes one."""
        form = self.truth if truth else self.of
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                news = [form(one) if self.is_data(one) else expression("torch.tensor(X)", X=one) for one in elements]
                return ast.List(news, ast.Load())
            case (
                ast.GeneratorExp(elt=element, generators=generators) | ast.ListComp(elt=element, generators=generators)
            ):
                if any(one.ifs for one in generators):
                    raise CannotError("data says which entries are taken")
                if self.is_size(element):
                    raise CannotError("sizes that data says are symbols, and no tensors")
                return ast.ListComp(form(element), generators)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if _is_display(node):
                return ast.BinOp(self._listed(left, truth=truth), ast.Add(), self._listed(right, truth=truth))
        return expression("list(X)", X=self.of(node))

    def _asked(self, name: str, node: ast.Call) -> ast.expr:
        """`torch.equal` and its kin, which give a Python bool."""
        given = [*([node.func.value] if isinstance(node.func, ast.Attribute) and self.is_data(node.func.value) else ()),
                 *node.args]  # fmt: skip
        parts = [self.of(one) for one in given]
        if name == "is_nonzero":
            return expression("(X) != 0", X=self._read(parts[0], given[0]))
        if name == "equal":
            return expression("(A == B).all()", A=parts[0], B=parts[1])
        close = ast.Call(expression("torch.isclose"), parts, node.keywords)
        return expression("X.all()", X=close)

    def _is_tensor(self, args: Sequence[ast.expr]) -> bool:
        return bool(args) and self.is_data(args[0])

    def _is_list(self, args: Sequence[ast.expr]) -> bool:
        return bool(args) and _is_display(args[0]) and self.view.holds_data(args[0])

    def _stacked(self, node: ast.Call) -> ast.expr:
        match node.args[0]:
            case ast.List(elts=rows) if rows and all(isinstance(row, ast.List) for row in rows):
                inner = [expression("torch.stack(X)", X=self._listed(row)) for row in rows]
                return self._retyped(expression("torch.stack(X)", X=ast.List(inner, ast.Load())), node)
        return self._retyped(expression("torch.stack(X)", X=self._listed(node.args[0])), node)

    def _retyped(self, tensor: ast.expr, node: ast.Call) -> ast.expr:
        """`dtype=` and `device=` of the call that made a tensor of it."""
        words = [one for one in node.keywords if one.arg in {"dtype", "device"}]
        if not words:
            return tensor
        if len(words) == 1:
            return expression("X.to(T)", X=tensor, T=words[0].value)
        return ast.Call(ast.Attribute(tensor, "to", ast.Load()), [], words)

    def _of_numpy(self, node: ast.Call, name: str) -> ast.expr:
        known = _NUMPY.get(name)
        if known is None:
            raise CannotError(f"torch has no `numpy.{name}` that is known to be alike")
        if known == "":
            return self.of(node.args[0]) if self.is_data(node.args[0]) else expression(
                "torch.stack(X)", X=self._listed(node.args[0]))  # fmt: skip
        words = [ast.keyword(_KEYWORDS_OF_NUMPY.get(w.arg or "", w.arg), self.of(w.value)) for w in node.keywords]
        args = [self.of(one) for one in node.args]
        if name in {"max", "min"} and (len(args) > 1 or words):
            known = f"a{name}"
        if name == "median":
            known, args = "quantile", [*args[:1], ast.Constant(0.5), *args[1:]]
        if name in _SPREAD and not any(one.arg == "correction" for one in words):
            words = [*words, ast.keyword("correction", ast.Constant(0))]
        made = ast.Call(expression(f"torch.{known}"), args, words)
        return ast.Attribute(made, "values", ast.Load()) if name == "sort" else made

    def _as_dtype(self, owner: ast.expr, dtype: ast.expr) -> ast.expr:
        """`x.astype(np.float32)` of what is a tensor now."""
        match dtype:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)) if name in _DTYPES:
                return expression(f"X.to(torch.{_DTYPES[name]})", X=self.of(owner))
        raise CannotError("a dtype that is not known")

    # -- Numbers where Python takes no tensors --------------------------------------------------------------------

    def number(self, node: ast.expr) -> ast.expr:
        """An integer that export carries along as a symbol, where no tensor may stand. What NumPy computed before the
        call is an integer of Python."""
        kept = node.args[0] if isinstance(node, ast.Call) and self._last(node) == "int" and node.args else node
        lead = self.view.value(kept).lead
        if isinstance(lead, Array) and lead.on_self:
            return expression("int(X)", X=node) if kept is node else node
        match node:
            case ast.Call(func=ast.Name(id="int"), args=[given]) if self.is_data(given):
                inner = self._read(self.of(_unread(given)), _unread(given))
                inner = inner if self._is_whole(_unread(given)) else expression("X.long()", X=inner)
                return expression("X.item()", X=inner)
            case ast.Name(id=name) if name in self.view.data:
                return expression("X.item()", X=node)
            case ast.Call(func=ast.Attribute(attr="item")):
                return node
        if not self.is_data(node):
            return self.of(node)
        if isinstance(node, ast.BinOp):
            left, right = self.number(node.left), self.number(node.right)
            same = left is node.left and right is node.right
            return node if same else changed_copy(node, left=left, right=right)
        if self.view.value(node).is_unbacked:
            return node  # it is a symbol as it stands
        return expression("X.item()", X=self.of(node))

    def _sized(self, node: ast.Call, name: str) -> ast.expr:
        """A call whose arguments are sizes; those that are tensors by nature stay."""
        last = self._last(node)
        places = _FILLED.get(last, ())
        of_torch = name.startswith("torch.")
        args = [
            self._size(one) if places is None or not places or place in places else self.of(one)
            for place, one in enumerate(node.args)
        ]
        if of_torch and node.args and self.view.value(node.args[0]).is_tensor:
            args[0] = self.of(node.args[0])
        function = self.each(node.func) if isinstance(node.func, ast.Attribute) else node.func
        words = [self._part(one) if one.arg not in {"size", "num_classes", "output_size"} else
                 ast.keyword(one.arg, self._size(one.value)) for one in node.keywords]  # fmt: skip
        same = function is node.func and all(
            a is b for a, b in zip((*args, *words), (*node.args, *node.keywords), strict=True)
        )
        return node if same else changed_copy(node, func=function, args=args, keywords=words)

    def _size(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                news = [self._size(one) for one in elements]
                same = all(a is b for a, b in zip(news, elements, strict=True))
                return node if same else changed_copy(node, elts=news)
            case ast.Starred():
                return node
        return self.number(node) if self._was_number(node) else self.of(node)

    def _was_number(self, node: ast.expr) -> bool:
        """Was it a number when the author wrote it, and not a tensor?"""
        if not self.is_data(node) or id(node) in self._finished:
            return False
        if (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and self.is_data(node.value)
        ):  # as much a tensor as what it is of
            return self._was_number(node.value)
        return not self.view.value(node).is_tensor

    # -- Parts of tensors and lists ---------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        if (counted := self._shape_of_selection(node)) is not None:
            return counted
        if (first := self._first_of_chosen(node)) is not None:
            return first
        owner, index = node.value, node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        chosen = [one for one in parts if not isinstance(one, ast.Slice) and self._is_place(one)]
        if not chosen and (window := self._window(owner, parts)) is not None:
            return window
        if not chosen:
            new_owner, new_index = self.of(owner), self._sliced(index)
            same = new_owner is owner and new_index is index
            return node if same else changed_copy(node, value=new_owner, slice=new_index)
        if len(chosen) > 1:
            raise CannotError("several places are chosen by data at once")
        if not self.is_data(owner) and (self.view.nature(owner) is Nature.LISTED or self._was_number(chosen[0])):
            return self._entry(owner, chosen[0])
        place = next(i for i, one in enumerate(parts) if one is chosen[0])
        base, dim = self._whole_along(owner, parts, place)
        return self._place_along(base, dim, self.index(chosen[0]))

    def _whole_along(self, owner: ast.expr, parts: Sequence[ast.expr], place: int) -> tuple[ast.expr, int]:
        """What the other parts of an index choose, whole along the dim of the part at the place; and that dim."""
        dim = sum(1 for one in parts[:place] if isinstance(one, ast.Slice) or _is_none(one))
        if any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in parts[:place]):
            dim = place - len(parts)
        rest: list[ast.expr] = [ast.Slice() if number == place else one for number, one in enumerate(parts)]
        while rest and ast.dump(rest[-1]) == ast.dump(ast.Slice()):
            rest.pop()
        base = self.of(owner)
        if rest:
            base = ast.Subscript(base, rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load()), ast.Load())
        return base, dim

    def _window(self, owner: ast.expr, parts: Sequence[ast.expr]) -> ast.expr | None:
        """`x[:, n : n + 4]`, of which Python knows how long it is, and data where it begins: chosen place by place, so
        that no size is left to data. None for anything else."""
        found = [(place, steps) for place, one in enumerate(parts) if (steps := self._steps_of(one)) is not None]
        if (
            len(found) != 1
            or not self.is_data(owner)
            or any(map(self.view.holds_data, _apart_from(parts, found[0][0])))
        ):
            return None
        ((place, steps),) = found
        base, dim = self._whole_along(owner, parts, place)
        begin = cast("ast.expr", cast("ast.Slice", parts[place]).lower)
        text = "X.index_select(DIM, BEGIN + torch.arange(N, device=OWNER.device))"
        given = {"DIM": ast.Constant(dim), "BEGIN": self.index(begin), "N": steps, "OWNER": self.of(owner)}
        return expression(text, X=base, **given)

    def _steps_of(self, bounds: ast.expr) -> ast.expr | None:
        """The `4` of `n : n + 4`, where data says `n` alone; the end may have a name."""
        match bounds:
            case ast.Slice(lower=ast.expr() as begin, upper=ast.expr() as end, step=None) if self.is_data(begin):
                if isinstance(end, ast.Name):
                    end = (self.view.only_value(end.id) or end) if self._is_set_once(begin) else end
            case _:
                return None
        match end:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pairs = ((left, right), (right, left))
                steps = next((other for one, other in pairs if ast.dump(one) == ast.dump(begin)), None)
                return steps if steps is not None and not self.view.holds_data(steps) else None
        return None

    def _is_set_once(self, node: ast.expr) -> bool:
        """Is it a name that holds the same wherever it is read in one step: set by one statement, or by callers?"""
        if not isinstance(node, ast.Name) or self.view.only_value(node.id) is not None:
            return isinstance(node, ast.Name)
        stored = (one.id for one in walked(self.view.node)
                  if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))  # fmt: skip
        return node.id in self.view.flow.parameters and node.id not in stored

    def _place_along(self, tensor: ast.expr, dim: int, index: ast.expr) -> ast.expr:
        """`tensor[:, index]` for dim 1, and so on, without the number that Python would read. Negative places count
        from the end as they did, which they do not in `index_select`."""
        place = expression("I.reshape(1)", I=index)
        before: list[ast.expr] = [ast.Slice() for _ in range(dim)] if dim >= 0 else [ast.Constant(...)]
        after: list[ast.expr] = [ast.Slice() for _ in range(-dim - 1)]
        parts = [*before, place, *after]
        chosen = ast.Subscript(tensor, parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()), ast.Load())
        self.finish([chosen])
        return expression("CHOSEN.squeeze(DIM)", CHOSEN=chosen, DIM=ast.Constant(dim))

    def _is_place(self, node: ast.expr) -> bool:
        """Is it one place that data says? A tensor of one bool is a mask; what has dims on one path has them on all."""
        if any(isinstance(option, Tensor) and option.dims for option in self.view.value(node).options):
            return False
        return self._was_number(node) or (
            self.is_data(node) and self.view.is_single(node) and not self.view.is_boolean(node)
        )

    def written_place(self, node: ast.Subscript, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """`x[i] = value` with places that data says, as a write at tensors of one place: the target and the value."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        chosen = [one for one in parts if not isinstance(one, ast.Slice) and self._is_place(one)]
        if not chosen and self.view.may_be_entry(parts[0]) and self.is_data(node.value):
            # However many dims it has, the write is the same with one more before them.
            places = [expression("I[None]", I=parts[0]), *map(self._sliced, parts[1:])]
            index = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
            return ast.Subscript(node.value, index, ast.Store()), value
        if not chosen:
            index = self._sliced(node.slice)
            return (node if index is node.slice else ast.Subscript(node.value, index, ast.Store())), value
        if self.view.nature(node.value) is not Nature.DATA:
            raise CannotError("data says which entry of a list is set")
        news = [expression("I.reshape(1)", I=self.index(one)) if one in chosen else self._sliced(one) for one in parts]
        index = news[0] if len(news) == 1 else ast.Tuple(news, ast.Load())
        before = parts.index(chosen[0])
        if before and len(chosen) == 1 and not isinstance(value, ast.Constant):
            value = expression("X.unsqueeze(DIM)", X=value, DIM=ast.Constant(before))
        return ast.Subscript(node.value, index, ast.Store()), value

    def index(self, node: ast.expr) -> ast.expr:
        """A place that data says, as a tensor of integers."""
        self.in_tests += 1  # no gradient passes an index
        new = self.of(node)
        self.in_tests -= 1
        match new:
            case ast.Call(func=ast.Attribute(value=inner, attr="reshape"), args=[ast.Tuple(elts=[])]):
                new = inner  # it gets one dim in any case
            case ast.Name(id=name) if name in self.view.begun_as_numbers:
                return expression("torch.as_tensor(X)", X=new)
        return new if self._is_whole(node) or _is_long(new) else expression("X.long()", X=new)

    def _entry(self, owner: ast.expr, index: ast.expr) -> ast.expr:
        """An entry of a list that data chooses."""
        if self.view.value(owner).container == "dict" or isinstance(self.view.literal(owner), ast.Dict):
            return self._of_key(owner, index)
        listed = self.view.value(owner)
        element = listed.element or (listed.items[0] if listed.items else None)
        made = "torch.stack(list(OWNER))" if element is not None and element.is_tensor else "torch.tensor(OWNER)"
        return expression(
            f"{made}[I.reshape(1)].squeeze(0)", OWNER=owner, I=self.index(index)
        )  # fmt: skip

    def _of_key(self, owner: ast.expr, key: ast.expr) -> ast.expr:
        """An entry of a dict of numbers, or of tuples of as many numbers each: a key that it lacks is an error as
        before."""
        match self.view.literal(owner):
            case ast.Dict(keys=keys, values=values) if (sizes := {*map(_count_of_numbers, values)}) and (
                len(sizes) == 1 and None not in sizes and all(isinstance(one, ast.Constant) for one in keys)
            ):
                listed = expression("torch.tensor(list(OWNER.values()))", OWNER=owner)
                if [getattr(one, "value", None) for one in keys] == [*range(len(keys))]:
                    text = "X.index_select(0, I.reshape(1)).squeeze(0)"
                    return expression(text, X=listed, I=self.index(key))
                hits = self.choices.hits(owner, key)
                return expression("X[HITS.nonzero()[0]].squeeze(0)", X=listed, HITS=hits)
        raise CannotError("data chooses a key")

    def _sliced(self, index: ast.expr) -> ast.expr:
        match index:
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = [self.number(one) if one is not None else None for one in (lower, upper, step)]
                if all(a is b for a, b in zip(parts, (lower, upper, step), strict=True)):
                    return index
                return ast.Slice(*parts)
            case ast.Tuple(elts=elements):
                news = [self._sliced(one) for one in elements]
                same = all(a is b for a, b in zip(news, elements, strict=True))
                return index if same else changed_copy(index, elts=news)
        return self.of(index)

    # -- Selections of rows: masks instead ----------------------------------------------------------------------------

    def selection(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """The whole tensor and the mask of rows that data chose: of `x[mask]`, of `x[:n]`, of a name that is set to one
        of these alone, and of what is computed of the chosen rows one by one, as a layer or `* 2` does."""
        if id(node) in self._finished:
            return None
        match node:
            case ast.Name(id=name):
                value = self.view.only_value(name)
                found = self.selection(value) if value is not None and not isinstance(value, ast.Name) else None
                if found is None:
                    return None
                if isinstance(found[1], ast.Name):
                    return found
                mask = self.masks.setdefault(name, f"is_in_{name}")
                return found[0], ast.Name(mask, ast.Load())
            case ast.Subscript(value=owner, slice=ast.Tuple(elts=[ast.Slice(lower=None, upper=None), *rest])) if (
                found := self.selection(owner)
            ):
                return ast.Subscript(found[0], ast.Tuple([ast.Slice(), *rest], ast.Load()), ast.Load()), found[1]
            case ast.Subscript():
                return self._rows_chosen(node)
            case ast.BinOp(left=left, op=operator, right=right):
                first, second = self.selection(left), self.selection(right)
                if first and second and ast.dump(first[1]) != ast.dump(second[1]):
                    return None
                chosen = first or second
                parts = (first[0] if first else self.of(left), second[0] if second else self.of(right))
                return (ast.BinOp(parts[0], operator, parts[1]), chosen[1]) if chosen else None
            case ast.Call(func=function, args=args):
                return self._computed_by_row(node, function, args)
        return None

    def _computed_by_row(
        self, node: ast.Call, function: ast.expr, args: list[ast.expr]
    ) -> tuple[ast.expr, ast.expr] | None:
        if self._last(node) in {"softmax", "log_softmax"}:
            return self._shares(node, function, args)
        if self._last(node) in _OF_ALL_ROWS or (self._last(node) in _NEUTRAL and not self._reduces_rows(node)):
            return None
        if isinstance(function, ast.Attribute) and (found := self.selection(function.value)) is not None:
            whole = ast.Attribute(found[0], function.attr, ast.Load())
            return changed_copy(node, func=whole), found[1]
        chosen = [(place, found) for place, one in enumerate(args) if (found := self.selection(one)) is not None]
        if len(chosen) != 1 or not (
            self.view.value(function).kind is Kind.MODULE or (self.view.origin(function) or "").startswith("torch.")
        ):
            return None
        ((place, found),) = chosen
        return changed_copy(node, args=[*args[:place], found[0], *args[place + 1 :]]), found[1]

    def _reduces_rows(self, node: ast.Call) -> bool:
        """`rows.sum(dim=1)`, which makes one of each row by itself."""
        as_method = isinstance(node.func, ast.Attribute) and not self.view.origin(node.func)
        given = [*node.args[0 if as_method else 1 :], *(w.value for w in node.keywords if w.arg in {"dim", "axis"})]
        named = self._last(node) in {"max", "min"}  # with a dim these give two tensors
        return not named and len(given) == 1 and (_integer_of(given[0]) or 0) > 0

    def _shares(self, node: ast.Call, function: ast.expr, args: list[ast.expr]) -> tuple[ast.expr, ast.expr] | None:
        """`softmax` over the chosen rows: what is not chosen has no share."""
        as_method = isinstance(function, ast.Attribute) and not self.view.origin(function)
        owner = cast("ast.Attribute", function).value if as_method else args[0] if args else None
        found = self.selection(owner) if owner is not None else None
        given = [*(args if as_method else args[1:]), *(one.value for one in node.keywords if one.arg == "dim")]
        if found is None or owner is None or [getattr(one, "value", None) for one in given] != [0]:
            return None
        mask = self._fitted(owner, *found, whole=False)
        filled = expression("torch.where(MASK, X, -float('inf'))", MASK=mask, X=found[0])
        if as_method:
            return changed_copy(node, func=ast.Attribute(filled, self._last(node), ast.Load())), found[1]
        return changed_copy(node, args=[filled, *args[1:]]), found[1]

    def _first_of_chosen(self, node: ast.Subscript) -> ast.expr | None:
        """`rows[0]` of `rows = x[:n]`, which begins as `x` does."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))) if place >= 0:
                chosen = self.view.only_value(name)
            case _:
                return None
        if not isinstance(chosen, ast.Subscript):
            return None
        parts = chosen.slice.elts if isinstance(chosen.slice, ast.Tuple) else [chosen.slice]
        sliced = [one for one in parts if isinstance(one, ast.Slice)]
        found = self._rows_chosen(chosen)
        if found is None or not sliced or not self._is_bound_by_data(sliced[0]) or sliced[0].lower is not None:
            return None
        return ast.Subscript(found[0], node.slice, ast.Load())

    def _rows_chosen(self, node: ast.Subscript) -> tuple[ast.expr, ast.expr] | None:
        owner, index = node.value, node.slice
        if not self.is_data(owner):
            return None
        if not isinstance(index, ast.Slice | ast.Tuple) and self.view.is_boolean(index):
            return self.of(owner), self.of(index)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        bounded = [one for one in parts if isinstance(one, ast.Slice) and self._is_bound_by_data(one)]
        if len(bounded) != 1 or not all(isinstance(one, ast.Slice | ast.Constant | ast.Name) for one in parts):
            return None
        place = next(i for i, one in enumerate(parts) if one is bounded[0])
        rest: list[ast.expr] = [ast.Slice() if one is bounded[0] else one for one in parts]
        while rest and ast.dump(rest[-1]) == ast.dump(ast.Slice()):
            rest.pop()
        base = self.of(owner)
        if rest:
            base = ast.Subscript(base, rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load()), ast.Load())
        dim = sum(1 for one in parts[:place] if isinstance(one, ast.Slice))
        return base, self.within(base, dim, bounded[0])

    def within(self, base: ast.expr, dim: int, bounds: ast.Slice) -> ast.expr:
        """The mask of the places along a dim that are within bounds."""
        places = expression("torch.arange(X.shape[DIM], device=X.device)", X=base, DIM=ast.Constant(dim))
        tests: list[ast.expr] = []
        if bounds.lower is not None:
            tests.append(ast.Compare(places, [ast.GtE()], [self.of(bounds.lower)]))
        if bounds.upper is not None:
            tests.append(ast.Compare(places, [ast.Lt()], [self.of(bounds.upper)]))
        return tests[0] if len(tests) == 1 else ast.BinOp(tests[0], ast.BitAnd(), tests[1])

    def _is_bound_by_data(self, node: ast.Slice) -> bool:
        return node.step is None and any(one is not None and self.is_data(one) for one in (node.lower, node.upper))

    def _counted(self, node: ast.expr) -> ast.expr | None:
        """How many rows data chose."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="nonzero")) if not self.view.origin(node.func):
                return expression("X.count_nonzero()", X=self.of(owner))
            case ast.Name(id=name) if isinstance(value := self.view.only_value(name), ast.Call):
                return self._counted(value)
        if (found := self.selection(node)) is not None:
            return expression("MASK.sum()", MASK=found[1])
        return None

    def _shape_of_selection(self, node: ast.Subscript) -> ast.expr | None:
        match node:
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=0)):
                return self._counted(owner)
        return None

    def _masked(self, owner: ast.expr, method: str, node: ast.Call) -> ast.expr | None:
        """`x[mask].mean()` over the whole tensor, where the mask leaves out what is not chosen."""
        found = self.selection(owner)
        dim = node.args[0] if node.args else next((w.value for w in node.keywords if w.arg in {"dim", "axis"}), None)
        if found is None:
            return None
        base, mask = found
        if not self._is_last_dim(owner, dim):  # there it stands along the dim as it is
            if dim is not None and _integer_of(dim) != 0:
                return None
            mask = self._fitted(owner, base, mask, whole=dim is None)
        neutral = _NEUTRAL[method]
        rest = [one for one in node.keywords if one.arg not in {"dim", "axis"}]
        reduced = "sum" if method == "mean" else method
        filled = expression("torch.where(MASK, X, NEUTRAL)", MASK=mask, X=base, NEUTRAL=expression(neutral or "0"))
        args: list[ast.expr] = [dim] if dim is not None else []
        whole: ast.expr = ast.Call(ast.Attribute(filled, reduced, ast.Load()), args, rest)
        if method == "mean":
            whole = ast.BinOp(whole, ast.Div(), ast.Call(ast.Attribute(mask, "sum", ast.Load()), args, rest))
        return whole

    def _is_last_dim(self, owner: ast.expr, dim: ast.expr | None) -> bool:
        """Does data choose along the last of several dims, as in `x[i, :, :n]`, and is that the dim?"""
        chosen = self.view.only_value(owner.id) if isinstance(owner, ast.Name) else owner
        if not (isinstance(chosen, ast.Subscript) and isinstance(chosen.slice, ast.Tuple)):
            return False
        sliced = [one for one in chosen.slice.elts if isinstance(one, ast.Slice)]
        number = _integer_of(dim)
        return len(sliced) > 1 and self._is_bound_by_data(sliced[-1]) and number in {-1, len(sliced) - 1}

    def _fitted(self, owner: ast.expr, base: ast.expr, mask: ast.expr, *, whole: bool) -> ast.expr:
        """The mask of rows, for tensors whose rows have dims of their own. `owner`: the chosen rows."""
        dims = self.view.dims(owner)
        of_elements = dims is None and self._asks_each_element(mask, base)
        more = len(dims) - 1 if dims is not None else 0 if whole or of_elements else 1
        for _ in range(more):
            mask = expression("X.unsqueeze(-1)", X=mask)
        return expression("MASK.expand_as(X)", MASK=mask, X=base) if whole and more else mask

    def _asks_each_element(self, mask: ast.expr, *tensors: ast.expr) -> bool:
        """Is the mask computed of one of the tensors element by element, as `x == 0` is? It has all of its dims then.
        Neither `x[:, 0] > 0`, which asks a question a row, nor what is reduced."""
        looked_for, seen = {ast.dump(one) for one in tensors}, set[str]()
        todo = [mask]
        while todo:
            one = todo.pop()
            if ast.dump(one) in looked_for:
                return True
            match one:
                case ast.Name(id=name) if name not in seen and (value := self.view.only_value(name)) is not None:
                    seen.add(name)
                    todo.append(value)
                case ast.Compare(left=left, comparators=others):
                    todo += [left, *others]
                case ast.BinOp(left=left, right=right):
                    todo += [left, right]
                case ast.UnaryOp(operand=operand):
                    todo.append(operand)
                case ast.Call(func=ast.Attribute(value=given, attr=called), args=args) if called in _ASKS_BY_ELEMENT:
                    todo += args if self.view.origin(one.func) else [given, *args]
        return False

    def writes_masked(self, target: ast.expr) -> bool:
        """Is it `y[mask]`?"""
        return (
            isinstance(target, ast.Subscript)
            and not isinstance(target.slice, ast.Slice | ast.Tuple)
            and self.view.is_boolean(target.slice)
        )

    def masked_write(self, target: ast.Subscript, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """`y[mask] = f(x[mask])` as a selection of whole tensors: the target, and the value that it is set to."""
        found = self.selection(value) if self.writes_masked(target) else None
        if found is None or ast.dump(found[1]) != ast.dump(self.of(target.slice)):
            return None
        whole = as_value(target.value)
        if self.view.dims(value) is not None:
            fitted = self._fitted(value, found[0], found[1], whole=False)
        elif self._asks_each_element(found[1], found[0], whole):
            fitted = found[1]
        else:  # right for rows of any number of dims, none too
            further = expression("[1] * (X.dim() - MASK.dim())", X=found[0], MASK=found[1])
            fitted = expression("MASK.reshape(*MASK.shape, *FURTHER)", MASK=found[1], FURTHER=further)
        return target.value, self.selected(fitted, found[0], as_value(target.value))


def _integer_of(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _apart_from(parts: Sequence[ast.expr], place: int) -> list[ast.expr]:
    return [one for number, one in enumerate(parts) if number != place]


def _is_display(node: ast.expr) -> bool:
    """Is it written as a list, or as some that are joined?"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_display(node.left) and _is_display(node.right)
    return isinstance(node, ast.List | ast.Tuple | ast.ListComp)


def _part_of(node: ast.expr, field: str) -> ast.expr:
    if isinstance(node, ast.Call):
        given = next((one.value for one in node.keywords if one.arg == field), None)
        if given is not None:
            return given
    return ast.Attribute(node, field, ast.Load())


def _guards(node: ast.expr) -> bool:
    """Does Python ask whether there is something, before what follows asks what it is?"""
    return any(
        (isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Is | ast.IsNot))
        or (isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in {"isinstance", "hasattr"})
        for one in walked(node)
    )


def _as_bool(node: ast.expr) -> ast.expr:
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return node
    return expression("bool(X)", X=node)


def _may_have_dims(node: ast.expr) -> bool:
    """Is it no element of something, of which people who read it know that it is one number?"""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant | ast.Name | ast.UnaryOp):
        return False
    if isinstance(node, ast.BinOp):
        return all(_may_have_dims(one) for one in (node.left, node.right) if not isinstance(one, ast.Constant))
    return not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape")


def _unread(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="item"), args=[]):
            return owner
    return node


def _before_numpy(node: ast.expr) -> ast.expr:
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[]) if name in _TO_NUMPY:
                node = owner
            case _:
                return node


def _count_of_numbers(node: ast.expr) -> int | None:
    """How many numbers are written there: 0 for one alone, 2 for a pair; None where it is something else."""
    match node:
        case ast.Constant():
            return 0 if _is_number(node) else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return 0 if _count_of_numbers(operand) == 0 else None
        case ast.Tuple(elts=[*elements]) | ast.List(elts=[*elements]) if elements:
            return len(elements) if all(_count_of_numbers(one) == 0 for one in elements) else None
    return None


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, int | float | complex)


def _is_rounded_in_single(node: ast.expr) -> bool:
    """A number such as 0.1, of which single precision has another one?"""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, float) and abs(value) < 1e38 and struct.unpack("f", struct.pack("f", value))[0] != value  # noqa: PLR2004 - what single precision holds


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_long(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"long", "int"}

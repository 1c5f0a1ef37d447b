"""The dtype and the shape of what a branch returns, compared with the arguments of the branch."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Mapping

_CASTS = dict(
    zip(
        ("long", "int", "short", "char", "byte", "bool", "half", "float", "double", "bfloat16"),
        ("int64", "int32", "int16", "int8", "uint8", "bool", "float16", "float32", "float64", "bfloat16"),
        strict=True,
    )
)
_NAMED = _CASTS | {name: name for name in _CASTS.values()}
_INDICES = frozenset({"argmax", "argmin", "argsort"})
_TESTS = frozenset({"isnan", "isinf", "isfinite", "eq", "ne", "gt", "lt", "ge", "le", "logical_not"})
_KEEP = frozenset({"relu", "abs", "neg", "clone", "clamp", "square", "contiguous", "detach", "roll", "flip"})
_FLOATING = frozenset({"tanh", "sigmoid", "exp", "sqrt", "log", "sin", "cos", "softmax", "gelu", "silu"})
_FLOATING_REDUCE = frozenset({"mean", "std", "var", "norm", "logsumexp"})
_SAME_SHAPE = (
    _KEEP | _FLOATING | _TESTS | _CASTS.keys() | {"mul", "add", "sub", "div", "cumsum", "to", "type", "argsort"}
)
_REDUCE = frozenset({"sum", "mean", "amax", "amin", "prod", "std", "var", "norm", "any", "all", "logsumexp"})
_FLOAT_FACTORIES = frozenset({"zeros", "ones", "empty", "rand", "randn", "eye", "linspace"})
_FACTORIES = _FLOAT_FACTORIES | {"full", "arange", "tensor"}
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones", "new_full"})
_JOINS = frozenset({"cat", "concat", "concatenate", "hstack", "vstack"})
_LIBRARIES = frozenset({"torch", "F"})
_ALL = -99  # dims: however many there were
_NOTHING: frozenset[str] = frozenset()


class _ReadBranch(Protocol):
    """What is asked of a `Branch`."""

    params: list[str]
    made: dict[str, ast.expr]
    rebound: set[str]


@dataclass(frozen=True, slots=True)
class ResultDtype:
    """`name` is "int64" or so; None: that of the argument number `of`. `made`: of nothing but Python numbers.

    >>> long = ResultDtype("int64")
    >>> long.differs(ResultDtype("bool")), long.differs(ResultDtype(None, of=0)), long.differs(None)
    (True, True, False)
    """

    name: str | None
    of: int | None = None
    made: bool = False

    def differs(self, other: ResultDtype | None) -> bool:
        """Is it another one? Of an argument it is assumed that nobody casts it to what it is, unless to float32."""
        if other is None or (self.name is None and other.name is None):
            return False
        if self.name is None or other.name is None:
            explicit = other if self.name is None else self
            return not explicit.made and explicit.name != "float32"
        return self.name != other.name


@dataclass(frozen=True, slots=True)
class ResultShape:
    """That of the argument number `of`, with so many `dims` more or less; `resized`: a size is certainly another.

    >>> ResultShape(0, -1).differs(ResultShape(0)), ResultShape(0).differs(ResultShape(1))
    (True, False)
    """

    of: int
    dims: int = 0
    resized: bool = False

    def differs(self, other: ResultShape | None) -> bool:
        """Has it another number of dims? Of different arguments nothing is known."""
        if other is None or self.of != other.of or self.dims == other.dims:
            return False
        return min(self.dims, other.dims) != _ALL or max(self.dims, other.dims) >= 0


@dataclass(slots=True)
class Results:
    """Reads expressions of a branch. `known`: dtypes of arguments by their places, where the caller knows them.

    >>> import ast
    >>> from exportlint.rule.branches.branch_function import Branch
    >>> branch = Branch.of(ast.parse("lambda t: t.sum(0).long()", mode="eval").body)
    >>> results = Results(branch)
    >>> results.dtype(branch.returns[0]), results.shape(branch.returns[0])
    (ResultDtype(name='int64', of=None, made=False), ResultShape(of=0, dims=-1, resized=False))
    """

    branch: _ReadBranch
    known: Mapping[int, str] = field(default_factory=dict)

    def argument(self, place: int) -> ResultDtype:
        """The dtype of the argument at this place."""
        return ResultDtype(self.known[place]) if place in self.known else ResultDtype(None, of=place)

    def _made(self, name: str, seen: frozenset[str]) -> ast.expr | None:
        """What a name of its own stands for; `seen` are the names on the way there. Bound twice, it is not known."""
        is_argument_too = name in self.branch.params and bool(seen)
        return None if {name} & (self.branch.rebound | seen) or is_argument_too else self.branch.made.get(name)

    def _is_argument(self, name: str, seen: frozenset[str]) -> bool:
        """`t = torch.cat([t, x])` speaks of the argument on its right side, and of nothing else that is known."""
        return name in self.branch.params and (name not in self.branch.made or seen == {name})

    def dtype(self, node: ast.expr, seen: frozenset[str] = _NOTHING) -> ResultDtype | None:
        """The dtype of an expression; None: not known."""
        match node:
            case ast.Name(id=name) if made := self._made(name, seen):
                return self.dtype(made, seen | {name})
            case ast.Name(id=name) if self._is_argument(name, seen):
                return self.argument(self.branch.params.index(name))
            case ast.Compare():
                return ResultDtype("bool")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.dtype(operand, seen)
            case ast.BinOp(left=operand, right=ast.Constant(value=number)):
                return _with_number(self.dtype(operand, seen), number, divided=isinstance(node.op, ast.Div))
            case ast.BinOp(left=ast.Constant(value=number), right=operand):
                return _with_number(self.dtype(operand, seen), number, divided=isinstance(node.op, ast.Div))
            case ast.Call(func=ast.Attribute(attr=method)):
                return self._dtype_of_call(node, method, seen)
        return None

    def _dtype_of_call(self, node: ast.Call, method: str, seen: frozenset[str]) -> ResultDtype | None:
        written = next((word.value for word in node.keywords if word.arg == "dtype"), None)
        owner, args = _operand(node)
        if owner is None or (owner is not _method_owner(node) and method in _FACTORIES):
            return _of_numbers(method, node.args, written)
        if method in {"to", "type"} and args and (name := _written_dtype(args[0])):
            return ResultDtype(name)
        if written is not None:
            name = _written_dtype(written)
            return ResultDtype(name, made=method in _LIKE) if name else None
        if method in _CASTS:
            return ResultDtype(_CASTS[method])
        if method in _INDICES or method in _TESTS:
            return ResultDtype("int64" if method in _INDICES else "bool")
        dtype = self.dtype(owner, seen)
        if method in _KEEP | _LIKE | {"amax", "amin"}:
            return dtype
        is_open = dtype is None or dtype.name is None
        floating = dtype if is_open else _with_number(dtype, 1.0, divided=True)
        return floating if method in _FLOATING | _FLOATING_REDUCE else None

    def shape(self, node: ast.expr, seen: frozenset[str] = _NOTHING) -> ResultShape | None:
        """The shape of an expression; None: not known."""
        match node:
            case ast.Name(id=name) if made := self._made(name, seen):
                return self.shape(made, seen | {name})
            case ast.Name(id=name) if self._is_argument(name, seen):
                return ResultShape(self.branch.params.index(name))
            case ast.UnaryOp(operand=operand):
                return self.shape(operand, seen)
            case ast.BinOp(left=operand, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=operand):
                return self.shape(operand, seen)
            case ast.Compare(left=operand, comparators=[ast.Constant()]):
                return self.shape(operand, seen)
            case ast.Subscript(value=owner, slice=index):
                return _indexed(self.shape(owner, seen), index)
            case ast.Call(func=ast.Attribute(attr=method)):
                return self._shape_of_call(node, method, seen)
        return None

    def _shape_of_call(self, node: ast.Call, method: str, seen: frozenset[str]) -> ResultShape | None:
        owner, args = _operand(node)
        words = {word.arg for word in node.keywords}
        if owner is None:
            return None
        if method in _JOINS or method == "stack":
            return self._joined(owner, method, seen)
        shape = self.shape(owner, seen)
        if shape is None or method in _SAME_SHAPE:
            return shape
        if method in _REDUCE | {"argmax", "argmin"} and "keepdim" not in words and len(args) < 2:  # noqa: PLR2004 - dim
            return ResultShape(shape.of, shape.dims - 1 if args or words else _ALL)
        if method == "unsqueeze":
            return replace(shape, dims=shape.dims + 1)
        return replace(shape, resized=True) if method == "pad" and _pads(args) else None

    def _joined(self, parts: ast.expr, method: str, seen: frozenset[str]) -> ResultShape | None:
        """Of tensors put together: the first whole argument among them tells."""
        elements = parts.elts if isinstance(parts, ast.List | ast.Tuple) else []
        shapes = [self.shape(part, seen) for part in elements if not isinstance(part, ast.Starred)]
        whole = next((shape for shape in shapes if shape and not shape.dims and not shape.resized), None)
        if whole is None or len(elements) < 2:  # noqa: PLR2004 - one alone is not put together
            return None
        return replace(whole, dims=1) if method == "stack" else replace(whole, resized=True)


def _method_owner(node: ast.Call) -> ast.expr | None:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return None if isinstance(owner, ast.Name) and owner.id in _LIBRARIES else owner


def _operand(node: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """The tensor that a method or a function of torch works on, and the other arguments."""
    owner = _method_owner(node)
    if owner is not None:
        functional = ast.unparse(owner).endswith("functional")
        return (node.args[0], node.args[1:]) if functional and node.args else (owner, node.args)
    return (node.args[0], node.args[1:]) if node.args else (None, [])


def _with_number(dtype: ResultDtype | None, number: object, *, divided: bool) -> ResultDtype | None:
    """What a Python number makes of a dtype: an integer tensor becomes a float one, a float one stays."""
    if dtype is None or (isinstance(number, int) and not divided):
        return dtype
    if dtype.name is None:
        return None
    return dtype if "float" in dtype.name else replace(dtype, name="float32")


def _of_numbers(method: str, args: list[ast.expr], written: ast.expr | None) -> ResultDtype | None:
    """Of a tensor that is made of Python numbers."""
    if method not in _FACTORIES:
        return None
    if written is not None or method in _FLOAT_FACTORIES:
        name = _written_dtype(written) if written is not None else "float32"
        return ResultDtype(name, made=True) if name else None
    numbers = args[1:2] if method == "full" else args
    values = [part for number in numbers for part in walked(number) if isinstance(part, ast.expr)]
    constants = [part.value for part in values if isinstance(part, ast.Constant)]
    plain = all(isinstance(part, ast.Constant | ast.List | ast.Tuple | ast.UnaryOp) for part in values)
    for kind, name in ((float, "float32"), (bool, "bool"), (int, "int64")):
        if plain and any(isinstance(constant, kind) for constant in constants):
            return ResultDtype(name, made=True)
    return None


def _written_dtype(node: ast.expr) -> str | None:
    """`torch.long`."""
    return _NAMED.get(node.attr) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch" else None


def _indexed(shape: ResultShape | None, index: ast.expr) -> ResultShape | None:
    """`t[0]` has a dim less, `t[1:]` and `t[:-1]` another size; of other indices nothing is said.

    A slice of what was made longer is a window, which may be as long as before.
    """
    if shape is None or shape.resized:
        return None
    match index:
        case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())):
            return replace(shape, dims=shape.dims - 1)
        case ast.Slice(lower=ast.Constant(value=int(start)), upper=None, step=None) if start > 0:
            return replace(shape, resized=True)
        case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant()), step=None):
            return replace(shape, resized=True)
    return None


def _pads(args: list[ast.expr]) -> bool:
    """Does `F.pad(t, (0, 1))` add something? `(1, -1)` shifts."""
    try:
        numbers = ast.literal_eval(args[0]) if args else ()
    except ValueError:
        return False
    return isinstance(numbers, list | tuple) and sum(numbers) != 0

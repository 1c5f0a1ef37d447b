"""A function that an operator runs: what it touches that is not its own, and what it returns."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Iterator

_VIEWS = frozenset(
    {"view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "expand", "flatten", "narrow", "detach"}
    | {"select", "diagonal", "movedim", "swapaxes", "unflatten", "view_as", "expand_as"}
)
_MAYBE_VIEWS = frozenset({"contiguous", "to", "float", "double", "half", "type_as", "type"})
_GROWS = frozenset({"append", "extend", "insert", "add", "update", "pop", "clear", "setdefault"})
_CONSTANTS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy"})
_NO_TENSORS = frozenset({"torch", "F", "init", "nn.init"})
_DEEPEST = 4  # names that name names


class Touch(enum.Enum):
    """What a function does with what is not its own.

    >>> Touch.VIEW.value
    'a view of an argument'
    """

    ARGUMENT = "an argument itself"
    VIEW = "a view of an argument"
    MAYBE_ARGUMENT = "an argument itself, where it has nothing to convert"
    OUTSIDE = "a tensor from outside"
    WRITES_ARGUMENT = "a write into an argument"
    WRITES_TENSOR = "a write into a tensor from outside"
    WRITES_CONTAINER = "a change of a container from outside"
    SETS_ATTRIBUTE = "an attribute set"
    REBINDS = "a name from outside bound again"
    RAISES = "an exception"
    MAKES_CONSTANT = "a tensor made of Python numbers"


@dataclass(slots=True)
class Branch:
    """A function that an operator runs, in `ast` so that lambdas, nested functions and methods read alike.

    params    the names of its arguments, without `self`; `spare`: it takes any number (stars, defaults)
    returns   the expressions it returns; None for a bare `return`
    made      what its own names stand for; `rebound`: those bound more than once; `outside`: names it reads only

    >>> import ast
    >>> branch = Branch.of(ast.parse("lambda t: t.view(3)", mode="eval").body)
    >>> branch.params, branch.touched(branch.returns[0])
    (['t'], <Touch.VIEW: 'a view of an argument'>)
    """

    params: list[str]
    spare: bool
    body: list[ast.stmt]
    returns: list[ast.expr | None] = field(default_factory=list)
    made: dict[str, ast.expr] = field(default_factory=dict)
    rebound: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, node: ast.AST, *, method: bool = False) -> Branch | None:
        """Read a lambda or a function; `method`: its first argument is given by the attribute access."""
        if isinstance(node, ast.Expr):
            node = node.value
        if not isinstance(node, ast.Lambda | ast.FunctionDef):
            return None
        decorators = [] if isinstance(node, ast.Lambda) else [ast.unparse(one) for one in node.decorator_list]
        args = node.args
        params = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        params = params[1 if method and "staticmethod" not in decorators else 0 :]
        body: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
        branch = cls(params, bool(args.vararg or args.defaults), body)
        branch._read()
        return branch

    def _read(self) -> None:
        for found in self._nodes():
            match found:
                case ast.Return(value=value):
                    self.returns.append(value)
                case ast.Assign(targets=[target, *_], value=value):
                    self._bind(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(target, value)
                case ast.Name(id=name, ctx=ast.Load()):
                    self.outside.add(name)
        self.outside -= {*self.params, *self.made}

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        bound = dict(_bound(target, value))
        self.rebound |= bound.keys() & self.made.keys()
        self.made |= bound

    def _nodes(self) -> Iterator[ast.AST]:
        for statement in self.body:
            yield from _inside(statement)

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """A local name that stands for a tuple, a list or a dict is what it stands for."""
        if isinstance(node, ast.Name) and isinstance(self.made.get(node.id), ast.Tuple | ast.List | ast.Dict):
            return self.made[node.id]
        return node

    def results(self, returned: ast.expr | None) -> list[ast.expr]:
        """The parts of what one `return` gives."""
        whole = self.resolved(returned)
        return whole.elts if isinstance(whole, ast.Tuple | ast.List) else [whole] if whole else []

    def touched(self, node: ast.expr, depth: int = 0) -> Touch | None:
        """Whose memory an expression shares."""
        match node:
            case ast.Name(id=name) if name in self.made and depth < _DEEPEST:
                return self.touched(self.made[name], depth + 1)
            case ast.Name(id=name) if name in self.params:
                return Touch.ARGUMENT
            case ast.Name(id=name) if name in self.outside:
                return Touch.OUTSIDE
            case ast.Attribute(value=ast.Name(id="self")):
                return Touch.OUTSIDE
            case ast.Attribute(value=owner, attr="T" | "mT" | "data"):
                return Touch.VIEW if self.touched(owner, depth) else None
            case ast.Subscript(value=owner, slice=index) if _basic(index):
                return Touch.VIEW if self.touched(owner, depth) else None
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _VIEWS | _MAYBE_VIEWS:
                if self.touched(owner, depth) in {None, Touch.OUTSIDE}:
                    return None
                return Touch.VIEW if method in _VIEWS else Touch.MAYBE_ARGUMENT
        return None

    def effects(self) -> Iterator[tuple[Touch, ast.AST]]:
        """What it does beside returning something, and where."""
        yield from ((Touch.RAISES, statement) for statement in self.body if isinstance(statement, ast.Raise))
        for node in self._nodes():
            yield from self._effect(node)

    def _effect(self, node: ast.AST) -> Iterator[tuple[Touch, ast.AST]]:
        match node:
            case ast.Nonlocal() | ast.Global():
                yield Touch.REBINDS, node
            case ast.Call(func=ast.Attribute() as func):
                yield from self._call(node, func)
            case ast.Assign(targets=[ast.Subscript(value=owner)]) | ast.AugAssign(target=ast.Subscript(value=owner)):
                yield from self._written(owner, node)
            case ast.Assign(targets=[ast.Attribute()]) | ast.AugAssign(target=ast.Attribute()):
                yield Touch.SETS_ATTRIBUTE, node
            case ast.AugAssign(target=ast.Name(id=name) as target) if name in self.params:
                yield from self._written(target, node)

    def _call(self, node: ast.Call, func: ast.Attribute) -> Iterator[tuple[Touch, ast.AST]]:
        owner, method = func.value, func.attr
        if ast.unparse(func) in _CONSTANTS or method == "new_tensor":
            if self._names_in(node.args).isdisjoint({*self.params, *self.made}):
                yield Touch.MAKES_CONSTANT, node
        elif method.endswith("_") and not method.startswith("_"):
            yield from self._written(owner, node)
        elif method in _GROWS and self._is_outside(owner, method):
            yield Touch.WRITES_CONTAINER, node

    def _is_outside(self, owner: ast.expr, method: str) -> bool:
        """May it be a container from outside? What `self` has may be a tensor, which has `add` too."""
        match owner:
            case ast.Name(id=name):
                return name in self.outside - {"torch"}
            case ast.Attribute(value=ast.Name(id="self")):
                return method != "add"
        return False

    def _names_in(self, nodes: list[ast.expr]) -> set[str]:
        return {part.id for node in nodes for part in walked(node) if isinstance(part, ast.Name)}

    def _written(self, owner: ast.expr, node: ast.AST) -> Iterator[tuple[Touch, ast.AST]]:
        touched = self.touched(owner)
        if touched in {Touch.ARGUMENT, Touch.VIEW}:
            yield Touch.WRITES_ARGUMENT, node
        elif touched is Touch.OUTSIDE and _writes_by_key(node):
            yield Touch.WRITES_CONTAINER, node
        elif touched is Touch.OUTSIDE and ast.unparse(owner) not in _NO_TENSORS:
            yield Touch.WRITES_TENSOR, node


def _writes_by_key(node: ast.AST) -> bool:
    """`counts["seen"] = 1`: a dictionary, no tensor."""
    match node:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str()))]):
            return True
        case ast.AugAssign(target=ast.Subscript(slice=ast.Constant(value=str()))):
            return True
    return False


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


def _basic(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(part, ast.Slice | ast.Constant | ast.UnaryOp) for part in parts)

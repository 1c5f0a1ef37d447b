"""A target of deployment does not keep what forward writes to a buffer, or forgets what the buffer starts with.

Why: a buffer that forward writes in place and reads again is state, and torch.export keeps it in the program. What
that is compiled to need not: ONNX, OpenVINO and TVM have functions and no state, so that every call begins anew.
ExecuTorch keeps state and drops the values that it starts with, unless its setting `initialized_buffers` keeps them.
AOTInductor takes a buffer of one element for a constant. None of them says so.

Instead: take the state as an input and return the new one; the caller keeps it.

    def forward(self, x, total):
        total = total + x
        return x / total, total

No repair: state that is passed in and out is an interface, and the callers have to change with it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, Rule, Source, path_on_self, walked, written_in_place

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Called, Code, Parsed

_IN_OUT = Instead(
    "take the state as an input and return the new one, so that the caller keeps it", shown_in="GoodInAndOut"
)
_STATE = "`{code}` changes the buffer `{name}`, which the next call reads"
_START = f"{_STATE}, and which does not start at zero"
_ONE = f"{_STATE}, and which holds one number"
_REWRITES = ("copy_", "zero_", "fill_")  # these write all of a tensor and read nothing of it
_UPDATE = re.compile(r"[a-z]\w*[a-z0-9]_")  # how methods that write in place are named
_WRITING = {"out", "inplace"}
_STARTS_AT = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1, "eye": 1, "rand": 1, "randn": 1}


class StateLostInLowering(Rule):
    words = r"self\.\w+"
    lowerings = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")
    cured_by: ClassVar = dict.fromkeys(("executorch", "executorch-xnnpack"), "initialized_buffers")
    cases: ClassVar = {
        "BadState": Case(_STATE, _IN_OUT),
        "BadStateWithStart": Case(_START, _IN_OUT),
        "BadNumber": Case(_ONE, _IN_OUT),
        "BadNumberWithStart": Case(f"{_START} and holds one number", _IN_OUT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is something written in place, in a class that registers a buffer?"""
        sketch = code.sketch
        calls = any(call.method.endswith("_") or _WRITING.intersection(_words_of(call)) for call in sketch.calls)
        targets = any(isinstance(target, ast.Subscript) for target in sketch.targets())
        return (calls or targets or any(sketch.nodes(ast.AugAssign))) and bool(_registered(code))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._registered = _registered(code)
        self._told: set[str] = set()
        self._training = 0

    def visit_If_body(self, node: cst.If) -> None:
        self._training += "self.training" in self.code.text(node.test)

    def leave_If_body(self, node: cst.If) -> None:
        self._training -= "self.training" in self.code.text(node.test)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._written(node)

    def visit_Assign(self, node: cst.Assign) -> None:
        self._written(node)

    def visit_Call(self, node: cst.Call) -> None:
        self._written(node)

    def _written(self, node: cst.CSTNode) -> None:
        for expression in written_in_place(node):
            name = path_on_self(expression) or ""
            start = self._registered.get(name)
            is_buffer = self.code.value(expression).source is Source.BUFFER
            if start is None or self._training or not is_buffer or name in self._told or not self._is_read(name):
                continue
            self._told.add(name)
            self.report(node, _case(start), name=name)

    def _is_read(self, name: str) -> bool:
        """Does a call read what an earlier one wrote, for more than to write it anew?"""
        methods = self.code.cls.methods if self.code.cls else {}
        bodies = [method.node.body for method in methods.values() if method.name != "__init__"]
        statements = [statement for body in bodies if isinstance(body, list) for statement in _simple(body)]
        uses = [statement for statement in statements if _reads(statement, name)]
        return any(not _updates(use, name) for use in uses) and not _rewrites(uses[0], name)


def _words_of(call: Called) -> set[str]:
    return {word.arg for word in call.node.keywords if word.arg}


def _registered(code: Code) -> dict[str, ast.expr]:
    """Buffer -> what it starts with."""
    bases = code.cls.lineage if code.cls else ()
    return {name: start for base in bases for name, start in base.module.parts.kept(base.node, _registrations).items()}


def _registrations(_file: Parsed, body: ast.AST) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in walked(body):
        match node:
            case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=str(name)), start, *_]):
                found[name] = start
    return found


def _case(start: ast.expr) -> str:
    kind = "Number" if _is_one_number(start) else "State"
    return f"Bad{kind}WithStart" if _is_not_zero(start) else f"Bad{kind}"


def _is_not_zero(start: ast.expr) -> bool:
    """Only where the code says so in plain numbers."""
    match start:
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[values, *_]):
            return any(isinstance(node, ast.Constant) and node.value for node in walked(values))
        case ast.Call(func=ast.Attribute(attr="full"), args=[_, ast.Constant(value=value), *_]):
            return bool(value)
        case ast.Call(func=ast.Attribute(attr=name)):
            return bool(_STARTS_AT.get(name))
    return False


def _is_one_number(start: ast.expr) -> bool:
    match start:
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[values, *_]):
            return isinstance(values, ast.Constant | ast.UnaryOp) or _length(values) == 1
        case ast.Call(func=ast.Attribute(attr="zeros" | "ones" | "full"), args=[shape, *more]):
            sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
            is_alone = "full" in ast.unparse(start.func) or not more
            return is_alone and all(isinstance(size, ast.Constant) and size.value == 1 for size in sizes)
    return False


def _length(values: ast.expr) -> int | None:
    return len(values.elts) if isinstance(values, ast.List | ast.Tuple) else None


def _simple(body: list[ast.stmt]) -> list[ast.AST]:
    """The statements in their order; of compound ones what they ask, then what is in them."""
    found: list[ast.AST] = []
    for statement in body:
        inner = [part for field in ("body", "orelse") for part in getattr(statement, field, ())]
        heads = (getattr(statement, field, None) for field in ("test", "iter"))
        found += [head for head in heads if head is not None] if inner else [statement]
        found += _simple(inner)
    return found


def _reads(node: ast.AST, name: str) -> bool:
    return any(_is_own(part, name) for part in walked(node))


def _is_own(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
            return attribute == name
    return False


def _updates(statement: ast.AST, name: str) -> bool:
    """Is it for nothing but a new value of the buffer?"""
    match statement:
        case ast.AugAssign(target=target) | ast.Assign(targets=[ast.Subscript() as target]):
            owner = target.value if isinstance(target, ast.Subscript) else target
            return _is_own(owner, name)
        case ast.Expr(value=ast.Call() as call):
            return _is_own(_chain_root(call), name)
    return False


def _chain_root(call: ast.Call) -> ast.AST:
    """`self.mean` of `self.mean.mul_(a).add_(b)`."""
    match call.func:
        case ast.Attribute(value=owner, attr=method) if _UPDATE.fullmatch(method):
            return _chain_root(owner) if isinstance(owner, ast.Call) else owner
    return call


def _rewrites(statement: ast.AST, name: str) -> bool:
    """Does it write all of the buffer without a look at it?"""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=new)):
            return method in _REWRITES and _is_own(owner, name) and not any(_reads(value, name) for value in new)
    return False

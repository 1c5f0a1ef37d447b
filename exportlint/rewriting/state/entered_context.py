"""Write out what a context manager of the project does when it is entered and left, where the `with` stands."""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.left_statements import comments_of
from exportlint.rule.editing.repair import Change, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
    from exportlint.rule.code import Code


_LEAVING = (cst.Return, cst.Break, cst.Continue, cst.Yield, cst.Await)


def written_out(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`node` makes the context that its `with` enters: an object of a class of this file, which nothing else sees."""
    item = code.parent(node)
    block = code.parent(item) if isinstance(item, cst.WithItem) and item.asname is None else None
    cls = code.value(node).cls
    if not isinstance(block, cst.With) or cls is None or cls.module is not code.module:
        return
    lines = code.source_of(block).split("\n")
    first = block.body.body[0] if isinstance(block.body, cst.IndentedBlock) else None
    given = _given(code, node, cls)
    if first is None or len(block.items) != 1 or given is None or _leaves(block.body):
        return
    names = _Names(code, given)
    before, after = names.written(cls.method("__enter__")), names.written(cls.method("__exit__"))
    if before is None or after is None:
        return
    head = code.place(first).line - code.place(block).line
    inside = textwrap.dedent("\n".join(lines[head:]))
    yield Rewrite(
        f"write `{cls.name}` out", (Change(block, "\n".join([*comments_of(lines[:head]), *before, inside, *after])),)
    )


def _leaves(node: cst.CSTNode) -> bool:
    return isinstance(node, _LEAVING) or any(map(_leaves, node.children))


def _given(code: Code, node: cst.Call, cls: ClassInfo) -> Mapping[str, ast.expr] | None:
    """What `__init__` puts into which attribute; None where it does more than that, or the class has bases."""
    init = cls.method("__init__")
    call = ast.parse(code.source_of(node), mode="eval").body
    if cls.base_names or not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    parameters = init.parameters[1:] if init else ()
    values = dict(zip(parameters, call.args, strict=False)) | {str(word.arg): word.value for word in call.keywords}
    found = {}
    for line in _body(init) if init else []:
        match line:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(), attr=name)], value=ast.Name(id=source)) if (
                source in values and _is_plain(values[source])
            ):
                found[name] = values[source]
            case _:
                return None
    return found


def _is_plain(node: ast.expr) -> bool:
    """A name, an attribute or a constant: the same wherever it is read."""
    match node:
        case ast.Attribute(value=owner):
            return _is_plain(owner)
    return isinstance(node, ast.Name | ast.Constant)


def _body(function: FunctionInfo) -> Sequence[ast.AST]:
    """Its statements below the docstring, without a `return` at the end."""
    body = [*function.node.body] if isinstance(function.node.body, list) else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    match body[-1:]:
        case [ast.Return(value=None | ast.Name(id="self") | ast.Constant(value=None | False))]:
            del body[-1]
    return body


class _Names(ast.NodeTransformer):
    """Reads and writes of the object's attributes become those of what it was given, or of local names."""

    def __init__(self, code: Code, given: Mapping[str, ast.expr]) -> None:
        self._given = given
        self._bound = frozenset(code.sketch.bound)
        self._fresh = FreshNames(code)
        self._attributes: dict[str, str] = {}
        self._locals: dict[str, str] = {}
        self._method: Sequence[str] = ()
        self._is_whole = True

    def written(self, method: FunctionInfo | None) -> list[str] | None:
        """The method's statements; None where they use more than attributes of the object and names of the file."""
        if method is None or not method.parameters:
            return None
        arguments = method.node.args
        more = [one.arg for one in (arguments.vararg, *arguments.kwonlyargs, arguments.kwarg) if one]
        self._method, self._locals, self._is_whole = [*method.parameters, *more], {}, True
        lines = [ast.unparse(self.visit(ast.parse(ast.unparse(one)))) for one in _body(method)]
        return lines if self._is_whole else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name) or node.value.id != self._method[0]:
            self.generic_visit(node)
            return node
        if node.attr in self._given:
            self._is_whole = self._is_whole and isinstance(node.ctx, ast.Load)
            return self._given[node.attr]
        return ast.Name(self._named(self._attributes, node.attr), node.ctx)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Load) and node.id not in self._locals:
            self._is_whole = self._is_whole and node.id not in self._method and node.id not in self._bound
            return node
        return ast.Name(self._named(self._locals, node.id), node.ctx)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self._is_whole = False
        return node

    def _named(self, known: dict[str, str], name: str) -> str:
        if name not in known:
            known[name] = self._fresh.of(name.strip("_") or "entered")
        return known[name]

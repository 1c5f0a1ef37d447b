"""The caller's container is changed, or the shape of an input is changed in place.

Why: new values in an input tensor are part of an exported program. Containers are not: they are taken apart before
the call and put together after it, so an entry that forward adds, replaces or removes never reaches the caller, and
torch says nothing. Changing an input's shape or storage in place (`x.t_()`, `x.resize_()`) is refused in strict mode;
in non-strict mode it is traced and then refused by the decomposition.

Instead: work on a copy and return what the caller needs.

    batch = {**batch, "features": features}    # instead of batch["features"] = features
    history = [*history, x]                    # instead of history.append(x)
    x = x.t()                                  # instead of x.t_()
"""

from __future__ import annotations

import ast
from typing import ClassVar

import libcst as cst

from exportlint import (
    CONTAINER_METHODS,
    SHAPE_METHODS,
    Case,
    Code,
    Kind,
    Rule,
    Severity,
    Source,
    called,
    flat_targets,
    is_part,
    root_name,
    text_argument,
    walked,
)

_COPY = "work on a copy (`{{**batch}}`, `[*items]`) and return what the caller needs"
_MESSAGE = "`{code}` changes a container of the caller"


class InputMutation(Rule):
    mended_by = ("interface",)
    graph_breaks = ("GB0148",)
    torch_says = (r"num_mutated_inp_runtime_indices", r"Encountered a set_ on a graph input")
    cases: ClassVar = {
        "BadDictWrite": Case(_MESSAGE, _COPY),
        "BadObjectWrite": Case("`{code}` changes an object of the caller", "return what the caller needs"),
        "BadDictDel": Case(_MESSAGE, _COPY),
        "BadListAppend": Case(_MESSAGE, _COPY),
        "BadTranspose": Case(
            "`{code}` changes the shape of an input in place", "use the method without the underscore and its result"
        ),
        "BadUnsqueeze": Case(
            "`{code}` changes the shape of an input in place", "use the method without the underscore and its result"
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a container, an object or the shape of a tensor changed that may be the caller's?"""
        sketch = code.sketch
        reshaped = (call.owner for call in sketch.calls if call.method in SHAPE_METHODS)
        if any(sketch.value(owner).source is Source.INPUT for owner in reshaped if owner):
            return True
        grown = (call.owner for call in sketch.calls if call.method in CONTAINER_METHODS)
        written = [*(target.value for target in sketch.targets()), *(owner for owner in grown if owner)]
        written += (node.target for node in sketch.nodes(ast.AugAssign))
        return any(_may_be_given(code, node) for node in written) and not _is_part(code)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._rebound: set[str] = set()

    def leave_Assign(self, original_node: cst.Assign) -> None:
        self._items(original_node, "BadDictWrite")
        self._rebound |= {target.value for target in flat_targets(original_node) if isinstance(target, cst.Name)}

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if self.code.value(node.target).container == "list":
            self._container(node, node.target, "BadListAppend")
        self._items(node, "BadDictWrite")

    def visit_Del(self, node: cst.Del) -> None:
        self._items(node, "BadDictDel")

    def visit_Call(self, node: cst.Call) -> None:
        name = called(node)
        if not isinstance(node.func, cst.Attribute) or name is None:
            return
        if name in CONTAINER_METHODS:
            self._container(node, node.func.value, "BadListAppend")
        elif name in SHAPE_METHODS:
            owner = self.code.value(node.func.value)
            if owner.is_tensor and owner.source is Source.INPUT:
                self.report(node, "BadUnsqueeze" if name == "unsqueeze_" else "BadTranspose", because=owner)

    def _items(self, node: cst.CSTNode, case: str) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Attribute) and case == "BadDictWrite":
                self._object(node, target.value)
            elif isinstance(target, cst.Subscript):
                self._container(node, _innermost(target) if _has_text_key(target) else target.value, case)

    def _object(self, node: cst.CSTNode, owner: cst.CSTNode) -> None:
        value = self.code.value(owner)
        if value.kind is Kind.INSTANCE and value.cls and self._is_argument(owner):
            self.report(node, "BadObjectWrite", because=value)

    def _is_argument(self, node: cst.CSTNode) -> bool:
        """Is this an argument of the exported module's forward, by its plain name?"""
        function = self.code.function
        if function is None or function.name != "forward" or _is_part(self.code) or not isinstance(node, cst.Name):
            return False
        return node.value in {argument.arg for argument in function.node.args.args[1:]} - self._rebound

    def _container(self, node: cst.CSTNode, owner: cst.CSTNode, case: str) -> None:
        value = self.code.value(owner)
        if root_name(owner) in self._rebound:
            return  # `batch = dict(batch)`: the caller's container is another one
        if value.kind is Kind.UNKNOWN and _is_by_text(node) and self._is_argument(owner):
            because, at_most = None, Severity.WARNING
        elif (
            value.kind is Kind.CONTAINER and value.certain and value.source is Source.INPUT and not _is_part(self.code)
        ):
            # A list of features is mostly handed from part to part of a model; a dict of inputs comes from outside.
            because, at_most = value, Severity.ERROR if value.container == "dict" else Severity.WARNING
        else:
            return
        if self.code.sampled or _keys_of(node).isdisjoint(_keys_made(self.code)):
            self.report(node, case, because=because, at_most=at_most)


def _is_part(code: Code) -> bool:
    """Does another module of the file own this one? Then its arguments are made inside the program, for all that is
    known, unless a sample shows what they are."""
    return code.cls is not None and code.cls.is_module and is_part(code.cls) and not code.sampled


def _keys_of(node: cst.CSTNode) -> set[str]:
    """The text keys that a statement writes to."""
    targets = [target for target in flat_targets(node) if isinstance(target, cst.Subscript)]
    slices = [one.slice.value for target in targets for one in target.slice if isinstance(one.slice, cst.Index)]
    return {one.raw_value for one in slices if isinstance(one, cst.SimpleString)}


def _keys_made(code: Code) -> set[str]:
    """The text keys of the dicts that the other methods of the class return, as one does that makes a first state: what
    is written under them is that state, which callers have from the module and give back to it."""
    methods = (one for one in (code.cls.node.body if code.cls else ()) if isinstance(one, ast.FunctionDef))
    others = (one for one in methods if one.name != "forward" and code.function and one is not code.function.node)
    dicts = (part.value for one in others for part in walked(one) if isinstance(part, ast.Return))
    keys = (key for made in dicts if isinstance(made, ast.Dict) for key in made.keys)
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _is_by_text(node: cst.CSTNode) -> bool:
    """`x["key"] = …` and `x.pop("key")` tell that x is a dictionary."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="pop"))):
            return text_argument(node) is not None
    return any(isinstance(target, cst.Subscript) and _has_text_key(target) for target in flat_targets(node))


def _has_text_key(node: cst.Subscript) -> bool:
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString()))]:
            return True
    return False


def _innermost(node: cst.Subscript) -> cst.BaseExpression:
    """The `batch` of `batch["boxes"]["scaled"]`: a text key belongs to a dictionary, however deep."""
    inner = node.value
    while isinstance(inner, cst.Subscript) and _has_text_key(inner):
        inner = inner.value
    return inner


def _may_be_given(code: Code, node: ast.expr) -> bool:
    """A container that came in, or an argument of forward of which nothing, or its class, is known."""
    while isinstance(node, ast.Subscript) and code.sketch.value(node).source is not Source.INPUT:
        node = node.value
    value = code.sketch.value(node)
    if value.source is Source.INPUT:
        return value.kind is not Kind.TENSOR
    is_argument = isinstance(node, ast.Name) and code.function is not None and code.function.name == "forward"
    return is_argument and value.kind in {Kind.UNKNOWN, Kind.INSTANCE}

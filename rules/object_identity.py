"""The result depends on which Python object it is, not on its value.

Why: while a model is exported, inputs, parameters and modules are stand-ins for the real ones, and a program has no
objects at all. `id()` and `hash()` (of text, too) become a number that was true once; `is` between two inputs and a
cache keyed by tensors are decided for the sample inputs and stay so: exported without a word, wrong for others. In
non-strict mode an input is a FakeTensor, so `type(x) is torch.Tensor` is False, and the name of the type another.
`data_ptr()` is refused, except on parameters in strict mode. `is` between modules and `is None` are Python and fine.

Instead: compare values (`(x == y).all()` with `torch.where`), use `isinstance(x, torch.Tensor)`, and decide what is
tied or shared when the model is built:

    self.tied = self.head.weight is self.emb.weight     # in __init__
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity, Source, called

if TYPE_CHECKING:
    from exportlint import Sketch, Value

_VALUES = "compare values, or pass the choice in when the model is built"
_BUILD = "decide it in `__init__`, where the real objects are at hand"
_ADDRESS, _CONSTANT = "`{code}` is an address", ", and becomes a constant of the program"
_STORAGE = frozenset({"untyped_storage", "storage", "_typed_storage"})
_TELLS = frozenset({"print", "warn", "debug", "info", "warning", "error", "critical", "exception", "log", "_check"})
_ASKS = _STORAGE | {"id", "hash", "data_ptr", "storage_offset", "is_set_to"}


class ObjectIdentity(Rule):
    mended_by = ("cloned-first", "computed-anew", "templates", "state-in-buffers", "made-once", "interface")
    exportdb = ("type_reflection_method",)
    graph_breaks = ("GB0088", "GB0141", "GB0176", "GB0191", "GB5976")
    torch_says = (r"Cannot access data pointer of Tensor", r"call_id\(\) with", r"Data pointer comparison")
    cases: ClassVar = {
        "BadId": Case(_ADDRESS, _VALUES, in_program=_CONSTANT),
        "BadIdComputed": Case(_ADDRESS, _VALUES, in_program=_CONSTANT),
        "BadIdLocal": Case(_ADDRESS, _VALUES, in_program=_CONSTANT),
        "BadIdModule": Case(_ADDRESS, _BUILD, in_program=_CONSTANT),
        "BadIdLayer": Case(_ADDRESS, _BUILD, in_program=_CONSTANT),
        "BadIdSelf": Case(_ADDRESS, _BUILD, in_program=_CONSTANT),
        "BadHash": Case("`{code}` is made of an address", _VALUES, in_program=_CONSTANT),
        "BadHashModule": Case("`{code}` is made of an address", _BUILD, in_program=_CONSTANT),
        "BadHashText": Case(
            "`{code}` is another number in each process",
            "compute a number of your own once, in `__init__`, as `zlib.crc32(text.encode())` is",
            in_program=_CONSTANT,
        ),
        "BadIs": Case("`{code}` asks whether two tensors are one object; the sample inputs decide for good", _VALUES),
        "BadTypeIs": Case(
            "`{code}` asks for the exact type of a tensor, which is FakeTensor while it is traced",
            "use `isinstance(…, torch.Tensor)`",
        ),
        "BadTypeKey": Case(
            "`{code}` looks up the exact type of a tensor, which is FakeTensor while it is traced",
            "use `isinstance(…, torch.Tensor)`",
        ),
        "BadTypeName": Case(
            "`{code}` is the name of a tensor's exact type, which is FakeTensor while it is traced",
            "use `isinstance(…, torch.Tensor)`, or text of your own",
        ),
        "BadTypeText": Case(
            "`{code}` makes text of a tensor's exact type, which is FakeTensor while it is traced",
            "use `isinstance(…, torch.Tensor)`, or text of your own",
        ),
        "BadDataPtr": Case("`{code}` is an address", _VALUES),
        "BadDataPtrParameter": Case("`{code}` is an address", _BUILD),
        "BadStoragePtr": Case("`{code}` is an address", _VALUES),
        "BadStorageSize": Case("`{code}` asks for the storage of a tensor", "use `numel()` and `element_size()`"),
        "BadStorageOffset": Case(
            "`{code}` asks for the storage of a tensor", "keep the offset as a number of your own"
        ),
        "BadIsSetTo": Case("`{code}` asks whether two tensors share their storage", _VALUES),
        "BadCacheKey": Case("`{code}` is a cache by tensor objects: no later tensor is the same object", _VALUES),
        "BadInSet": Case("`{code}` looks for the object, not for its value", _VALUES),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is an address, a storage or an exact type asked for, or a tensor looked up as an object?"""
        sketch = code.sketch
        return (
            not _ASKS.isdisjoint(sketch.methods)
            or any(_compares_objects(sketch, node) for node in sketch.nodes(ast.Compare))
            or any(_is_keyed_by_tensor(sketch, node) for node in sketch.nodes(ast.Subscript))
            or any(map(_is_type_of_tensor, sketch.values))
            or any(True for node in sketch.nodes(ast.Compare) if sketch.name(node.comparators[0]) == "torch.Tensor")
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._keys: set[cst.CSTNode] = set()
        self._compared: set[cst.CSTNode] = set()
        self._told = 0  # how many of the nodes around only tell somebody something

    def visit_Raise(self, node: cst.Raise) -> None:
        self._told += 1

    def leave_Raise(self, original_node: cst.Raise) -> None:
        self._told -= 1

    def visit_Assert(self, node: cst.Assert) -> None:
        self._told += 1

    def leave_Assert(self, original_node: cst.Assert) -> None:
        self._told -= 1

    def leave_Call(self, original_node: cst.Call) -> None:
        self._told -= called(original_node) in _TELLS

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """`type(x).__name__`."""
        if node.attr.value in {"__name__", "__qualname__"}:
            self._text_of_type(node, node.value, "BadTypeName")

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        self._text_of_type(node.expression, node.expression, "BadTypeText")

    def _text_of_type(self, node: cst.CSTNode, kind: cst.BaseExpression, case: str) -> None:
        """Text that may decide something: what somebody only reads, and `"Tensor" in …`, is the same in the program."""
        if not self._told and _is_type_of_tensor(self.code.value(kind)):
            self.report(node, case, at_most=Severity.WARNING)

    def visit_Call(self, node: cst.Call) -> None:
        self._told += called(node) in _TELLS
        name = self.code.name(node.func)
        if name in {"builtins.str", "builtins.repr"} and node.args:
            self._text_of_type(node, node.args[0].value, "BadTypeText")
        elif name in {"builtins.id", "builtins.hash"} and node.args and node not in self._keys:
            self._address(node, name, node.args[0].value)
        elif called(node) == "get" and node.args and _is_type_of_tensor(self.code.value(node.args[0].value)):
            self.report(node, "BadTypeKey")
        elif isinstance(node.func, cst.Attribute):
            self._storage(node, node.func)

    def visit_DictElement(self, node: cst.DictElement) -> None:
        """A dict keyed by ids that this call made and reads is the same in the program."""
        self._keys.add(node.key)

    def _address(self, node: cst.Call, name: str, of: cst.BaseExpression) -> None:
        value = self.code.value(of)
        cased = "BadHash" if name.endswith("hash") else "BadId"
        if cased == "BadHash" and _is_of_text(value):
            self.report(node, "BadHashText")
        elif isinstance(of, cst.Name) and of.value == "self":
            self.report(node, "BadHashModule" if cased == "BadHash" else "BadIdSelf")
        elif value.kind is Kind.MODULE:
            alone = cased == "BadId" and node not in self._compared
            self.report(node, "BadIdLayer" if alone else f"{cased}Module")
        elif value.is_tensor:
            made = cased == "BadId" and value.source is Source.COMPUTED
            self.report(node, "BadIdComputed" if made else cased, because=value)
        elif cased == "BadId" and value.kind is Kind.CONTAINER and value.certain and not value.on_self:
            self.report(node, "BadIdLocal", at_most=Severity.WARNING)  # it may be kept to be met again
        elif cased == "BadId" and value.kind in {Kind.UNKNOWN, Kind.INSTANCE, Kind.CONTAINER, Kind.TENSOR}:
            self.report(node, cased, at_most=Severity.WARNING)

    def _storage(self, node: cst.Call, func: cst.Attribute) -> None:
        value = self.code.value(func.value)
        match func.attr.value:
            case "data_ptr" if _of_storage(func.value):
                self.report(node, "BadStoragePtr")
            case "data_ptr" if value.source in {Source.PARAMETER, Source.BUFFER}:
                self.report(node, "BadDataPtrParameter", because=value)
            case "data_ptr":
                self.report(node, "BadDataPtr", because=value)
            case "nbytes" | "size" | "__len__" if _of_storage(func.value):
                self.report(node, "BadStorageSize")
            case "storage_offset" if value.is_tensor:
                self.report(node, "BadStorageOffset", because=value)
            case "is_set_to" if value.is_tensor:
                self.report(node, "BadIsSetTo", because=value)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._compared |= {node.left, *(one.comparator for one in node.comparisons)}
        if len(node.comparisons) != 1:
            return
        operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
        sides = (self.code.value(node.left), self.code.value(right))
        if isinstance(operator, cst.Is | cst.IsNot | cst.Equal | cst.NotEqual | cst.In) and self._exact_type(
            node, right
        ):
            self.report(node, "BadTypeIs")
        elif isinstance(operator, cst.Is | cst.IsNot | cst.Equal | cst.NotEqual) and self._asks_unknown(node, right):
            self.report(node, "BadTypeIs", at_most=Severity.WARNING)
        elif isinstance(operator, cst.Is | cst.IsNot) and all(side.is_tensor for side in sides):
            given = all(side.source is Source.INPUT for side in sides)
            self.report(node, "BadIs", at_most=Severity.WARNING if given else Severity.NOTE, because=sides[0])
        elif isinstance(operator, cst.In | cst.NotIn) and sides[0].is_tensor and sides[1].container in {"set", "dict"}:
            self._sought(node, sides[1])

    def _sought(self, node: cst.Comparison, place: Value) -> None:
        if place.on_self:
            self.report(node, "BadCacheKey")
        else:
            self.report(node, "BadInSet", at_most=Severity.WARNING)

    def _exact_type(self, node: cst.Comparison, right: cst.BaseExpression) -> bool:
        wanted = [e.value for e in right.elements] if isinstance(right, cst.Tuple | cst.List | cst.Set) else [right]
        names = {self.code.name(part) for part in wanted}
        return "torch.Tensor" in names and _is_type_of_tensor(self.code.value(node.left))

    def _asks_unknown(self, node: cst.Comparison, right: cst.BaseExpression) -> bool:
        """`type(x) is torch.Tensor`, of something that is not known: the question tells that it may be one."""
        match node.left:
            case cst.Call(func=cst.Name(value="type"), args=[cst.Arg(value=cst.Name() as asked)]):
                pass
            case cst.Attribute(value=cst.Name() as asked, attr=cst.Name(value="__class__")):
                pass
            case _:
                return False
        open_ = self.code.value(asked).kind in {Kind.UNKNOWN, Kind.TENSOR}
        return open_ and self.code.name(right) == "torch.Tensor"

    def visit_Subscript(self, node: cst.Subscript) -> None:
        match node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=key))] if _is_type_of_tensor(self.code.value(key)):
                self.report(node, "BadTypeKey")
        owner = self.code.value(node.value)
        if owner.container == "dict" and owner.on_self and len(node.slice) == 1:
            index = node.slice[0].slice
            if isinstance(index, cst.Index) and self.code.value(index.value).is_tensor:
                self.report(node, "BadCacheKey", because=self.code.value(index.value))


def _is_of_text(value: Value) -> bool:
    """Is it text or bytes, whose hash Python seeds anew in each process, or a tuple that holds some?"""
    if value.kind is Kind.SCALAR:
        return value.container in {"str", "bytes"} and value.certain
    holds = value.container in {"tuple", "frozenset"} and value.certain
    return holds and any(map(_is_of_text, value.items or ()))


def _is_type_of_tensor(value: Value) -> bool:
    """What `type(x)` gives."""
    return value.kind is Kind.CLASS and value.cls is None and value.name == "torch.Tensor"


def _of_storage(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _STORAGE


def _compares_objects(sketch: Sketch, node: ast.Compare) -> bool:
    if _is_type_of_tensor(sketch.value(node.left)):
        return True
    right = sketch.value(node.comparators[0])
    objects = isinstance(node.ops[0], ast.Is | ast.IsNot) and right.is_tensor
    return sketch.value(node.left).is_tensor and (objects or right.container in {"set", "dict"})


def _is_keyed_by_tensor(sketch: Sketch, node: ast.Subscript) -> bool:
    owner = sketch.value(node.value)
    return owner.container == "dict" and owner.on_self and sketch.value(node.slice).is_tensor

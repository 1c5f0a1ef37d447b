"""Python needs the value of a number that was read from a tensor.

Why: `.item()` and `.tolist()` give symbols. Sums, products, slices and sizes carry a symbol along; what hashes,
orders, counts or converts a number needs its value, which torch does not have while it traces: sets, dicts, `sorted`,
`in`, `list.count`, `divmod`, enums, NumPy, the steps of `range(n)`. So do operations of torch that take a number of
pieces, a dim, a width or a rate. In non-strict mode `isinstance(n, int)` is False for a symbol, and the program goes
the other way without a word.

Instead: stay with tensors, which have an operator for nearly all of this:

    torch.sort(values)                             # instead of sorted(values.tolist())
    (values == 3).sum()                            # instead of values.tolist().count(3)
    torch.pow(2.0, n)                              # instead of 2 ** n.item()
    torch.stack(values)                            # instead of torch.tensor(values), of 0-d tensors
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, Kind, Rule, Severity, called

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exportlint import Called, Sketch, Value

_TENSORS = "stay with tensors: `torch.sort`, `torch.unique`, `torch.isin`, `torch.where`"
_TABLE = "make a table a buffer, and index it with the tensor"
_FIXED = Instead("fix it in the configuration", shown_in="GoodConstants")
_HASHES = "`{code}` hashes a number that was read from a tensor"
_COUNTS = "`{code}` compares each entry, and the entries were read from a tensor"
_ARGUMENT = "`{code}` is given a number that only data knows"
_OF_NUMBER = {
    "builtins.divmod": "BadDivmod",
    "builtins.hash": "BadHash",
    "operator.itemgetter": "BadItemGetter",
    "torch.as_tensor": "BadAsTensor",
}
_OF_LIST = {
    "builtins.sorted": "BadSorted",
    "builtins.dict.fromkeys": "BadFromKeys",
    "torch.as_tensor": "BadAsTensorOfList",
    "statistics.median": "BadMedian",
}
_COUNTED = frozenset({"builtins.len", "builtins.sum", "builtins.list"})
# Where an operation takes a number that it has to know: the place after the tensor, and the keyword.
_KNOWN = {
    "split": (0, "split_size_or_sections", "BadSplit"),
    "chunk": (0, "chunks", "BadChunk"),
    "transpose": (1, "dim1", "BadTranspose"),
    "avg_pool1d": (0, "kernel_size", "BadPoolWidth"),
    "avg_pool2d": (0, "kernel_size", "BadPoolWidth"),
    "max_pool1d": (0, "kernel_size", "BadPoolWidth"),
    "dropout": (0, "p", "BadDropout"),
    "sum": (0, "dim", "BadDim"),
    "cumsum": (0, "dim", "BadDim"),
    "one_hot": (0, "num_classes", "BadClasses"),
    "linspace": (1, "steps", "BadSteps"),
}
_ALSO_SYMBOLS = frozenset({"BadSplit", "BadTranspose", "BadPoolWidth"})  # elsewhere another rule speaks of those


class NumberNeedsValue(Rule):
    mended_by = ("python-numbers", "decide-in-data", "loop-in-data", "numbers-stay-tensors", "number-operator")
    torch_says = (r"unhashable type: non-nested Sym", r"unsupported operand type\(s\) for divmod")
    cases: ClassVar = {
        "BadSorted": Case("`{code}` orders numbers that were read from a tensor", "use `torch.sort`"),
        "BadDivmod": Case("`{code}` divides a number that was read from a tensor", "use `n // d` and `n % d`"),
        "BadHash": Case(_HASHES, Instead(_TENSORS, shown_in="GoodSorted")),
        "BadSet": Case(_HASHES, "use `torch.unique`"),
        "BadDict": Case(_HASHES, _TABLE),
        "BadDictComprehension": Case(_HASHES, _TABLE),
        "BadFromKeys": Case(_HASHES, "use `torch.unique`"),
        "BadEnum": Case("`{code}` looks up an enum by a number that was read from a tensor", _TABLE),
        "BadItemGetter": Case("`{code}` looks up a container by a number that was read from a tensor", _TABLE),
        "BadNumPy": Case("`{code}` gives NumPy a number that was read from a tensor", "use the function of torch"),
        "BadNumPyOfList": Case(
            "`{code}` gives NumPy numbers that were read from a tensor", "use the function of torch"
        ),
        "BadAsTensor": Case("`{code}` makes a tensor of a number that was read", "use `torch.tensor(n)`"),
        "BadAsTensorOfList": Case(
            "`{code}` makes a tensor of numbers that were read",
            Instead("use the tensor itself", shown_in="GoodStacked"),
        ),
        "BadTensorOfTensors": Case("`{code}` makes a tensor of a list of tensors", "use `torch.stack`"),
        "BadPower": Case("`{code}` has a number that was read as its exponent", "use `torch.pow`"),
        "BadIsInstance": Case(
            "`{code}` asks for the class of a number that was read, which is a symbol", "leave the question out"
        ),
        "BadTypeIs": Case(
            "`{code}` asks for the class of a number that was read, which is a symbol", "leave the question out"
        ),
        "BadIn": Case(_COUNTS, "use `(values == x).any()`"),
        "BadCount": Case(_COUNTS, "use `(values == x).sum()`"),
        "BadMedian": Case("`{code}` orders or counts numbers that were read from a tensor", "use `values.median()`"),
        "BadSumOfTests": Case("`{code}` counts by tests of numbers that were read", "use `(values > x).sum()`"),
        "BadRangeLength": Case("`{code}` goes through a range whose end was read from a tensor", "use `torch.arange`"),
        "BadSplit": Case(_ARGUMENT, _FIXED),
        "BadChunk": Case(_ARGUMENT, _FIXED),
        "BadTranspose": Case(_ARGUMENT, _FIXED),
        "BadPoolWidth": Case(_ARGUMENT, _FIXED),
        "BadDropout": Case(_ARGUMENT, _FIXED),
        "BadDim": Case(_ARGUMENT, _FIXED),
        "BadClasses": Case(_ARGUMENT, _FIXED),
        "BadSteps": Case(_ARGUMENT, _FIXED),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is there a number that was read, or a list of them, or a tensor where torch takes a number?"""
        sketch = code.sketch
        if any(value.is_unbacked or (value.container is not None and value.unbacked) for value in sketch.values):
            return True
        listed = _asks_list(sketch) and any(map(_holds_data, sketch.values))
        return listed or any(_may_take_tensor(sketch, call) for call in sketch.calls)

    def visit_Call(self, node: cst.Call) -> None:
        if not node.args or any(arg.star for arg in node.args):
            return
        name, values = self.code.name(node.func) or "", [self.code.value(arg.value) for arg in node.args]
        first = values[0]
        if name in _OF_LIST and _is_judged(name, first):
            self.report(node, _OF_LIST[name], because=first.element or first)
        elif name in _OF_NUMBER and first.is_unbacked:
            self.report(node, _OF_NUMBER[name], because=first)
        elif name.startswith("numpy.") and not name.startswith("numpy.random.") and (given := _first_read(values)):
            self.report(node, "BadNumPy" if given.is_unbacked else "BadNumPyOfList", because=given)
        elif name == "torch.tensor" and _is_list(first) and first.element is not None and first.element.is_tensor:
            self.report(node, "BadTensorOfTensors", because=first.element)
        elif not self._in_python(node, name, first):
            self._of_torch(node, name)

    def _in_python(self, node: cst.Call, name: str, first: Value) -> bool:
        """Is it a call of Python's own, or of the project's?"""
        made = self.code.value(node.func)
        if made.kind is Kind.CLASS and made.cls and first.is_unbacked and _is_enum(made):
            self.report(node, "BadEnum", because=first)
        elif name == "builtins.isinstance" and first.is_unbacked:
            self.report(node, "BadIsInstance", because=first, at_most=Severity.WARNING)
        elif name in _COUNTED and first.container == "range" and first.unbacked:
            self.report(node, "BadRangeLength", because=first)
        elif name == "builtins.sum" and self._counts_tests(node.args[0].value):
            self.report(node, "BadSumOfTests")
        elif called(node) == "count" and isinstance(node.func, cst.Attribute):
            owner = self.code.value(node.func.value)
            if _holds_numbers(owner) or _holds_data(owner):
                self.report(node, "BadCount", because=owner.element or owner)
        return name.startswith("builtins.")

    def _counts_tests(self, given: cst.BaseExpression) -> bool:
        return isinstance(given, cst.GeneratorExp | cst.ListComp) and (
            isinstance(given.elt, cst.Comparison) and self.code.value(given.elt).is_unbacked
        )

    def _of_torch(self, node: cst.Call, name: str) -> None:
        is_function = name.startswith("torch.")
        place, keyword, case = _KNOWN.get(called(node) or "", (0, "", ""))
        owner = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        if not case or not (is_function or (owner is not None and owner.is_tensor)):
            return
        given = [arg.value for arg in node.args if arg.keyword is None][place + is_function :][:1]
        given += [arg.value for arg in node.args if arg.keyword and arg.keyword.value == keyword]
        for value in map(self.code.value, given):
            if value.is_tensor or (value.is_unbacked and case in _ALSO_SYMBOLS):
                self.report(node, case, because=value)

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        read = self.code.value(node.right).is_unbacked and self.code.value(node.left).kind is Kind.SCALAR
        if read and isinstance(node.operator, cst.Power):
            self.report(node, "BadPower", because=self.code.value(node.right), at_most=Severity.WARNING)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        if len(node.comparisons) != 1:
            return
        operator, right = node.comparisons[0].operator, self.code.value(node.comparisons[0].comparator)
        sought = isinstance(operator, cst.In | cst.NotIn) and not self.code.value(node.left).is_data
        if sought and _holds_data(right):
            self.report(node, "BadIn", because=right.element or right)
        match node.left:
            case cst.Call(func=cst.Name(value="type"), args=[cst.Arg(value=asked)]):
                if self.code.value(asked).is_unbacked:
                    self.report(node, "BadTypeIs", because=self.code.value(asked), at_most=Severity.WARNING)

    def visit_Set(self, node: cst.Set) -> None:
        self._hashed(node, (element.value for element in node.elements), "BadSet")

    def visit_SetComp(self, node: cst.SetComp) -> None:
        self._hashed(node, (node.elt,), "BadSet")

    def visit_Dict(self, node: cst.Dict) -> None:
        self._hashed(node, (e.key for e in node.elements if isinstance(e, cst.DictElement)), "BadDict")

    def visit_DictComp(self, node: cst.DictComp) -> None:
        self._hashed(node, (node.key,), "BadDictComprehension")

    def _hashed(self, node: cst.CSTNode, keys: Iterable[cst.BaseExpression], case: str) -> None:
        if read := next((value for value in map(self.code.value, keys) if value.is_unbacked), None):
            self.report(node, case, because=read)


def _is_list(value: Value) -> bool:
    return value.container in {"list", "tuple"} and value.certain


def _holds_numbers(value: Value) -> bool:
    """A list of which one entry at least was read from a tensor."""
    parts = (*(value.items or ()), *((value.element,) if value.element is not None else ()))
    return _is_list(value) and any(part.is_unbacked for part in parts)


def _is_judged(name: str, value: Value) -> bool:
    """`sorted` of a list that holds nothing else than data is another rule's business."""
    if name == "builtins.sorted":
        return _holds_numbers(value) and not _holds_data(value)
    return _holds_numbers(value) or (_holds_data(value) and not name.endswith("fromkeys"))


def _holds_data(value: Value) -> bool:
    return _is_list(value) and value.element is not None and value.element.is_data


def _first_read(values: Iterable[Value]) -> Value | None:
    return next((value for value in values if value.is_unbacked or _holds_numbers(value)), None)


def _is_enum(made: Value) -> bool:
    return made.cls is not None and any(base.startswith("enum.") for base in made.cls.foreign_bases)


def _asks_list(sketch: Sketch) -> bool:
    """Is there something that orders, hashes, counts or converts the elements of a list?"""
    names = {"torch.tensor", *_OF_LIST}
    return (
        not sketch.origins.isdisjoint(names)
        or "count" in sketch.methods
        or any(name.startswith("numpy.") for name in sketch.origins)
        or any(isinstance(sign, ast.In | ast.NotIn) for node in sketch.nodes(ast.Compare) for sign in node.ops)
    )


def _may_take_tensor(sketch: Sketch, call: Called) -> bool:
    if call.method not in _KNOWN:
        return False
    place, keyword, _ = _KNOWN[call.method]
    is_function = call.origin.startswith("torch.")
    if not is_function and (call.owner is None or not sketch.value(call.owner).is_tensor):
        return False
    given = call.node.args[place + is_function :][:1]
    named = (word.value for word in call.node.keywords if word.arg == keyword)
    return any(sketch.value(part).is_tensor for part in (*given, *named))

"""A tensor's value is needed as a concrete Python number.

Why: `.item()` and `.tolist()` of whole numbers give symbols that export carries along: slices, sizes, `split`, `arange`
and arithmetic are fine in torch 2.13. What needs the number itself is refused: `range()`, a repetition of a
list, the index of a Python list or a `ModuleList`, a dict key, a set or a `Counter`, a dim, a number of chunks,
`math.log`. `int()` and `float()` are refused in non-strict mode and mostly accepted in strict mode. A tensor indexed
with a 0-d tensor is the other way round: strict mode wants a number there.

Instead: keep it a tensor. A table becomes a buffer, a choice of layers a selection from their stacked results:

    self.scales[n.reshape(1)]                                   # instead of {1: 0.5, 2: 1.5}[n.item()]
    torch.stack([head(x) for head in self.heads]).index_select(0, n.reshape(1)).squeeze(0)
    torch.sqrt(x.sum())                                         # instead of math.sqrt(x.sum())
    x[: n.item()]                                               # instead of x[: int(n)]
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, Kind, Rule, Severity, called, of_a_size

if TYPE_CHECKING:
    from exportlint import Called, Sketch, Value

_ITEM = Instead(
    "use `.item()`, which gives a symbol, or stay with tensors (`.long()`, `.float()`)",
    shown_in="GoodTypeConversion",
    compiled="stay with tensors (`.long()`, `.float()`)",
)
_TENSOR = "stay with tensors"
_TABLE = Instead("make the table a buffer and index it with `index.reshape(1)`", shown_in="GoodTableLookup")
_HEADS = Instead(
    "run all layers and take one row: `torch.stack(outs).index_select(0, index.reshape(1))`",
    shown_in="GoodStackedHeads",
)
_NUMBER = "`{code}` needs the value of a tensor as a Python number"
_KEYED = "`{code}` looks up a Python container by a number that was read from a tensor"
_BUILTINS = {"int": "BadInt", "float": "BadFloat", "complex": "BadComplex"}
_PYTHON = frozenset(
    {f"builtins.{name}" for name in (*_BUILTINS, "range", "set", "frozenset")} | {"collections.Counter"}
)
_DIM_OPS = frozenset(
    {"sum", "mean", "amax", "amin", "argmax", "argmin", "softmax", "log_softmax", "cat", "stack", "norm"}
)
_DIM_OPS |= frozenset({"squeeze", "unsqueeze", "cumsum", "prod", "flatten", "unbind", "index_select", "gather"})
_TRACED_MATH = frozenset({"ceil", "floor", "trunc", "prod", "pi", "inf"})
_WHOLE = frozenset({"argmax", "argmin", "sum", "max", "min", "mean", "prod", "median", "count_nonzero"})
_LAYERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict")


class TensorAsPythonNumber(Rule):
    mended_by = (
        "printed-by-program",
        "effect-operator",
        "ordered-in-data",
        "python-numbers",
        "templates",
        "padded-rows",
        "decide-in-data",
        "loop-in-data",
        "numbers-stay-tensors",
        "listed-in-init",
    )
    exportdb = ("scalar_output", "constrain_as_value_example")
    graph_breaks = ("GB0109", "GB0281")
    torch_says = (
        r"Could not extract specialized integer from data-dependent expression",
        r"Could not guard on data-dependent expression zuf\d",
        r"unhashable type: non-nested Sym",
        r"Tensor\.tolist\(\) with non-integer tensor",
    )
    cases: ClassVar = {
        "BadInt": Case(
            "`{code}` makes a Python int of a tensor",
            _ITEM,
        ),
        "BadIntOfItem": Case(
            "`{code}` makes a Python int of a number that was read from a tensor", "leave `int()` out"
        ),
        "BadFloat": Case(
            "`{code}` makes a Python float of a tensor",
            _ITEM,
        ),
        "BadFloatOfItem": Case(
            "`{code}` makes a Python float of a number that was read from a tensor",
            Instead(_TENSOR, shown_in="GoodTypeConversion"),
        ),
        "BadComplex": Case("`{code}` makes a Python complex of a tensor", "use `torch.complex`"),
        "BadRange": Case("`{code}` counts to the value of a tensor", "loop a fixed number of times and mask"),
        "BadRepeat": Case("`{code}` repeats a list as often as a tensor says", "use `expand` or `repeat_interleave`"),
        "BadDictKey": Case(_KEYED, _TABLE),
        "BadDictGet": Case(_KEYED, _TABLE),
        "BadInSet": Case(_KEYED, "use `torch.isin`"),
        "BadListIndex": Case(_KEYED, _TABLE),
        "BadListIndexTensor": Case("`{code}` looks up a Python list by a tensor", _TABLE),
        "BadModuleList": Case("`{code}` chooses a layer by a number that was read from a tensor", _HEADS),
        "BadModuleListTensor": Case("`{code}` chooses a layer by a tensor", _HEADS),
        "BadArgmaxIndex": Case(
            "`{code}` indexes with a 0-d tensor, which strict mode wants as a number",
            Instead(
                "use `index_select(0, index.reshape(1))`, or non-strict mode",
                shown_in="GoodIndexSelect",
                compiled="use `index_select(0, index.reshape(1))`",
            ),
        ),
        "BadMath": Case(
            "`{code}` computes on a tensor in Python",
            Instead("use the torch function of the same name", shown_in="GoodTorchMath"),
        ),
        "BadMathItem": Case(
            "`{code}` computes on a number that was read from a tensor",
            Instead("compute with torch", shown_in="GoodTorchMath"),
        ),
        "BadMathLog": Case(
            "`{code}` computes on a number that was read from a tensor",
            Instead("compute with torch", shown_in="GoodTorchMath"),
        ),
        "BadCounter": Case("`{code}` uses the values of a tensor as keys", "use `torch.bincount`"),
        "BadSetOfValues": Case("`{code}` uses the values of a tensor as keys", "use `torch.unique`"),
        "BadItemInterpolate": Case(
            "`{code}` scales by a number that was read", "give `size=` instead of `scale_factor=`"
        ),
        "BadChunk": Case("`{code}` cuts into as many pieces as a tensor says", "cut into a fixed number"),
        "BadOneHot": Case("`{code}` counts the classes by the largest value", "say `num_classes=`"),
        "BadIndexList": Case(
            "`{code}` indexes with a list of numbers that were read",
            Instead("index with the tensor itself", shown_in="GoodVectorIndex"),
        ),
        "BadDimItem": Case("`{code}` takes its dim from a tensor", "fix the dim in the configuration"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is data handed to Python's own functions or used as a key, or a number that was read used as an argument?"""
        sketch = code.sketch
        return (
            any(_takes_number(sketch, call) for call in sketch.calls)
            or any(_looks_up(sketch, node) for node in sketch.nodes(ast.Subscript))
            or any(_repeats(sketch, node) for node in sketch.nodes(ast.BinOp))
            or any(sketch.value(node.left).is_unbacked for node in sketch.nodes(ast.Compare))
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._written: set[cst.CSTNode] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._written.add(node.target)

    def visit_Raise(self, node: cst.Raise) -> bool:
        return False

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if not node.args or node.args[0].star:
            return
        first = self.code.value(node.args[0].value)
        match name.rpartition("."):
            case ("builtins", _, builtin) if builtin in _BUILTINS:
                self._converted(node, _BUILTINS[builtin], first)
            case ("builtins", _, "range"):
                self._range(node)
            case ("builtins", _, "set" | "frozenset") | ("collections", _, "Counter"):
                self._keys(node, first, "BadCounter" if name.endswith("Counter") else "BadSetOfValues")
            case ("math", _, function) if function not in _TRACED_MATH or first.is_tensor:
                self._math(node, function)
            case _:
                self._torch_call(node, name)

    def _converted(self, node: cst.Call, case: str, first: Value) -> None:
        if first.is_tensor:
            self.report(node, case, because=first)
        elif first.is_unbacked and case != "BadComplex":
            at_most = Severity.WARNING if of_a_size(self.code, node, first) else Severity.ERROR
            self.report(node, f"{case}OfItem", at_most=at_most, because=first)

    def _range(self, node: cst.Call) -> None:
        values = [self.code.value(arg.value) for arg in node.args]
        tensor = next((value for value in values if value.is_tensor), None)
        if tensor:
            self.report(node, "BadRange", because=tensor)

    def _keys(self, node: cst.Call, first: Value, case: str) -> None:
        if first.kind is Kind.CONTAINER and first.element is not None and first.element.is_unbacked:
            self.report(node, case, because=first)

    def _math(self, node: cst.Call, function: str) -> None:
        for arg in node.args:
            value = self.code.value(arg.value)
            if value.is_tensor:
                self.report(node, "BadMath", because=value)
                return
            if value.is_unbacked and not of_a_size(self.code, arg.value, value):
                self.report(node, "BadMathLog" if function.startswith("log") else "BadMathItem", because=value)
                return

    def _torch_call(self, node: cst.Call, name: str) -> None:
        method = called(node) or ""
        words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
        given = [arg.value for arg in node.args if not arg.keyword]
        is_method = isinstance(node.func, cst.Attribute) and not name.startswith("torch.")
        owner = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        if method == "get" and owner and owner.kind is Kind.CONTAINER and self._read(given[:1]):
            self.report(node, "BadDictGet", because=self._read(given[:1]))
        elif method == "interpolate" and self._read([words[key] for key in words if key == "scale_factor"]):
            self.report(node, "BadItemInterpolate")
        elif name.startswith("torch.nn.functional") and method == "one_hot" and len(node.args) == 1:
            if self.code.value(node.args[0].value).is_tensor:
                self.report(node, "BadOneHot", because=self.code.value(node.args[0].value))
        elif is_method and not (owner and owner.is_tensor):
            return
        elif method == "chunk" and self._read([*given[0 if is_method else 1 :][:1], *words.values()]):
            self.report(node, "BadChunk")
        elif method in _DIM_OPS and self._read(
            [*given[0 if is_method else 1 :][:1], *(words[k] for k in ("dim",) if k in words)]
        ):
            self.report(node, "BadDimItem")

    def _read(self, nodes: list[cst.BaseExpression]) -> Value | None:
        return next((value for value in map(self.code.value, nodes) if value.is_unbacked), None)

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if isinstance(node.operator, cst.Multiply):
            for listed, times in ((node.left, node.right), (node.right, node.left)):
                value = self.code.value(times)
                held = self.code.value(listed)
                if held.container in {"list", "tuple"} and held.certain and value.is_data:
                    self.report(node, "BadRepeat", because=value)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        """Sets and dicts hash what they are asked for."""
        if len(node.comparisons) == 1 and isinstance(node.comparisons[0].operator, cst.In | cst.NotIn):
            place, sought = self.code.value(node.comparisons[0].comparator), self.code.value(node.left)
            if place.container in {"set", "frozenset", "dict"} and sought.is_unbacked:
                self.report(node, "BadInSet", because=sought)

    def visit_Subscript(self, node: cst.Subscript) -> None:
        self._index_list(node)
        if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return
        index = node.slice[0].slice.value
        value, owner = self.code.value(index), self.code.value(node.value)
        if owner.is_tensor:
            if node not in self._written:
                self._tensor_index(node, index, value)
        elif owner.kind is Kind.MODULE or (owner.cls is None and (owner.name or "").endswith(_LAYERS)):
            case = "BadModuleListTensor" if value.is_tensor else "BadModuleList"
            if value.is_data:
                self.report(node, case, because=value)
        elif owner.kind is Kind.CONTAINER and value.is_data:
            self._lookup(node, owner, value)
        elif owner.kind is Kind.CONTAINER and owner.container != "list" and _of_numbers(value):
            self.report(node, "BadDictKey", because=value.element)

    def _index_list(self, node: cst.Subscript) -> None:
        indices = (self.code.value(part.slice.value) for part in node.slice if isinstance(part.slice, cst.Index))
        held = next((v for v in indices if v.kind is Kind.CONTAINER and v.element is not None), None)
        read = held.element if held is not None else None
        # A tuple of tensors is several indices.
        judged = read is not None and (
            read.is_unbacked or (read.is_tensor and held is not None and held.container == "list")
        )
        if judged and self.code.value(node.value).is_tensor:
            self.report(node, "BadIndexList", because=read)

    def _lookup(self, node: cst.Subscript, owner: Value, value: Value) -> None:
        if value.is_unbacked:
            self.report(node, "BadDictKey" if owner.container == "dict" else "BadListIndex", because=value)
        elif owner.container in {"list", "tuple"}:
            self.report(node, "BadListIndexTensor", because=value)

    def _tensor_index(self, node: cst.Subscript, index: cst.BaseExpression, value: Value) -> None:
        """Only a full reduction is known to be 0-d. An input may be, and reading the code does not tell."""
        if not value.is_tensor or value.boolean:
            return
        if isinstance(index, cst.Call) and called(index) in _WHOLE and isinstance(index.func, cst.Attribute):
            torch_function = (self.code.name(index.func) or "").startswith("torch.")
            if len(index.args) == (1 if torch_function else 0):
                self.report(node, "BadArgmaxIndex", because=value)


def _of_numbers(value: Value) -> bool:
    """`tuple(x.tolist())`."""
    return value.container == "tuple" and value.element is not None and value.element.is_unbacked


def _takes_number(sketch: Sketch, call: Called) -> bool:
    python = call.origin in _PYTHON or call.origin.startswith("math.")
    values = (sketch.value(arg) for arg in call.arguments)
    return call.method == "one_hot" or any(
        value.is_unbacked or (python and (value.is_data or value.kind is Kind.CONTAINER)) for value in values
    )


def _looks_up(sketch: Sketch, node: ast.Subscript) -> bool:
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)
    values = [sketch.value(index) for index in indices]
    if any(value.element is not None and value.element.is_data for value in values):
        return True
    if sketch.value(node.value).is_tensor:
        return isinstance(node.slice, ast.Call) and values[0].is_tensor
    return any(value.is_data for value in values)


def _repeats(sketch: Sketch, node: ast.BinOp) -> bool:
    values = (sketch.value(node.left), sketch.value(node.right))
    return any(v.is_data for v in values) and any(v.kind is Kind.CONTAINER for v in values)

"""A function of Python's library, or a question about a tensor, that strict mode does not follow.

Why: strict mode runs the bytecode of forward itself, and knows only a part of Python's library: `bisect`, `heapq`,
`statistics.mean`, `cmath`, dates, byte strings, matches of a regular expression one by one and some others are refused,
although they compute with plain numbers. So are questions that torch answers with a Python value (`x.is_pinned()`,
`torch.can_cast`). Non-strict mode runs them while exporting and keeps the answer, which is right as long as it depends
on nothing but sizes and options.

Instead: compute it in `__init__` and keep the result, or write it with what strict mode knows: `math`, comprehensions,
`sorted(key=…)` with a plain key.

    self.edges = [bisect.bisect(steps, n) for n in range(limit)]     # in __init__
    total / len(values)                                              # instead of statistics.mean(values)

Non-strict mode, the default, runs such functions as they are, unless they ask for the number in a tensor: then the
rewrite lets torch answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Rule, called

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Called, Code, Sketch, Value

_INIT = "do it in `__init__` and keep the result"
_BY_NAME = {
    "BadKeyFunction": "functools.cmp_to_key",
    "BadStatistics": ("statistics.mean statistics.stdev statistics.pstdev statistics.variance statistics.mode"),
    "BadBisect": "bisect.bisect bisect.bisect_left bisect.bisect_right bisect.insort",
    "BadHeap": (
        "heapq.heappush heapq.heappop heapq.heapify heapq.heappushpop heapq.heapreplace heapq.merge heapq.nlargest"
        " heapq.nsmallest"
    ),
    "BadComplexMath": "cmath.exp cmath.sqrt cmath.phase cmath.polar cmath.rect",
    "BadDecimal": "decimal.Decimal",
    "BadTypedArray": "array.array",
    "BadBytes": "builtins.bytearray builtins.memoryview",
    "BadNamespace": "types.SimpleNamespace",
    "BadBoundMethod": "types.MethodType",
    "BadDate": "datetime.datetime datetime.timedelta",
    "BadTranslation": "builtins.str.maketrans",
    "BadTemplate": "string.Template",
    "BadPattern": "fnmatch.fnmatch",
    "BadPrettyPrint": "pprint.pformat",
    "BadUnicode": "unicodedata.normalize",
    "BadCharacterSet": "urllib.parse.quote",
    "BadTable": "csv.reader configparser.ConfigParser",
    "BadThreadLocal": "threading.local contextvars.ContextVar",
    "BadDispatch": "functools.singledispatch",
    "BadWorker": "torch.utils.data.get_worker_info",
    "BadTypeQuestion": "torch.can_cast torch.result_type",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_QUESTIONS = frozenset({"is_pinned", "is_shared", "is_same_size", "is_conj"})
# method -> what makes its object -> the case
_METHODS_OF = {
    "finditer": {"re.compile": "BadMatches"},
    "most_common": {"collections.Counter": "BadMostCommon"},
    "rotate": {"collections.deque": "BadRotate"},
    "get": {"contextvars.ContextVar": "BadContextRead"},
    "set": {"contextvars.ContextVar": "BadContextWrite"},
}


class UntracedLibrary(Rule):
    mended_by = ("numbers-stay-tensors", "number-operator")
    torch_says = (r"constant-like method call with unsupported return type",)
    cases: ClassVar = {
        "BadKeyFunction": Case("`{code}` makes a key out of a comparison", "sort by a key"),
        "BadStatistics": Case("`{code}` is a statistic in Python", "write it with `sum`, `len` and `math`"),
        "BadBisect": Case("`{code}` searches a sorted list", "use `torch.bucketize`, or do it in `__init__`"),
        "BadHeap": Case("`{code}` keeps a heap", "use `sorted`, or `torch.topk` on a tensor"),
        "BadComplexMath": Case("`{code}` computes with complex Python numbers", _INIT),
        "BadDecimal": Case("`{code}` makes a decimal number", "use a float"),
        "BadTypedArray": Case("`{code}` makes a typed array", "use a list"),
        "BadBytes": Case("`{code}` makes a byte string", _INIT),
        "BadNamespace": Case("`{code}` makes an object", "use a dataclass, a NamedTuple or a dict"),
        "BadBoundMethod": Case("`{code}` binds a method", _INIT),
        "BadDate": Case("`{code}` computes with dates", _INIT),
        "BadTranslation": Case("`{code}` makes a translation table", _INIT),
        "BadTemplate": Case("`{code}` fills a template", "use an f-string"),
        "BadPattern": Case("`{code}` compares with a file pattern", _INIT),
        "BadPrettyPrint": Case("`{code}` formats a Python object", _INIT),
        "BadUnicode": Case("`{code}` normalises text", _INIT),
        "BadCharacterSet": Case("`{code}` encodes text", _INIT),
        "BadTable": Case("`{code}` reads a table", _INIT),
        "BadThreadLocal": Case("`{code}` makes a variable of a thread or a context", _INIT),
        "BadContextRead": Case("`{code}` reads a variable of the context", "pass the value to forward"),
        "BadContextWrite": Case(
            "`{code}` sets a variable of the context", "return the value", in_program=" once, while tracing"
        ),
        "BadDispatch": Case("`{code}` makes a function that chooses by type", "decorate at the top of the file"),
        "BadWorker": Case("`{code}` asks for the worker of a data loader", "ask outside of the model"),
        "BadTypeQuestion": Case("`{code}` is answered in Python", "write the dtype out"),
        "BadTensorQuestion": Case("`{code}` is answered in Python", "leave the question out of forward"),
        "BadMatches": Case("`{code}` goes through the matches of a regular expression", "use `findall`, or split once"),
        "BadMostCommon": Case("`{code}` sorts a `Counter`", "use `sorted(counter.items(), key=…)`"),
        "BadRotate": Case("`{code}` turns a deque", "use slices: `items[-n:] + items[:-n]`"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called?"""
        sketch = code.sketch
        return not sketch.origins.isdisjoint(_CASE_OF) or any(_case_of_method(sketch, call) for call in sketch.calls)

    def visit_Call(self, node: cst.Call) -> None:
        name, method = self.code.name(node.func) or "", called(node) or ""
        if name in _CASE_OF and name.endswith(f".{method}"):  # else it may be a variable that holds the result
            self.report(node, _CASE_OF[name])
        elif case := _of_method(method, self.code.value(getattr(node.func, "value", node.func))):
            self.report(node, case)


def _of_method(method: str, owner: Value) -> str | None:
    if method in _QUESTIONS:
        return "BadTensorQuestion" if owner.is_tensor else None
    return _METHODS_OF.get(method, {}).get(owner.name or "")


def _case_of_method(sketch: Sketch, call: Called) -> str | None:
    return _of_method(call.method, sketch.value(call.owner)) if call.owner is not None else None

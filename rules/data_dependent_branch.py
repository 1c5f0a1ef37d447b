"""Python asks for the truth of a tensor, which has no value while it is traced.

Why: `if`, `while`, `not`, `and`, `or`, a chained comparison, `bool()`, `in`, and the builtins `all`, `any`,
`min(key=…)` and `sorted` need a Python bool. A traced tensor has no values, and one program cannot hold both ways, so
torch 2.13 refuses in both modes. An `assert` on a tensor is kept as a run-time assertion in strict mode, as long as it
is one plain test, and is refused in non-strict mode. An `assert` without a message on one comparison of a number that
was read (`assert n <= 9`) exports in both. The checks of `torch.distributions` are such tests too. Of the builtins,
`max(a, b)` and `min(a, b)` of tensors export: they become `maximum` and `minimum`.

Instead: compute both sides and select,

    torch.where(x.sum() > 0, x * 2, x - 1)

keep both branches in the program,

    torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,))

join tests with `&`, `|`, `~`, check values with `torch._assert_async(test, "message")`, and build distributions
with `validate_args=False`. A flag that only the configuration sets belongs in a Python attribute, not in a buffer.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Asked, Case, Code, Instead, Kind, Severity, Source, TruthRule, called, of_a_size, walked

if TYPE_CHECKING:
    from exportlint import Called, Sketch, Value

_SELECT = Instead(
    "compute both sides and select with `torch.where`, or keep both in the program with `torch.cond`",
    shown_in="GoodWhere",
)
_JOIN = Instead("join the tests with `&`, `|` and `~`, and select with `torch.where`", shown_in="GoodLogical")
_CHECK = Instead(
    "use `torch._assert_async(test, message)` with a tensor as the test, or leave the check to the caller",
    shown_in="GoodAssertAsync",
)
_ORDER = Instead("stack the tensors and use `torch.argmin`, `torch.sort` or `torch.topk`", shown_in="GoodArgmin")
_DATA_OR_CONSTANT = frozenset({Kind.TENSOR, Kind.UNBACKED, Kind.SCALAR, Kind.NONE})
_VALIDATE = "pass `validate_args=False`"
_BRANCHES = "`{code}` decides on the value of a tensor"
_FORMS = {
    "while": "BadWhile",
    "assert": "BadAssert",
    "assert-part": "BadAssertParts",
    "assert-message": "BadAssertMessage",
    "raise": "BadIfRaise",
    "ternary": "BadTernary",
    "not": "BadNot",
    "and": "BadAnd",
    "or": "BadOr",
    "comprehension": "BadComprehensionIf",
    "guard": "BadMatchGuard",
    "chained": "BadChained",
}
_CHECKS = frozenset({"assert", "assert-part", "assert-message", "raise"})
_COMPARED = {"equal": "BadEqual", "allclose": "BadAllclose", "is_nonzero": "BadIsNonzero"}
_ORDERING = frozenset(f"builtins.{name}" for name in ("bool", "all", "any", "min", "max", "sorted", "filter"))
_ON_PYTHON = ("shape", "size", "len", "dim", "ndim", "numel", "str", "int")
_NO_CHECK = "set_default_validate_args"
_FUNCTIONS = frozenset({"kl_divergence", "register_kl"})


class DataDependentBranch(TruthRule):
    mended_by = (
        "ordered-in-data",
        "effect-operator",
        "decide-in-data",
        "loop-in-data",
        "numbers-stay-tensors",
        "templates",
        "listed-in-init",
        "state-in-buffers",
    )
    exportdb = ("cond_predicate", "dynamic_shape_if_guard")
    graph_breaks = ("GB0170", "GB0035", "GB0034", "GB0207")
    torch_says = (
        r"Could not guard on data-dependent expression",
        r"Data-dependent branching",
        r"aten\.(equal|allclose|is_nonzero)",
    )
    cases: ClassVar = {
        "BadIf": Case("`{code}` branches on the value of a tensor", _SELECT),
        "BadIfRaise": Case("`{code}` raises on the value of a tensor", _CHECK),
        "BadIfItem": Case("`{code}` branches on a number that was read from a tensor", _SELECT),
        "BadIfFlagBuffer": Case(
            "`{code}` is a buffer, a tensor; the branch depends on its value",
            Instead(
                "keep a flag that forward does not change as a Python attribute, or select with `torch.where`",
                shown_in="GoodFlagAttribute",
            ),
        ),
        "BadWhile": Case(
            "`{code}` ends the loop on the value of a tensor",
            "loop a fixed number of times and mask with `torch.where`, or use `while_loop`",
        ),
        "BadAssert": Case("`{code}` asserts on the value of a tensor", _CHECK),
        "BadAssertParts": Case("`{code}` asserts on the value of a tensor", _CHECK),
        "BadAssertMessage": Case("`{code}` asserts on the value of a tensor, with a message that is computed", _CHECK),
        "BadTorchAssert": Case("`{code}` asks the tensor for a Python bool", _CHECK),
        "BadTernary": Case(_BRANCHES, _SELECT),
        "BadNot": Case(
            "`not` needs the truth of the tensor `{code}`",
            Instead("use `~`, or `torch.logical_not`", shown_in="GoodLogical"),
        ),
        "BadAnd": Case("`and` needs the truth of the tensor `{code}`", _JOIN),
        "BadOr": Case("`or` needs the truth of the tensor `{code}`", _JOIN),
        "BadAndAfterFlag": Case("where the tests before it let it through, `{code}` branches on a tensor", _SELECT),
        "BadChained": Case("the chained comparison `{code}` asks a tensor for a Python bool", _JOIN),
        "BadBool": Case(
            "`{code}` makes a Python bool of a tensor",
            Instead("keep it a tensor, and select with `torch.where`", shown_in="GoodWhere"),
        ),
        "BadAll": Case(
            "`{code}` needs the truth of each tensor",
            Instead("use `torch.stack(…).all()` and `torch.where`", shown_in="GoodWhere"),
        ),
        "BadAny": Case(
            "`{code}` needs the truth of each tensor",
            Instead("use `torch.stack(…).any()` and `torch.where`", shown_in="GoodWhere"),
        ),
        "BadMinKey": Case("`{code}` compares tensors to choose one", _ORDER),
        "BadMaxRows": Case(
            "`{code}` compares the entries of a tensor in Python",
            Instead("use the method: `x.max()`, `x.min()`", shown_in="GoodMax"),
        ),
        "BadOnOnePath": Case("`{code}` is a tensor on one path, and is branched on", _SELECT),
        "BadMaxItem": Case(
            "`{code}` compares a number that was read from a tensor",
            Instead("stay with tensors: `torch.clamp`, `torch.maximum`", shown_in="GoodClamp"),
        ),
        "BadSorted": Case("`{code}` compares tensors to order them", _ORDER),
        "BadSortedKey": Case("`{code}` orders by a key that is made of tensors", _ORDER),
        "BadSort": Case("`{code}` compares tensors to order them", _ORDER),
        "BadGroupBy": Case(
            "`{code}` compares values that were read from a tensor", "compare neighbours: `x[1:] != x[:-1]`"
        ),
        "BadIn": Case(
            "`{code}` looks a value up in a tensor",
            Instead("use `(x == value).any()` and `torch.where`", shown_in="GoodWhere"),
        ),
        "BadInList": Case(
            "`{code}` compares a tensor with each entry",
            Instead("use `torch.isin` and `torch.where`", shown_in="GoodIsin"),
        ),
        "BadListIndex": Case(
            "`{code}` compares each entry with a tensor", "use `(table == value).nonzero()` or `argmax`"
        ),
        "BadMatch": Case("`match {code}` compares a tensor with the patterns", _SELECT),
        "BadMatchGuard": Case(_BRANCHES, _SELECT),
        "BadEqual": Case(
            "`{code}` gives a Python bool", Instead("use `(x == y).all()` and `torch.where`", shown_in="GoodWhere")
        ),
        "BadAllclose": Case(
            "`{code}` gives a Python bool",
            Instead("use `torch.isclose(x, y).all()` and `torch.where`", shown_in="GoodWhere"),
        ),
        "BadIsNonzero": Case(
            "`{code}` gives a Python bool", Instead("use `x != 0` and `torch.where`", shown_in="GoodWhere")
        ),
        "BadComprehensionIf": Case(
            "`{code}` drops entries by the value of a tensor", Instead("keep all, and mask", shown_in="GoodWhere")
        ),
        "BadFilter": Case(
            "`{code}` drops entries by the value of a tensor", Instead("keep all, and mask", shown_in="GoodWhere")
        ),
        "BadDistribution": Case("`{code}` checks its arguments, which are tensors", _VALIDATE),
        "BadStandardNormal": Case("`{code}` checks its arguments", _VALIDATE),
        "BadLogProb": Case(
            "`{code}` checks the value it is given", "build the distribution with `validate_args=False`"
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is anything asked for its truth, compared or ordered that is, or holds, data?"""
        sketch = code.sketch
        return (
            super().concerns(code)
            or any(sketch.holds_data([n.left, *n.comparators]) for n in sketch.nodes(ast.Compare) if _needs_truth(n))
            or any(sketch.value(node.subject).is_data for node in sketch.nodes(ast.Match))
            or any(_may_need_truth(sketch, call) for call in sketch.calls)
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._kept: cst.BaseExpression | None = None

    def visit_Assert(self, node: cst.Assert) -> None:
        last = _last(node.test)
        self._kept = last if node.msg is None and not _is_chain(last) else None
        super().visit_Assert(node)

    def asked(self, asked: Asked) -> None:
        if asked.node is self._kept and self.code.value(asked.node).is_unbacked:
            return  # measured: without a message, torch sees that only an AssertionError depends on it, and goes on
        if asked.form == "chained":
            self._chained(asked.node)
            return
        value = self.code.value(asked.node)
        if value.is_unbacked and self.checked.decide(asked.node):
            return  # measured: what `torch._check` said decides it
        if self.guarded(asked) or (value.is_unbacked and of_a_size(self.code, asked.node, value)):
            return
        if (
            not self._is_own(asked.node)
            and _may_decide(value)
            and not any(self.code.value(test.node).is_data for test in asked.before)
        ):
            case, at_most = self._case(asked, value)
            self.report(asked.node, case, at_most=at_most, because=value)

    def _case(self, asked: Asked, value: Value) -> tuple[str, Severity]:
        if asked.form in _CHECKS:
            return _FORMS[asked.form], Severity.ERROR if value.is_data and not asked.before else Severity.WARNING
        if asked.before:
            return "BadAndAfterFlag", Severity.WARNING
        if not value.is_data:
            return "BadOnOnePath", Severity.WARNING
        plain = isinstance(asked.node, cst.Name | cst.Attribute)
        if asked.form == "if" and plain and value.source is Source.BUFFER:
            return "BadIfFlagBuffer", Severity.ERROR
        if asked.form == "if" and value.is_unbacked:
            return "BadIfItem", Severity.ERROR
        return _FORMS.get(asked.form, "BadIf"), Severity.ERROR

    def _is_own(self, node: cst.BaseExpression) -> bool:
        """Is the expression itself reported, whoever asks for its truth?"""
        match node:
            case cst.Call():
                name = self.code.name(node.func) or ""
                own = {"builtins.bool", "builtins.all", "builtins.any", "builtins.min", "builtins.max"}
                return name in own or called(node) in _COMPARED
            case cst.Comparison(comparisons=[only]):
                return isinstance(only.operator, cst.In | cst.NotIn)
            case cst.Comparison():
                self._chained(node)
                return True
        return False

    def _chained(self, node: cst.BaseExpression) -> None:
        if isinstance(node, cst.Comparison):
            parts = [node.left, *(part.comparator for part in node.comparisons)]
            identity = any(isinstance(part.operator, cst.Is | cst.IsNot | cst.In) for part in node.comparisons)
            values = [self.code.value(part) for part in parts]
            data = [v for v, part in zip(values, parts, strict=True) if v.is_data and not of_a_size(self.code, part, v)]
            if data and not identity:
                self.report(node, "BadChained", because=data[0])

    def visit_Comparison(self, node: cst.Comparison) -> None:
        super().visit_Comparison(node)
        if len(node.comparisons) == 1 and isinstance(node.comparisons[0].operator, cst.In | cst.NotIn):
            place = self.code.value(node.comparisons[0].comparator)
            if place.is_tensor:
                self.report(node, "BadIn", because=place)
            elif (sought := self.code.value(node.left)).is_data:
                if place.kind is Kind.CONTAINER and place.container in {"list", "tuple"}:
                    self.report(node, "BadInList", because=sought)
                elif place.kind in {Kind.UNKNOWN, Kind.CONFIG} and sought.is_tensor:
                    self.report(node, "BadInList", at_most=Severity.WARNING, because=sought)

    def visit_Match(self, node: cst.Match) -> None:
        value = self.code.value(node.subject)
        tested = any(not isinstance(case.pattern, cst.MatchClass | cst.MatchAs) for case in node.cases)
        if value.is_data and tested and not of_a_size(self.code, node.subject, value):
            self.report(node.subject, "BadMatch", because=value)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        match name.rpartition("."):
            case ("builtins", _, builtin) if node.args:
                self._builtin(node, builtin)
            case ("torch", _, "_assert") if node.args and self.code.value(node.args[0].value).is_tensor:
                self.report(node, "BadTorchAssert", because=self.code.value(node.args[0].value))
            case ("torch", _, function) if function in _COMPARED and self._tensors(node):
                self.report(node, _COMPARED[function], because=self._tensors(node)[0])
            case (package, _, cls) if package.startswith("torch.distributions") and cls not in _FUNCTIONS:
                self._distribution(node, cls)
            case _ if (base := self._distribution_base(node)) is not None:
                self._distribution(node, base)
            case ("itertools", _, "groupby") if node.args:
                first = self.code.value(node.args[0].value)
                if first.element is not None and first.element.is_data:
                    self.report(node, "BadGroupBy", because=first)
            case _ if isinstance(node.func, cst.Attribute):
                self._method(node, node.func)

    def _builtin(self, node: cst.Call, name: str) -> None:
        first = self.code.value(node.args[0].value)
        match name:
            case "bool" if first.is_data and not self.covered(node) and not of_a_size(self.code, node, first):
                self.report(node, "BadBool", because=first)
            case "all" | "any":
                self._of_each(node, "BadAll" if name == "all" else "BadAny")
            case "min" | "max" if self._key_is_tensor(node):
                self.report(node, "BadMinKey")
            case "min" | "max":
                self._largest(node, first)
            case "sorted" if self._key_is_tensor(node):
                self.report(node, "BadSortedKey")
            case "sorted" if _holds_tensors(first) and first.container != "dict" and len(node.args) == 1:
                self.report(node, "BadSorted", because=first)
            case "filter" if isinstance(node.args[0].value, cst.Lambda):
                if self._of_tensors(node.args[0].value, node.args[-1].value):
                    self.report(node, "BadFilter")

    def _of_each(self, node: cst.Call, case: str) -> None:
        given = node.args[0].value
        asked = given.elt if isinstance(given, cst.GeneratorExp | cst.ListComp | cst.SetComp) else given
        value = self.code.value(asked)
        element = value if asked is not given or value.is_tensor else value.element
        if element and element.may_be_data and not of_a_size(self.code, asked, element) and not self._python_in(asked):
            self.report(node, case, at_most=Severity.ERROR if element.is_data else Severity.WARNING, because=value)

    def _python_in(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Comparison) and isinstance(
            node.comparisons[0].operator, cst.Is | cst.IsNot | cst.In | cst.NotIn
        )

    def _largest(self, node: cst.Call, first: Value) -> None:
        """`max(x)` of a tensor; `max(t.item(), 1.0)`. Whole numbers that were read are compared symbolically."""
        if len(node.args) == 1 and first.is_tensor:
            self.report(node, "BadMaxRows", because=first)
        elif len(node.args) > 1:
            read = next((v for v in map(self.code.value, (a.value for a in node.args)) if v.is_unbacked), None)
            if read and any(isinstance(arg.value, cst.Float) for arg in node.args):
                self.report(node, "BadMaxItem", because=read)

    def _key_is_tensor(self, node: cst.Call) -> bool:
        key = next((arg.value for arg in node.args if arg.keyword and arg.keyword.value == "key"), None)
        if not isinstance(key, cst.Lambda):
            return False
        listed = node.func.value if isinstance(node.func, cst.Attribute) else node.args[0].value
        return self._of_tensors(key, listed)

    def _of_tensors(self, function: cst.Lambda, listed: cst.BaseExpression) -> bool:
        """Does the function make data of the entries of a list? It may not be known what its argument is."""
        value, text = self.code.value(function.body), self.code.text(function.body)
        if value.is_data:
            return not of_a_size(self.code, function.body, value)
        over = self.code.value(listed)
        if over.container == "dict":
            return False  # its keys
        return _holds_tensors(over) and "(" in text and not any(word in text for word in _ON_PYTHON)

    def _method(self, node: cst.Call, func: cst.Attribute) -> None:
        owner = self.code.value(func.value)
        match func.attr.value:
            case method if method in _COMPARED and owner.is_tensor:
                self.report(node, _COMPARED[method], because=owner)
            case "sort" if owner.kind is Kind.CONTAINER and self._key_is_tensor(node):
                self.report(node, "BadSort")
            case "sort" if owner.kind is Kind.CONTAINER and _holds_tensors(owner) and not node.args:
                self.report(node, "BadSort", because=owner)
            case "index" if owner.kind is Kind.CONTAINER and self._tensors(node):
                self.report(node, "BadListIndex", because=self._tensors(node)[0])
            case "index" if owner.kind is Kind.CONTAINER and owner.element and owner.element.is_data:
                self.report(node, "BadListIndex", because=owner)
            case "log_prob" if self._checks(owner):
                self.report(node, "BadLogProb")

    def _checks(self, owner: Value) -> bool:
        name, checks = owner.name or "", owner.field("validate_args")
        return (
            owner.on_self and name.startswith("torch.distributions.") and (checks is None or checks.truth is not False)
        )

    def _distribution_base(self, node: cst.Call) -> str | None:
        """The distribution of torch whose `__init__` runs: called by a subclass, or inherited by one."""
        match node.func:
            case cst.Attribute(value=cst.Call(func=cst.Name(value="super")), attr=cst.Name(value="__init__")):
                made = self.code.cls
            case _:
                made = self.code.value(node.func).cls
                if made and made.method("__init__"):
                    return None
        bases = made.foreign_bases if made else ()
        return next((b.rpartition(".")[2] for b in bases if b.startswith("torch.distributions.")), None)

    def _distribution(self, node: cst.Call, cls: str) -> None:
        if not cls[:1].isupper() or cls.endswith("Transform") or not node.args:
            return
        if any(arg.keyword and arg.keyword.value == "validate_args" for arg in node.args):
            return
        if any(isinstance(n, ast.Attribute) and n.attr == _NO_CHECK for n in walked(self.code.module.tree)):
            return
        tensors = self._tensors(node)
        values = [self.code.value(arg.value) for arg in node.args]
        if tensors:
            self.report(node, "BadDistribution", because=tensors[0])
        elif all(v.kind in {Kind.SCALAR, Kind.CONFIG, Kind.SIZE} for v in values):
            self.report(node, "BadStandardNormal")
        else:
            self.report(node, "BadDistribution", at_most=Severity.WARNING)

    def _tensors(self, node: cst.Call) -> list[Value]:
        return [value for value in (self.code.value(arg.value) for arg in node.args) if value.is_tensor]


def _may_decide(value: Value) -> bool:
    """Data, or data on one path and a Python constant on the other; what is not known otherwise is no suspicion."""
    return value.may_be_data and all(option.kind in _DATA_OR_CONSTANT for option in value.options)


def _last(test: cst.BaseExpression) -> cst.BaseExpression:
    """The operand that is asked last, right before the assertion fails."""
    while isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        test = test.right
    return test


def _is_chain(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Comparison) and len(node.comparisons) > 1


def _holds_tensors(value: Value) -> bool:
    """A tensor, or a container of tensors or of numbers that were read."""
    if value.is_tensor:
        return True
    return value.kind is Kind.CONTAINER and value.element is not None and value.element.is_data


def _needs_truth(node: ast.Compare) -> bool:
    return len(node.ops) > 1 or isinstance(node.ops[0], ast.In | ast.NotIn)


def _may_need_truth(sketch: Sketch, call: Called) -> bool:
    if call.origin.startswith("torch.distributions") or call.method in {"log_prob", "__init__"}:
        return True
    if (made := sketch.value(call.node.func).cls) and any(b.startswith("torch.distr") for b in made.foreign_bases):
        return True
    if call.origin in _ORDERING | {"itertools.groupby"} or (call.owner and call.method in {"sort", "index"}):
        owner = (call.owner,) if call.owner else ()
        given = (part for arg in call.arguments for part in (arg, getattr(arg, "elt", arg), getattr(arg, "body", arg)))
        return sketch.holds_data((*owner, *given))
    return call.method in _COMPARED or (call.method == "_assert" and sketch.holds_data(call.arguments))

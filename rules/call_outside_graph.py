"""Something is called that torch.compile does not follow, and torch.export runs while it traces.

Why: Dynamo ends the graph at what it has no way into: warnings, loggers, recurrent layers (unless
`torch._dynamo.config.allow_rnn` is set), sparse tensors, Python numbers made of arrays. The call is made in Python,
each time, and what stands behind it is another graph. torch.export makes the call once and goes on.

Instead: keep what is said for eager mode, ask in `__init__`, and let a recurrent layer stand in a part of its own that
is not compiled, so that the rest is one graph.

    if not torch.compiler.is_compiling():
        warnings.warn("rows are few")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, OperatorRule, called

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_EAGER = "say it in eager mode only: `if not torch.compiler.is_compiling():`"
_SAYS = Case("`{code}` is said in Python", Instead(_EAGER, shown_in="GoodInEager"))
_ASKED = Case("`{code}` is asked in Python", Instead("ask in `__init__` and keep the answer", shown_in="GoodInEager"))
_LAYER = Case(
    "`{code}` runs a recurrent layer, which Dynamo does not follow",
    Instead("compile the parts around it, or run its cell step by step", shown_in="GoodCell"),
)
_SPARSE = Case("`{code}` is about a sparse tensor, which Dynamo does not follow", "")
_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.bool"})
_FROM_NUMPY = frozenset(
    {"numpy.prod", "numpy.sum", "numpy.max", "numpy.min", "numpy.amax", "numpy.amin", "numpy.mean", "numpy.cumprod"}
)


class CallOutsideGraph(OperatorRule):
    mended_by = ("kept-in-eager", "templates", "python-numbers", "made-once")
    graph_breaks = ("GB0007", "GB0014", "GB0015", "GB0033", "GB0277", "GB0291")
    cases: ClassVar = {
        "BadWarn": _SAYS,
        "BadIsEnabledFor": _ASKED,
        "BadNumpyInt": Case(
            "`{code}` reads a number from an array",
            Instead("compute with `math`, or multiply in Python", shown_in="GoodWidth"),
        ),
        "BadLSTM": _LAYER,
        "BadGRU": _LAYER,
        "BadRNN": _LAYER,
        "BadToSparse": _SPARSE,
    }
    functions: ClassVar = {
        "BadWarn": "warnings.warn warnings.warn_explicit",
        "BadToSparse": "torch.sparse.mm torch.sparse.sum torch.sparse.softmax torch.sparse.log_softmax",
    }
    methods: ClassVar = {"BadToSparse": "to_sparse to_sparse_csr to_sparse_coo"}
    layers: ClassVar = {"BadLSTM": "torch.nn.LSTM", "BadGRU": "torch.nn.GRU", "BadRNN": "torch.nn.RNN"}

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called, or a method whose object is looked at?"""
        sketch = code.sketch
        return super().concerns(code) or "isEnabledFor" in sketch.methods or not sketch.origins.isdisjoint(_FROM_NUMPY)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._ifs = 0

    def visit_If(self, node: cst.If) -> None:
        self._ifs += 1

    def leave_If(self, original_node: cst.If) -> None:
        self._ifs -= 1

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self._ifs += 1

    def leave_ExceptHandler(self, original_node: cst.ExceptHandler) -> None:
        self._ifs -= 1

    def case_of(self, node: cst.Call) -> str | None:
        """One of the tables; else a question to a logger, or a number that is made of an array.

        A warning behind an `if` is taken for one that nobody is given.
        """
        if case := super().case_of(node):
            return None if case == "BadWarn" and self._ifs else case
        if called(node) == "isEnabledFor":
            owner = self.code.value(getattr(node.func, "value", node.func))
            return "BadIsEnabledFor" if owner.name == "logging.getLogger" else None
        if self.code.name(node.func) in _NUMBERS and len(node.args) == 1 and self._is_reduced(node.args[0].value):
            return "BadNumpyInt"
        return None

    def _is_reduced(self, node: cst.BaseExpression) -> bool:
        return self.code.name(getattr(node, "func", node)) in _FROM_NUMPY

"""Random numbers drawn by Python or NumPy become constants of the program.

Why: the tracer sees only torch's operators. In non-strict mode `random.random()` and `np.random.*` run once, while
exporting, and the number they gave is a literal of the graph from then on: every call gives the same "random" result,
and torch says nothing. Strict mode refuses most of them and keeps NumPy arrays as constants. A branch that was picked
by a coin is the only branch left.

Instead: draw with torch, whose random operators are recorded and draw anew in every call, or let the caller draw and
pass a tensor.

    noise = torch.randn_like(x)                       # instead of np.random.randn(*x.shape)
    coin = torch.rand(()) < 0.5
    x = torch.where(coin, x + noise, x)               # instead of if random.random() < 0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Rule

if TYPE_CHECKING:
    from exportlint import Code

_TORCH = "draw with torch (`torch.rand(())`, `torch.randn_like(x)`), or let the caller draw and pass a tensor"
_DRAWS, _CONSTANT = "`{code}` draws", " once, while exporting, and the number is a constant of the program"
_BRANCH = "draw with `torch.rand(())` and select with `torch.where`, or keep it behind `if self.training:`"
# Functions of these modules that build a generator and draw nothing.
_MAKERS = frozenset({"random.Random", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"})
_PACKAGES = ("random.", "secrets.", "numpy.random.")
_SEEDS = frozenset({"random.seed", "numpy.random.seed", "random.setstate", "numpy.random.set_state"})
_PICKS = frozenset(
    {"random.choice", "random.choices", "random.sample", "random.shuffle", "random.randrange", "random.randint"}
)


class PythonRandom(Rule):
    mended_by = ("made-once", "state-in-buffers")
    graph_breaks = ("GB0007", "GB0156", "GB0297")
    cases: ClassVar = {
        "BadPythonRandom": Case(_DRAWS, _TORCH, in_program=_CONSTANT),
        "BadChoice": Case("`{code}` chooses", _BRANCH, in_program=" once, while exporting"),
        "BadSeed": Case(
            "`{code}` seeds Python's generator",
            "leave seeding to the caller; torch's own random operators follow `torch.manual_seed` outside the model",
            in_program=" while exporting; the program has none",
        ),
        "BadNumpyRandom": Case(_DRAWS, _TORCH, in_program=_CONSTANT),
        "BadRandomInstance": Case("`{code}` draws from a Python generator", _TORCH, in_program=_CONSTANT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a generator of random numbers called?"""
        sketch = code.sketch
        owners = (sketch.value(call.owner).name for call in sketch.calls if call.owner)
        return any(name.startswith(_PACKAGES) for name in sketch.origins - _MAKERS) or not _MAKERS.isdisjoint(owners)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name in _MAKERS:
            return
        if name in _SEEDS:
            self.report(node, "BadSeed")
        elif name in _PICKS:
            self.report(node, "BadChoice")
        elif name.startswith(_PACKAGES[:2]):
            self.report(node, "BadPythonRandom")
        elif name.startswith("numpy.random."):
            self.report(node, "BadNumpyRandom")
        elif isinstance(node.func, cst.Attribute) and self._generator(node.func.value):
            self.report(node, "BadRandomInstance")

    def _generator(self, owner: cst.BaseExpression) -> bool:
        """`self.rng`, `_rng`, or `random.Random(3)` itself."""
        value = self.code.value(owner)
        return value.certain and value.name in _MAKERS

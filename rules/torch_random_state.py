"""torch's random state is set, read or carried around inside the model.

Why: a program has one random stream, the one of the process that runs it. Seeding, saving and restoring it, or forking
it, happens while exporting and is lost in non-strict mode without a word; strict mode refuses it. A generator that is
made or seeded inside forward starts anew in every eager call, and never in the program. A generator handed to an
operator is kept in non-strict mode, refused in strict mode, and cannot be saved.

Instead: noise that shall be the same in every call is a buffer, drawn in `__init__`. Noise that shall differ is drawn
without a generator, or is passed by the caller, who may use any generator.

    generator = torch.Generator().manual_seed(7)      # in __init__
    self.register_buffer("noise", torch.rand(4, generator=generator))
"""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from exportlint import Case, Kind, Rule, Severity, called

_BUFFER = "draw fixed noise in `__init__` and keep it as a buffer, or seed outside the model"
_ARGUMENT = "leave `generator=` away, or let the caller draw and pass the noise as an input"
_ACTS, _LOST = "`{code}` acts on the process", " that exports; the program never does it"
_BY_NAME = {
    "BadManualSeed": (
        "torch.manual_seed torch.random.manual_seed torch.cuda.manual_seed torch.cuda.manual_seed_all"
        " torch.default_generator.manual_seed"
        " torch.mps.manual_seed torch.xpu.manual_seed transformers.set_seed pytorch_lightning.seed_everything"
        " lightning.seed_everything"
    ),
    "BadSeed": "torch.seed torch.random.seed torch.cuda.seed",
    "BadInitialSeed": "torch.initial_seed torch.random.initial_seed torch.cuda.initial_seed",
    "BadGeneratorMade": "torch.Generator",
    "BadForkRng": "torch.random.fork_rng",
    "BadStateRestored": (
        "torch.get_rng_state torch.set_rng_state torch.random.get_rng_state torch.random.set_rng_state"
        " torch.cuda.get_rng_state torch.cuda.set_rng_state torch.cuda.get_rng_state_all torch.cuda.set_rng_state_all"
    ),
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_STATE_METHODS = frozenset({"manual_seed", "seed", "initial_seed", "get_state", "set_state"})


class TorchRandomState(Rule):
    mended_by = ("made-once", "drawing-operator", "interface")
    words = r"seed|[gG]enerator|rng"
    graph_breaks = ("GB0007", "GB0208", "GB0363", "GB7650", "GB0055")
    cases: ClassVar = {
        "BadManualSeed": Case(_ACTS, _BUFFER, in_program=_LOST),
        "BadSeed": Case("`{code}` gives a number", _BUFFER, in_program=" that is a constant of the program"),
        "BadInitialSeed": Case(
            "`{code}` gives the seed of the process", _BUFFER, in_program=", a constant of the program"
        ),
        "BadGeneratorMade": Case("`{code}` makes a generator", _BUFFER, in_program=" that the program does not have"),
        "BadGeneratorOnSelf": Case(
            "`{code}` acts on the generator", _BUFFER, in_program=" while exporting; the program never does it"
        ),
        "BadGeneratorUsed": Case("`{code}` draws from a generator of its own", _ARGUMENT),
        "BadForkRng": Case(
            "`{code}` opens a random stream of its own", _BUFFER, in_program="; the program has only one"
        ),
        "BadStateRestored": Case(_ACTS, _BUFFER, in_program=_LOST),
    }

    def visit_Call(self, node: cst.Call) -> None:
        case = _CASE_OF.get(self.code.name(node.func) or "")
        if case:
            self.report(node, case)
        elif (
            isinstance(node.func, cst.Attribute)
            and called(node) in _STATE_METHODS
            and self._is_generator(node.func.value)
        ):
            self.report(node, "BadGeneratorOnSelf")
        for arg in node.args:
            if _names_generator(arg) and self._is_generator(arg.value):
                self.report(node, "BadGeneratorUsed")
            elif _names_generator(arg) and isinstance(arg.value, cst.Attribute) and self._may_be(arg.value):
                self.report(node, "BadGeneratorUsed", at_most=Severity.WARNING)

    def _may_be(self, node: cst.Attribute) -> bool:
        """`self.generator`: what is kept under this name and is not None is a generator."""
        value = self.code.value(node)
        return value.kind is Kind.UNKNOWN and isinstance(node.value, cst.Name) and node.value.value == "self"

    def _is_generator(self, node: cst.BaseExpression) -> bool:
        value = self.code.value(node)
        return (
            value.certain and value.kind is not Kind.NONE and not value.maybe_none and value.name == "torch.Generator"
        )


def _names_generator(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "generator"

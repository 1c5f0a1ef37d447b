"""A decision is taken by the gradient mode of the exporting process.

Why: whether gradients are recorded is a state of the process. The question is answered once, while exporting, and the
branch that was taken is the whole program, under `no_grad` or not. Strict mode refuses to ask for inference mode.

Instead: make the choice an option of the module, or use `self.training`, which the owner of the model sets before the
export. A branch that only saves memory, like gradient checkpointing behind `self.training`, is fine.

    if self.training and torch.is_grad_enabled(): ...

No repair: which branch is meant, the mode at the caller decides, and that is no part of the model.
"""

from __future__ import annotations

import ast
from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Rule, Severity, Source, Visitor, called

_OPTION = "make the choice an option of the module, or use `self.training`"
_ASKS, _ONE_WAY = "`{code}` asks what autograd does", " once, while exporting; the program has one of the two ways"
_ASKED = {
    "torch.is_grad_enabled": "BadGradEnabled",
    "torch.is_inference_mode_enabled": "BadInferenceMode",
    "torch.is_inference": "BadIsInference",
}


class GradModeBranch(Rule):
    graph_breaks = ("GB0045", "GB0046")
    shown_by = ("gradients",)
    cases: ClassVar = {
        "BadGradEnabled": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
        "BadGradTernary": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
        "BadInferenceMode": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
        "BadIsInference": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
        "BadGradFn": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
        "BadRequiresGrad": Case(_ASKS, _OPTION, in_program=_ONE_WAY),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is the gradient mode asked for, or the flag of a computed tensor?"""
        sketch = code.sketch
        flags = (node for node in sketch.nodes(ast.Attribute) if node.attr in {"grad_fn", "requires_grad"})
        return (
            not sketch.origins.isdisjoint(_ASKED)
            or "is_inference" in sketch.methods
            or any(sketch.value(node.value).source is Source.COMPUTED for node in flags)
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._names: dict[str, str] = {}

    def visit_Assign(self, node: cst.Assign) -> None:
        if isinstance(node.value, cst.Call) and (case := _ASKED.get(self.code.name(node.value.func) or "")):
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    self._names[target.target.value] = "BadGradTernary" if case == "BadGradEnabled" else case

    def visit_If(self, node: cst.If) -> None:
        if not _is_aid(node):
            self._test(node.test)

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._test(node.test)

    def _test(self, test: cst.BaseExpression) -> None:
        asked = _Asked(self)
        test.visit(asked)
        for case in asked.cases[:1]:
            self.report(test, case, at_most=_at_most(test, case))

    def case_of(self, node: cst.CSTNode) -> str | None:
        """Which question about the gradient mode an expression asks."""
        match node:
            case cst.Call():
                case = _ASKED.get(self.code.name(node.func) or "")
                return case or ("BadIsInference" if called(node) == "is_inference" else None)
            case cst.Name(value=name):
                return self._names.get(name)
            case cst.Attribute(attr=cst.Name(value="grad_fn")):
                return "BadGradFn" if self._tensor(node) else None
            case cst.Attribute(attr=cst.Name(value="requires_grad")):
                return "BadRequiresGrad" if self._tensor(node) else None
        return None

    def _tensor(self, node: cst.CSTNode) -> bool:
        """An attribute of a computed tensor: parameters and inputs have their flag for good."""
        owner = self.code.value(node.value) if isinstance(node, cst.Attribute) else None
        return owner is not None and owner.is_tensor and owner.source is Source.COMPUTED


class _Asked(Visitor):
    """The questions within a test. `self.training and …` is a choice made before the export."""

    def __init__(self, rule: GradModeBranch) -> None:
        super().__init__()
        self.rule = rule
        self.cases: list[str] = []

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> bool:
        return not (isinstance(node.operator, cst.And) and _says_training(node))

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self._note(node)
        return False

    def visit_Call(self, node: cst.Call) -> None:
        self._note(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._note(node)

    def _note(self, node: cst.CSTNode) -> None:
        if case := self.rule.case_of(node):
            self.cases.append(case)


def _at_most(test: cst.BaseExpression, case: str) -> Severity:
    """Beside other tests, or about one tensor, the question mostly chooses between two ways to compute the same."""
    return Severity.NOTE if case == "BadRequiresGrad" or isinstance(test, cst.BooleanOperation) else Severity.ERROR


def _says_training(node: cst.CSTNode) -> bool:
    match node:
        case cst.BooleanOperation(left=left, right=right):
            return _says_training(left) or _says_training(right)
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name in {"training", "gradient_checkpointing", "checkpointing", "use_checkpoint"}
    return False


def _is_aid(node: cst.If) -> bool:
    """`if torch.is_grad_enabled(): warnings.warn(...)`: the body computes nothing."""
    body = node.body.body
    return node.orelse is None and all(
        isinstance(line, cst.SimpleStatementLine)
        and all(
            isinstance(s, cst.Raise | cst.Pass) or (isinstance(s, cst.Expr) and isinstance(s.value, cst.Call))
            for s in line.body
        )
        for line in body
    )

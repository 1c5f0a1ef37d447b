# ruff: noqa: N802, ARG002  # libcst names its visitors visit_Call and passes every node
"""What local names stand for in code that no forward runs: the scripts that build a model and export it.

The engine's values cover exported functions. Export calls stand in scripts and functions around them, where reading
from top to bottom and remembering the last assignment of a name is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.library import EXPORTERS
from exportlint.rule.base import Rule, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


# Methods of a module that give the module back.
CHAINED = frozenset(
    {
        "eval",
        "train",
        "to",
        "cpu",
        "cuda",
        "float",
        "half",
        "double",
        "bfloat16",
        "requires_grad_",
        "to_empty",
        "type",
        "apply",
    }
)


class ScriptRule(Rule):
    """A rule over whole files that can ask what a name was bound to last.

    >>> import libcst as cst
    >>> from exportlint.testing import code_of
    >>> class Exported(ScriptRule):
    ...     def visit_Call(self, node):
    ...         if (model := self.exported(node)) is not None:
    ...             origin, steps = self.unchained(model)
    ...             self.chain = [self.code.text(part) for part in (origin, *steps)]
    >>> code = code_of('''
    ... import torch
    ... model = torch.nn.ReLU()
    ... model.eval()
    ... torch.export.export(model, (torch.ones(3),))
    ... ''')
    >>> rule = Exported(code)
    >>> code.sweep(rule)
    >>> rule.chain
    ['torch.nn.ReLU()', 'model.eval()']
    """

    scope = Scope.FILE

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a model exported?"""
        return not EXPORTERS.isdisjoint(code.sketch.origins)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._unknown = cst.Ellipsis()  # what a name stands for of which nothing is known
        self._scopes: list[dict[str, cst.CSTNode]] = [{}]
        self.events: dict[int, list[cst.Call]] = {}
        # Chains are followed when they are bound: `model = model.eval()` names itself.
        self._chains: dict[int, tuple[cst.CSTNode, list[cst.Call]]] = {}

    def visit_Module(self, node: cst.Module) -> None:
        """Functions and classes of the file are known before their line."""
        for statement in node.body:
            if isinstance(statement, cst.FunctionDef | cst.ClassDef):
                self._scopes[0][statement.name.value] = statement

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._scopes[-1][node.name.value] = node
        parameters = node.params
        names = (*parameters.params, *parameters.kwonly_params, *parameters.posonly_params)
        self._scopes.append({parameter.name.value: self._unknown for parameter in names})

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self._scopes.pop()

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._scopes[-1][node.name.value] = node
        self._scopes.append({})

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self._scopes.pop()

    def leave_Assign(self, original_node: cst.Assign) -> None:
        for target in original_node.targets:
            self._bind(target.target, original_node.value)

    def leave_AnnAssign(self, original_node: cst.AnnAssign) -> None:
        if original_node.value is not None:
            self._bind(original_node.target, original_node.value)

    def visit_For(self, node: cst.For) -> None:
        self._bind(node.target, self._unknown)

    def leave_AsName(self, original_node: cst.AsName) -> None:
        if isinstance(original_node.name, cst.Name):
            self._scopes[-1].setdefault(original_node.name.value, self._unknown)

    def leave_Call(self, original_node: cst.Call) -> None:
        """`model.eval()` is remembered with what `model` stands for."""
        match original_node.func:
            case cst.Attribute(value=cst.Name() as owner, attr=cst.Name(value=name)) if name in CHAINED:
                self.events.setdefault(id(self.bound(owner)), []).append(original_node)

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if (
            isinstance(target, cst.Tuple)
            and isinstance(value, cst.Tuple)
            and len(target.elements) == len(value.elements)
        ):
            for one, other in zip(target.elements, value.elements, strict=True):
                self._bind(one.value, other.value)
            return
        if isinstance(target, cst.Name):
            self._chains.setdefault(id(value), self.unchained(value))
            self._scopes[-1][target.value] = self.bound(value)
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value, self._unknown)

    def bound(self, node: cst.CSTNode) -> cst.CSTNode:
        """The expression, class or function that a name stands for at this point; any other node stands for itself."""
        if isinstance(node, cst.Name):
            for scope in reversed(self._scopes):
                if node.value in scope:
                    return scope[node.value]
        return node

    def exported(self, call: cst.Call) -> cst.BaseExpression | None:
        """The model argument of a call of torch.export, else None."""
        if self.name_of(call.func) in EXPORTERS:
            return argument(call, 0, "mod")
        return None

    def name_of(self, function: cst.BaseExpression) -> str | None:
        """The dotted origin of what is called, also under another name: `tracer = torch.jit.trace`."""
        made = self.bound(function)
        return self.code.name(made if isinstance(made, cst.Attribute) else function)

    def unchained(self, node: cst.CSTNode) -> tuple[cst.CSTNode, list[cst.Call]]:
        """Where a chain of `.to(...).eval()` starts, names followed, and its calls in the order they run.

        `model = model.eval()` and `model.eval()` as statements are part of the chain.
        """
        node = self.bound(node)
        origin: cst.CSTNode = node
        steps: list[cst.Call] = []
        if id(node) in self._chains:
            origin, steps = self._chains[id(node)]
        else:
            match node:
                case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in CHAINED:
                    origin, steps = self.unchained(inner)
                    steps = [*steps, node]
        return origin, [*steps, *self.events.get(id(node), [])]

    def local_class(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class of the file that a call makes an instance of."""
        made = self.bound(node.func) if isinstance(node, cst.Call) else None
        return made if isinstance(made, cst.ClassDef) else None

    def bases(self, cls: cst.ClassDef) -> Iterator[cst.ClassDef | str | None]:
        """The bases of a class, and theirs: a class of the file, a dotted name, or None for what cannot be seen."""
        for arg in cls.bases:
            base = self.bound(arg.value)
            if isinstance(base, cst.ClassDef) and base is not cls:
                yield base
                yield from self.bases(base)
            else:
                yield self.code.name(arg.value)

    def is_module_class(self, cls: cst.ClassDef) -> bool | None:
        """Does the class derive from nn.Module? None: a base cannot be seen."""
        bases = list(self.bases(cls))
        names = [base for base in bases if not isinstance(base, cst.ClassDef)]
        if any(name and name.startswith("torch.nn.") for name in names):
            return True
        return None if any(name not in {"builtins.object", "abc.ABC", "typing.Generic"} for name in names) else False


def argument(call: cst.Call, index: int, keyword: str) -> cst.BaseExpression | None:
    """An argument by its place (from 0) or its name; None where there is none, or stars hide it.

    >>> import libcst as cst
    >>> argument(cst.parse_expression("export(model, args=(x,))"), 0, "mod").value
    'model'
    """
    for i, arg in enumerate(call.args):
        if arg.star:
            return None
        if (arg.keyword is None and i == index) or (arg.keyword is not None and arg.keyword.value == keyword):
            return arg.value
    return None

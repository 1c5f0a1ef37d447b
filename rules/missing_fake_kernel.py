"""A custom operator has no fake kernel.

Why: the tracer runs every operator on fake tensors, which have shapes and no values. For a custom operator it needs a
function that says what comes out; without one both modes refuse the model at the call. An operator without results, or
one that is made of other operators (`CompositeImplicitAutograd`, `triton_op`), needs none. A fake kernel counts where
it is registered in the file or in one that runs when it is imported. In a package any other file may do it, so there an
operator that its own file does not call makes a warning. The tracer believes what a fake kernel says: a trial calls
both on several sizes and tells where they disagree. What the operator itself does is not judged, since nothing of it
is traced.

Instead: register one next to the operator.

    @torch.library.custom_op("my::scale", mutates_args=())
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor: ...

    @scale.register_fake
    def _(x, factor):
        return torch.empty_like(x)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, ModuleInfo, Rule, Scope, Severity, argument, called, dotted, text_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

_REGISTER = "add `@{function}.register_fake` with a function that returns an empty tensor of the right shape and dtype"
_BY_NAME = (
    'register one with `@torch.library.register_fake("…::{op}")`: '
    "a function that returns an empty tensor like the result"
)
_MESSAGE = "the operator `{op}` has no fake kernel in this file, and without one no model that calls it can be exported"
_FAKES = frozenset(
    {
        "register_fake",
        "impl_abstract",
        "_register_fake",
        "register_meta",
        "register_torch_dispatch",
        "register_kernel_fake",
    }
)
_ANY_DEVICE = frozenset(
    {
        "Meta",
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "default",
        "CompositeExplicitAutogradNonFunctional",
    }
)
_DEVICES = frozenset({"CPU", "CUDA", "cpu", "cuda", "XPU", "MPS", "xpu", "mps"})
_MOST_FILES = 40  # that an import of the file runs, as far as they are looked into


class MissingFakeKernel(Rule):
    mended_by = ("interface",)
    scope = Scope.FILE
    words = r"custom_op\b|Library\b|torch\.library\b"
    torch_says = (
        r"There was no fake impl registered for",
        r"UnsupportedOperatorException: (?!aten\.)",
        r"unsupported operator: (?!aten\.)",
    )
    graph_breaks = ("GB0090",)
    checks = ("fake-kernel",)
    docs = (("Custom operators", "https://docs.pytorch.org/docs/stable/library.html"),)
    cases: ClassVar = {
        "BadCustomOp": Case(_MESSAGE, _REGISTER),
        "BadLibrary": Case(_MESSAGE, _BY_NAME),
        "BadDefine": Case(_MESSAGE, _BY_NAME),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._defined: dict[str, tuple[cst.CSTNode, str, str]] = {}
        self._kernels: set[str] = set()
        self._faked: set[str] = set()
        self._libraries: set[str] = set()
        self._hidden = False  # an operator is registered under a name that the file does not show

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        for decorator in node.decorators:
            call = decorator.decorator
            if isinstance(call, cst.Call) and self.code.name(call.func) == "torch.library.custom_op":
                self._custom_op(node, call)
            elif isinstance(call, cst.Attribute) and call.attr.value in _FAKES:
                self._faked.add(dotted(call.value) or "")

    def _custom_op_of_function(self, call: cst.Call, names: list[str]) -> None:
        """`scale = custom_op("my::scale", function, mutates_args=())`."""
        given = argument(call, 1, "fn")
        if given is not None and names:
            op = text_argument(call) or names[0]
            self._defined[_last(op)] = (call, "BadCustomOp", names[0])

    def _custom_op(self, function: cst.FunctionDef, call: cst.Call) -> None:
        returns = function.returns.annotation if function.returns else None
        if not (isinstance(returns, cst.Name) and returns.value == "None"):
            op = text_argument(call) or function.name.value
            self._defined[_last(op)] = (call, "BadCustomOp", function.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        made = self.code.name(node.value.func) if isinstance(node.value, cst.Call) else None
        names = [name for target in node.targets if (name := dotted(target.target))]
        if made == "torch.library.Library":
            self._libraries.update(names)
        elif made == "torch.library.custom_op" and len(cst.ensure_type(node.value, cst.Call).args) > 1:
            self._custom_op_of_function(cst.ensure_type(node.value, cst.Call), names)

    def visit_Call(self, node: cst.Call) -> None:
        name, method = self.code.name(node.func) or "", called(node)
        on_library = isinstance(node.func, cst.Attribute) and dotted(node.func.value) in self._libraries
        if method in _FAKES:
            self._fake(node)
        elif name == "torch.library.define" or (on_library and method == "define"):
            self._define(node, "BadLibrary" if on_library else "BadDefine")
        elif name == "torch.library.impl" or (on_library and method == "impl"):
            self._impl(node)

    def _fake(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute) and node.args and text_argument(node) is None:
            self._faked.add(dotted(node.func.value) or "")
            self._faked.add(dotted(node.args[0].value) or "")
        elif op := text_argument(node):
            self._faked.add(_last(op))

    def _define(self, node: cst.Call, case: str) -> None:
        if op := text_argument(node):
            schema = f"{op} {text_argument(node, 1) or ''}"
            if not schema.rstrip().endswith("-> ()"):
                self._defined[_last(op)] = (node, case, _last(op))

    def _impl(self, node: cst.Call) -> None:
        texts = [str(arg.value.evaluated_value) for arg in node.args if isinstance(arg.value, cst.SimpleString)]
        words = set(texts)
        if not texts:
            self._hidden = True
        elif words & _ANY_DEVICE or not words & _DEVICES:
            self._faked.update(_last(text) for text in texts)
        else:
            self._kernels.update(_last(text) for text in texts)

    def leave_Module(self, original_node: cst.Module) -> None:
        for op, (place, case, function) in self._defined.items():
            has_kernel = case == "BadCustomOp" or op in self._kernels
            if has_kernel and not self._hidden and not {op, function} & self._faked:
                self._missing(place, case, op, function)

    def _missing(self, place: cst.CSTNode, case: str, op: str, function: str) -> None:
        if any(_registers(module, {op, function}) for module in _run_by_import(self.code.module)):
            return
        in_package = "." in self.code.module.name
        is_called = any({op, function} & set(call.origin.split(".")) for call in self.code.sketch.calls)
        at_most = Severity.WARNING if in_package and not is_called else Severity.ERROR
        self.report(place, case, at_most=at_most, op=op, function=function)


def _registers(module: ModuleInfo, names: set[str]) -> bool:
    """Is a fake kernel registered in the file, and the operator named?"""
    words = set(re.findall(r"\w+", module.parsed.text))
    return bool(words & _FAKES and words & names)


def _run_by_import(module: ModuleInfo) -> Iterator[ModuleInfo]:
    """The other files of the project that run before anybody can use what this one defines."""
    parts = module.name.split(".")
    waiting = [*_imported(module), *(".".join(parts[:number]) for number in range(1, len(parts)))]
    known = {module.path}
    while waiting and len(known) < _MOST_FILES:
        found = module.project.find(waiting.pop(0))
        file = found if found is None or isinstance(found, ModuleInfo) else found.module
        if file is not None and file.path not in known:
            known.add(file.path)
            waiting += _imported(file)
            yield file


def _imported(module: ModuleInfo) -> list[str]:
    names = [*module.imports.values(), *module.stars]
    return list(dict.fromkeys([*names, *(name.rpartition(".")[0] for name in names if "." in name)]))


def _last(op: str) -> str:
    """ "double" for "my::double(Tensor x) -> Tensor"."""
    return op.partition("(")[0].rpartition("::")[2].strip()

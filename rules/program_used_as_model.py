"""An exported program is used like the model that it was made of.

Why: `torch.export.export` gives an `ExportedProgram`, which is no module: it is not called, moved, cast or switched
between modes. Its `module()` is called and moved, but was traced in one mode, so its `eval()` and `train()` raise, and
so does the `eval()` of every module that holds it. What `unflatten` gives lets itself be switched, and computes what it
did before: dropout that was traced stays on. Measured on torch 2.13, in both modes.

Instead: choose the mode before the export, and use the module of the program.

    program = torch.export.export(model.eval(), (x,))
    program.module()(x)                                            # instead of program(x)
    torch.export.save(program, "model.pt2")                        # instead of torch.save(program, "model.pt")
    from torch.export.passes import move_to_device_pass            # instead of program.to("cuda")
    program = move_to_device_pass(program, "cuda")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, ScriptRule, Severity, called

if TYPE_CHECKING:
    from exportlint import Code

_BEFORE = "call `.eval()` on the model, before the export"
_MAKE_PROGRAM = frozenset({"torch.export.export", "torch.export.draft_export", "torch.export.load"})
_MODES = frozenset({"eval", "train"})
_TAKE_PROGRAM = frozenset(
    {"torch.export.save", "torch.export.unflatten", "torch._inductor.aoti_compile_and_package", "torch.save"}
)
_DEEPEST = 8  # calls on what calls gave
_CASE_OF = {
    **dict.fromkeys(("eval", "train"), "BadProgramMode"),
    **dict.fromkeys(("to", "cuda", "cpu"), "BadProgramMoved"),
    **dict.fromkeys(("half", "float", "double", "bfloat16"), "BadProgramMethod"),
    **dict.fromkeys(("requires_grad_", "load_state_dict", "forward"), "BadProgramMethod"),
    "state_dict": "BadStateDict",
}


class ProgramUsedAsModel(ScriptRule):
    mended_by = ("templates",)
    words = r"torch\.export|from torch import .*\bexport\b"
    torch_says = (
        r"Calling (eval|train)\(\) is not supported yet",
        r"Unable to call ExportedProgram directly",
        r"'ExportedProgram' object has no attribute '(eval|train|to|cuda|cpu|half|float|forward|load_state_dict)'",
    )
    docs = (("torch.export", "https://docs.pytorch.org/docs/stable/export.html"),)
    cases: ClassVar = {
        "BadProgramCalled": Case("`{code}` calls an exported program", "call `{owner}.module()(…)`"),
        "BadProgramMode": Case("`{code}` switches the mode of an exported program, which has none", _BEFORE),
        "BadModuleMode": Case("`{code}` switches the mode of what was traced in one mode", _BEFORE),
        "BadUnflattenedMode": Case("`{code}` changes nothing: the program was traced in one mode", _BEFORE),
        "BadProgramMoved": Case(
            "`{code}` moves an exported program",
            "move the model before the export, or use `move_to_device_pass` of `torch.export.passes`",
        ),
        "BadProgramMethod": Case(
            "`{code}` calls a method of modules on an exported program", "call it on the model, before the export"
        ),
        "BadStateDict": Case("`{code}` calls a dictionary", "write `{owner}.state_dict`, without parentheses"),
        "BadSave": Case("`{code}` takes an exported program, not a module", "give it the program that was exported"),
        "BadTorchSave": Case("`{code}` writes a file that cannot be loaded again", "use `torch.export.save`"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a program made or loaded?"""
        return not _MAKE_PROGRAM.isdisjoint(code.sketch.origins)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._kinds: dict[int, str | None] = {}

    def leave_Assign(self, original_node: cst.Assign) -> None:
        """What a value is has to be known before its name is bound: `program = program.run_decompositions()`."""
        self._kinds[id(original_node.value)] = self._made(original_node.value)
        super().leave_Assign(original_node)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func)
        if name in _TAKE_PROGRAM and node.args:
            self._handed_over(node, node.args[0].value, is_pickled=name == "torch.save")
        elif isinstance(node.func, cst.Attribute):
            self._method(node, node.func.value, called(node) or "")
        elif self._made(node.func) == "program":
            self.report(node, "BadProgramCalled", owner=self.code.text(node.func))

    def _handed_over(self, node: cst.Call, given: cst.BaseExpression, *, is_pickled: bool) -> None:
        made = self._made(given)
        if is_pickled and made in {"program", "module"}:
            self.report(node, "BadTorchSave")
        elif not is_pickled and (made in {"module", "unflattened"} or self._is_model(given)):
            self.report(node, "BadSave")

    def _method(self, node: cst.Call, owner: cst.BaseExpression, method: str) -> None:
        made = self._made(owner)
        if made == "program" and (case := _CASE_OF.get(method)):
            self.report(node, case, owner=self.code.text(owner))
        elif made == "module" and method in _MODES:
            self.report(node, "BadModuleMode")
        elif made == "unflattened" and method in _MODES and (mode := self._mode(owner)) != method:
            self.report(node, "BadUnflattenedMode", at_most=Severity.ERROR if mode else Severity.WARNING)

    def _made(self, node: cst.CSTNode, depth: int = 0) -> str | None:
        """Is it a "program", its "module", or what `unflatten` makes of it ("unflattened")?"""
        origin, _ = self.unchained(node)
        if id(origin) in self._kinds:
            return self._kinds[id(origin)]
        if not isinstance(origin, cst.Call) or depth > _DEEPEST:
            return None
        name = self.code.name(origin.func)
        if name in _MAKE_PROGRAM:
            return "program"
        if name == "torch.export.unflatten":
            return "unflattened"
        if isinstance(origin.func, cst.Attribute) and self._made(origin.func.value, depth + 1) == "program":
            return {"module": "module", "run_decompositions": "program"}.get(origin.func.attr.value)
        return None

    def _mode(self, node: cst.BaseExpression) -> str | None:
        """The mode that what `unflatten` made was exported in: "eval" or "train", as far as the file shows it."""
        origin, _ = self.unchained(node)
        program = self.bound(origin.args[0].value) if isinstance(origin, cst.Call) and origin.args else None
        model = self.exported(program) if isinstance(program, cst.Call) else None
        made, steps = self.unchained(model) if model is not None else (node, [])
        modes = [name for step in steps if (name := called(step)) in _MODES]
        return modes[-1] if modes else "train" if self.local_class(made) else None

    def _is_model(self, node: cst.BaseExpression) -> bool:
        """Is it an instance of a model of this file?"""
        cls = self.local_class(self.unchained(node)[0])
        return bool(cls and self.is_module_class(cls))

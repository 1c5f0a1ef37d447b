"""A model is exported in train mode.

Why: `training` is a Python flag; the program keeps what it was. In train mode dropout stays on and batch norm
normalises by the statistics of each batch, and changes its running ones in every call, forever. Modules are built in
train mode.

Instead: `model.eval()` before the export. To train the program later, export twice.

    program = torch.export.export(model.eval(), (x,))
"""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from exportlint import Case, ScriptRule, Severity, Visitor, called

_EVAL = "call `.eval()` on the model before the export"
_DROPOUT = frozenset(
    {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "DropPath"}
)
_NORM = frozenset({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"}) | {
    f"LazyBatchNorm{n}d" for n in (1, 2, 3)
}
_WITH_DROPOUT = frozenset({"TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"})
_FUNCTIONAL = frozenset({"torch.nn.functional.dropout", "torch.dropout"})


class ExportInTrainMode(ScriptRule):
    words = r"torch\.export|from torch import .*\bexport\b"
    checks = ("training-mode",)
    cases: ClassVar = {
        "BadDropout": Case("`{target}` is exported in train mode and holds {part}: it stays on", _EVAL),
        "BadBatchNorm": Case("`{target}` is exported in train mode and holds {part}: it goes by each batch", _EVAL),
        "BadTrainCalled": Case("`{target}` is exported after `train()` and holds {part}", _EVAL),
        "BadUnseen": Case("`{target}` may still be in train mode: no `eval()` is seen on the way", _EVAL),
    }

    def visit_Call(self, node: cst.Call) -> None:
        target = self.exported(node)
        if target is None:
            return
        origin, steps = self.unchained(target)
        mode = next((mode for step in reversed(steps) if (mode := _mode(step))), None)
        if mode != "eval" and isinstance(origin, cst.Call):
            self._in_train_mode(node, origin, self.code.text(target), called_train=mode == "train")

    def _in_train_mode(self, node: cst.Call, origin: cst.Call, target: str, *, called_train: bool) -> None:
        part = self._part(origin, set())
        if part in _NORM:
            self.report(node, "BadTrainCalled" if called_train else "BadBatchNorm", target=target, part=f"`{part}`")
        elif part:
            self.report(node, "BadTrainCalled" if called_train else "BadDropout", target=target, part=f"`{part}`")
        elif self._unseen(origin):
            self.report(node, "BadUnseen", at_most=Severity.NOTE, target=target)

    def _part(self, origin: cst.CSTNode, seen: set[int]) -> str | None:
        """The first thing a model builds that behaves differently in train mode."""
        origin.visit(built := _Built())
        for call in built.calls:
            name = self.code.name(call.func) or ""
            last = name.rpartition(".")[2]
            if name.startswith("torch.nn.") and last in _DROPOUT | _NORM | _WITH_DROPOUT and not _switched_off(call):
                return last
            if name in _FUNCTIONAL:
                return "dropout"
            cls = self.local_class(call)
            if cls and id(cls) not in seen and (part := self._part_of_class(cls, seen | {id(cls)})):
                return part
        return None

    def _part_of_class(self, cls: cst.ClassDef, seen: set[int]) -> str | None:
        classes = [cls, *(base for base in self.bases(cls) if isinstance(base, cst.ClassDef))]
        return next((part for one in classes if (part := self._part(one.body, seen))), None)

    def _unseen(self, origin: cst.Call) -> bool:
        """A builder of the file that never says `eval`. What comes from libraries may have said it: silence."""
        made = self.bound(origin.func)
        if not isinstance(made, cst.FunctionDef):
            return False
        made.body.visit(built := _Built())
        return not any(called(call) in {"eval", "train"} for call in built.calls)


class _Built(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)


def _mode(call: cst.Call) -> str | None:
    """What a call leaves the module in: `train(False)` is `eval()`."""
    match called(call):
        case "eval":
            return "eval"
        case "train":
            off = call.args and isinstance(call.args[0].value, cst.Name) and call.args[0].value.value == "False"
            return "eval" if off else "train"
    return None


def _switched_off(call: cst.Call) -> bool:
    """`nn.Dropout(0.0)`."""
    return (
        bool(call.args) and isinstance(value := call.args[0].value, cst.Float | cst.Integer) and float(value.value) == 0
    )

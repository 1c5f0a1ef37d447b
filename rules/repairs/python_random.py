"""A coin that is thrown in every call, and looked at in training only, is thrown by torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.source.assigned_names import every, name_set_to, reads

if TYPE_CHECKING:
    from collections.abc import Iterator


_UNIT = frozenset({"random.random", "numpy.random.rand", "numpy.random.random", "numpy.random.random_sample"})
_BETWEEN = frozenset({"random.uniform", "numpy.random.uniform"})


class CoinOfTorch(Repair):
    """Other numbers than Python's come out, so only where no output depends on them without `self.training`."""

    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        if not isinstance(node, cst.Call) or (text := self._drawn(node)) is None:
            return
        name = name_set_to(self.code, node)
        if name is not None and all(map(self._is_in_training, reads(self.code, name))):
            yield Rewrite("draw with torch", (Change(node, text), ModuleImport("torch")))

    def _drawn(self, node: cst.Call) -> str | None:
        function = self.code.name(node.func)
        given = [self.source(arg.value) for arg in node.args if not arg.keyword and not arg.star]
        if len(given) != len(node.args):
            return None
        if function in _UNIT and not given:
            return "torch.rand(())"
        match given:
            case ["0" | "0.0", "1" | "1.0"] | [] if function in _BETWEEN:
                return "torch.rand(())"
            case [low, high] if function in _BETWEEN:
                return f"torch.rand(()) * ({high} - {_closed(low)}) + {low}"
        return None

    def _is_in_training(self, node: cst.CSTNode) -> bool:
        """Does `self.training and …` stand before it?"""
        now: cst.CSTNode | None = node
        while now is not None and not isinstance(now, cst.BaseStatement):
            above = self.code.parent(now)
            match above:
                case cst.BooleanOperation(operator=cst.And(), left=left, right=right) if right is now and _asks(left):
                    return True
                case cst.IfExp(test=test, body=body) if body is now and _asks(test):
                    return True
            now = above
        return False


def _closed(text: str) -> str:
    return text if text.replace(".", "").replace("_", "").isalnum() else f"({text})"


def _asks(test: cst.BaseExpression) -> bool:
    negated = any(isinstance(one, cst.Not | cst.Or) for one in every(test))
    return not negated and any(isinstance(one, cst.Attribute) and one.attr.value == "training" for one in every(test))

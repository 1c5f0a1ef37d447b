"""What stands around random numbers that torch draws instead of NumPy: the ways from an array to a tensor go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.operations.torch_for_numpy import DTYPES
from exportlint.rewriting.source.assigned_names import name_set_to, reads
from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


DRAWN = "\0"  # stands for a draw in the text of what is made of it
_BACK = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor"})
_FLOATS = frozenset({"torch.Tensor", "torch.FloatTensor"})
_NUMBERS = frozenset({"builtins.float", "builtins.int"})


@dataclass(frozen=True, slots=True)
class Draw:
    """A call of a torch function that draws, without its dtype: `torch.randn(2, 4` and what stands behind it."""

    head: str
    is_array: bool
    dtype: str = "torch.float64"

    def text(self, words: str) -> str:
        """With further arguments."""
        return f"{self.head}{words})"


def drawn_with(code: Code, node: cst.Call, draw: Draw, scaled: str) -> tuple[Change, ...] | None:
    """Changes that put the draw in the place of the call and of what makes a tensor, or a Python number, of it.

    scaled   the numbers as the call gives them, with DRAWN for those that are drawn: `DRAWN * 2.0 + 1.0`

    None where an array is used otherwise.
    """
    around = _Around(code, node, scaled, draw.dtype)
    if not draw.is_array:
        return (Change(around.outer, around.text(draw, "")),)
    if around.is_tensor:
        return (Change(around.outer, around.text(draw, around.words)),)
    name = name_set_to(code, around.outer)
    back = [_around_name(code, read) for read in reads(code, name)] if name is not None else []
    changes = [one for one in back if one is not None]
    if not changes or len(changes) < len(back):
        return None
    return (Change(around.outer, around.text(draw, around.words)), *changes)


def _around_name(code: Code, read: cst.Name) -> Change | None:
    """`torch.from_numpy(noise)`, which is `noise` now."""
    arg = code.parent(read)
    call = code.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or code.name(call.func) not in _BACK or call.args[0] is not arg:
        return None
    dtype = [code.source_of(one.value) for one in call.args[1:] if one.keyword and one.keyword.value == "dtype"]
    return Change(call, f"{read.value}.to({dtype[0]})" if dtype else read.value)


class _Around:
    """Climbs from a draw to the outermost expression that is a tensor, or a number, of it."""

    def __init__(self, code: Code, node: cst.Call, scaled: str, dtype: str) -> None:
        self._code = code
        self.outer: cst.BaseExpression = node
        self._scaled = scaled
        self._dtype = dtype
        self.is_tensor = False
        while (above := self._step()) is not None:
            self.outer = above

    @property
    def words(self) -> str:
        return f", dtype={self._dtype}"

    def text(self, draw: Draw, words: str) -> str:
        return self._scaled.replace(DRAWN, draw.text(words))

    def _step(self) -> cst.BaseExpression | None:
        """The next expression around; None where it is to stay."""
        above = self._code.parent(self.outer)
        match above:
            case cst.BinaryOperation() if not self.is_tensor and any(map(self._is_wrapped, self._parents(above))):
                left, right = (self._side(one) for one in (above.left, above.right))
                self._scaled = f"({left} {_operator(above)} {right})"
                return above
            case cst.Attribute(attr=cst.Name(value="astype")) if isinstance(call := self._code.parent(above), cst.Call):
                return call if self._has_dtype(call) else None
            case cst.Attribute(attr=cst.Name(value="float")) if self.is_tensor:
                call = self._code.parent(above)
                self._dtype = "torch.float32"
                return call if isinstance(call, cst.Call) else None
            case cst.Arg(keyword=None):
                call = self._code.parent(above)
                return call if isinstance(call, cst.Call) and self._converts(call, above) else None
        return None

    def _side(self, node: cst.BaseExpression) -> str:
        return self._scaled if node is self.outer else self._code.source_of(node)

    def _parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        above = self._code.parent(node)
        while above is not None and not isinstance(above, cst.BaseStatement):
            yield above
            above = self._code.parent(above)

    def _is_wrapped(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._code.name(node.func) in _BACK | _FLOATS

    def _converts(self, call: cst.Call, arg: cst.Arg) -> bool:
        name = self._code.name(call.func)
        if name in _NUMBERS:
            return len(call.args) == 1
        if self.is_tensor or name not in _BACK | _FLOATS or call.args[0] is not arg:
            return False
        self.is_tensor = True
        words = {one.keyword.value: self._code.source_of(one.value) for one in call.args[1:] if one.keyword}
        if name in _FLOATS:
            self._dtype = "torch.float32"
        self._dtype = words.pop("dtype", self._dtype)
        return not words and all(one.keyword for one in call.args[1:])

    def _has_dtype(self, call: cst.Call) -> bool:
        match call.args:
            case [cst.Arg(value=cst.SimpleString() as text)]:
                name = str(text.evaluated_value)
            case [cst.Arg(value=cst.Attribute(attr=cst.Name(value=name)))]:
                pass
            case _:
                return False
        self._dtype = f"torch.{DTYPES.get(name, name)}"
        return name in DTYPES


def _operator(node: cst.BinaryOperation) -> str:
    return cst.Module([]).code_for_node(node.operator).strip()

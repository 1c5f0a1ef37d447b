"""What Python or NumPy draws in every call is drawn by torch, whose generator the program has, too."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import ModuleImport, Repair, Rewrite
from exportlint.rewriting.operations.drawn_arrays import DRAWN, Draw, drawn_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_SEEDS = frozenset({"random.seed", "numpy.random.seed", "random.setstate", "numpy.random.set_state"})
_UNIT = frozenset({"random.random", "numpy.random.random", "numpy.random.random_sample"})
_BETWEEN = frozenset({"random.uniform", "numpy.random.uniform"})
_NORMAL = frozenset({"random.gauss", "random.normalvariate", "numpy.random.normal"})
_SPREAD = {"numpy.random.rand": "rand", "numpy.random.randn": "randn"}  # their arguments are sizes
_CHOICES = frozenset({"random.choice", "numpy.random.choice"})
_NAMES = {  # of the arguments, in their order
    "random.uniform": ("a", "b"),
    "random.gauss": ("mu", "sigma"),
    "random.normalvariate": ("mu", "sigma"),
    "random.randint": ("a", "b"),
    "random.randrange": ("start", "stop"),
    "random.choice": ("seq",),
    "numpy.random.random": ("size",),
    "numpy.random.random_sample": ("size",),
    "numpy.random.standard_normal": ("size",),
    "numpy.random.uniform": ("low", "high", "size"),
    "numpy.random.normal": ("loc", "scale", "size"),
    "numpy.random.randint": ("low", "high", "size"),
    "numpy.random.choice": ("a",),
}
_WHAT = "draw with torch, which gives other numbers of the same distribution"


class DrawsOfTorch(Repair):
    """Other numbers come out, so what is compared is what the model makes of the same numbers."""

    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        whole = self.code.cls.node if self.code.cls else self.code.module.tree
        calls = (one for one in ast.walk(whole) if isinstance(one, ast.Call))
        if not isinstance(node, cst.Call) or any(self.code.module.dotted(one.func) in _SEEDS for one in calls):
            return
        name = self.code.name(node.func) or ""
        drawn = self._spread(node, name) if name in _SPREAD else self._drawn(name, self._given(node, name))
        changes = drawn_with(self.code, node, *drawn) if drawn else None
        if changes:
            yield Rewrite(_WHAT, (*changes, ModuleImport("torch")))

    def _spread(self, node: cst.Call, name: str) -> tuple[Draw, str]:
        sizes = ", ".join(arg.star + self.source(arg.value) for arg in node.args)
        return Draw(f"torch.{_SPREAD[name]}({sizes or '()'}", is_array=bool(node.args)), DRAWN

    def _given(self, node: cst.Call, name: str) -> Mapping[str, str] | None:
        """The sources of the arguments, by name."""
        names = _NAMES.get(name, ())
        places = [arg for arg in node.args if not arg.keyword]
        if any(arg.star for arg in node.args) or len(places) > len(names):
            return None
        by_place = {name: self._closed(arg.value) for name, arg in zip(names, places, strict=False)}
        by_word = {arg.keyword.value: self._closed(arg.value) for arg in node.args if arg.keyword}
        found = by_place | by_word
        return {key: text for key, text in found.items() if text != "None"} if found.keys() <= {*names} else None

    def _closed(self, node: cst.BaseExpression) -> str:
        return f"({self.source(node)})" if node.lpar else self.source(node)

    def _drawn(self, name: str, given: Mapping[str, str] | None) -> tuple[Draw, str] | None:
        """The draw, and how its numbers are scaled."""
        if given is None:
            return None
        size = given.get("size", "()")
        first, second = (given.get(one) for one in (*_NAMES.get(name, ()), "", "")[:2])
        unit, normal = (Draw(f"torch.{one}({size}", "size" in given) for one in ("rand", "randn"))
        if name in _UNIT or (name in _BETWEEN and first in {None, "0", "0.0"} and second in {None, "1", "1.0"}):
            return unit, DRAWN
        if name in _BETWEEN and first and second:
            return unit, f"({DRAWN} * ({_closed(second)} - {_closed(first)}) + {_closed(first)})"
        if name == "numpy.random.standard_normal" or (name in _NORMAL and not given.keys() - {"size"}):
            return normal, DRAWN
        if name in _NORMAL:
            return normal, f"({DRAWN} * {_closed(second or '1.0')} + {_closed(first or '0.0')})"
        return _whole(name, first, second, size) if first else None


def _whole(name: str, first: str, second: str | None, size: str) -> tuple[Draw, str] | None:
    """Whole numbers; or one of a sequence of numbers, by a place that is drawn."""
    if name in _CHOICES:
        return Draw(f"torch.randint(len({first}), (1,)", is_array=False), f"torch.tensor({first})[{DRAWN}].squeeze(0)"
    if name == "random.randint" and second:
        bounds = f"{first}, {_closed(second)} + 1"
    elif name in {"random.randrange", "numpy.random.randint"}:
        bounds = f"{first}, {second}" if second else first
    else:
        return None
    return Draw(f"torch.randint({bounds}, {size}", size != "()", "torch.int64"), DRAWN


def _closed(text: str) -> str:
    plain = text.removeprefix("-").replace(".", "").replace("_", "").isalnum()
    return text if plain and not text.startswith("-") else f"({text})"

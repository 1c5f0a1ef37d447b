"""The state of recurrent layers, which a class keeps from call to call: how it begins, and a pair of it in buffers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered, buffer_line, sizes
from exportlint.rule.editing.repair import Elsewhere, InClass, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_LAYERS = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})
_CELLS = frozenset({"torch.nn.LSTMCell", "torch.nn.GRUCell", "torch.nn.RNNCell"})
_PARTS = ("h", "c")
_SEQUENCE = 3  # dims of a batch of sequences


def recurrent_zeros(code: Code, own: OwnAttribute) -> list[str]:
    """What the layers begin with where they are given None, of the sample's size: the texts of one tensor, or of two.

    Nothing where it is not the state of one layer that `__init__` makes.
    """
    for method in own.run:
        for call in ast.walk(method):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=layer), args=[given, state]) if (
                    own.is_own(state)
                ):
                    return _zeros(code, own, layer, given)
    return []


def _zeros(code: Code, own: OwnAttribute, layer: str, given: ast.expr) -> list[str]:
    made = OwnAttribute(own.cls, layer).defined
    name = code.module.dotted(made.func) if isinstance(made, ast.Call) else None
    if not isinstance(made, ast.Call) or name not in _LAYERS | _CELLS:
        return []
    words = {word.arg: word.value for word in made.keywords}
    hidden = made.args[1] if len(made.args) > 1 else words.get("hidden_size")
    batch = _batch(code, given, first=name in _CELLS or _is_true(words.get("batch_first")))
    plain = words.keys().isdisjoint({"proj_size", "bidirectional", "num_layers"}) and len(made.args) <= len(_PARTS)
    if hidden is None or batch is None or not plain:
        return []
    dims = [*([] if name in _CELLS else ["1"]), str(batch), ast.unparse(hidden)]
    return [f"torch.zeros({', '.join(dims)})"] * (len(_PARTS) if "LSTM" in (name or "") else 1)


def _batch(code: Code, given: ast.expr, *, first: bool) -> int | None:
    """How many sequences the sample has: by what the layer is given, or by what the function is."""
    function = code.function.node if code.function else None
    arguments = [one for one in ast.walk(function) if isinstance(one, ast.Name)] if function else []
    parameters = code.function.parameters[1:2] if code.function else ()
    places: list[ast.expr] = [given, *(one for one in arguments if one.id in parameters)]
    for place in places:
        dims = sizes(code.sketch.value(place))
        if dims:
            return dims[0] if first or len(dims) < _SEQUENCE else dims[1]
    return None


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def pair_in_buffers(code: Code, own: OwnAttribute) -> tuple[AnyChange, ...] | None:
    """`self.state = None` or a pair of tensors: two buffers, which a property of the old name gives and sets."""
    definition, value = own.definition, own.defined
    texts = _begins(code, own, value)
    if definition is None or len(texts) != len(_PARTS):
        return None
    names = [f"{own.name}_{part}" for part in _PARTS]
    lines = [buffer_line(name, text) for name, text in zip(names, texts, strict=True)]
    return (
        Elsewhere(definition, "\n".join(lines)),
        InClass(own.cls.node, "\n".join(_property(own, names))),
        ModuleImport("torch"),
    )


def _begins(code: Code, own: OwnAttribute, value: ast.expr | None) -> Sequence[str]:
    match value:
        case ast.Constant(value=None):
            return recurrent_zeros(code, own)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            found = [Registered(code, own).first_value(one) for one in elements if isinstance(one, ast.Call)]
            return [one for one in found if one is not None] if len(found) == len(elements) else []
    return []


def _property(own: OwnAttribute, names: Sequence[str]) -> Iterator[str]:
    yield from ["@property", f"def {own.name}(self):"]
    yield f"    return {', '.join(f'self.{name}.clone()' for name in names)}"
    yield from ["", f"@{own.name}.setter", f"def {own.name}(self, new):"]
    if any(isinstance(store.value, ast.Constant) and store.value.value is None for store in own.stores):
        yield "    if new is None:"
        yield from (f"        self.{name}.zero_()" for name in names)
        yield "        return"
    for index, name in enumerate(names):
        yield f"    self.{name}.copy_(new[{index}])"

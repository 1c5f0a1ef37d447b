"""Write the declaration that a target has as code. Torch's own text of a Dim leaves out a `min` of 2."""

from __future__ import annotations

from typing import Any

from exportlint.trial.child.dynamic_shapes.input_tensors import hint


class Written(str):
    """Code, which `repr` leaves as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def declared_code(shapes: Any) -> str:
    """The dims by their names, with their ranges, and the `dynamic_shapes` that uses them."""
    named: dict[str, str] = {}
    text = repr(_part(shapes, named))
    uses = [*named.values(), text]
    imports = ["from torch.export import Dim", ""] if named or "Dim." in text else []
    return "\n".join([*imports, *uses[:-1], f"dynamic_shapes = {text}"])


def bounds(what: Any) -> str:
    """`, min=2, max=8`, as far as they were declared."""
    low, high = getattr(what, "min", None), getattr(what, "max", None)
    least = f", min={low}" if low else ""
    return least + (f", max={high}" if high is not None and str(high) != "int_oo" and high < 1 << 62 else "")


def _part(value: Any, named: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _part(part, named) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_part(part, named) for part in value)
    if hasattr(value, "__name__"):
        return Written(_dim(value, named))
    if value is None or isinstance(value, int) or (kind := hint(value)) is None:
        return value
    given = bounds(value).removeprefix(", ")
    return Written(f"Dim.{kind}({given})" if given else f"Dim.{kind}")


def _dim(what: Any, named: dict[str, str]) -> str:
    """The name; of a dim that is computed from another, that one is declared."""
    root = getattr(what, "root", None)
    if root is not None:
        _dim(root, named)
        return str(what.__name__)
    name = str(what.__name__)
    if name.isidentifier():
        named[name] = f'{name} = Dim("{name}"{bounds(what)})'
        return name
    return f'Dim("{name}"{bounds(what)})'

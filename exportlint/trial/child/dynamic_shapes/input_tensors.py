"""The tensors among a model's inputs, by the names that people, torch and `dynamic_shapes` give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.execution.inputs.input_sets import Inputs


DimPlace = tuple[str, int]  # label of a tensor, dim


@dataclass(frozen=True)
class InputTensor:
    """A tensor: `label` is for people ("batch['mask']"), `names` are torch's own, by mode and version."""

    label: str
    names: tuple[str, ...]
    value: torch.Tensor
    declared: Any = None

    def asked(self) -> dict[int, Any]:
        """Dim -> what was declared for it, where that leaves it dynamic."""
        given = self.declared
        if isinstance(given, (tuple, list)):
            given = dict(enumerate(given))
        if not isinstance(given, dict):
            return {}
        rank = self.value.dim()
        return {dim % rank: what for dim, what in given.items() if rank and is_dynamic(what)}


def is_dynamic(what: Any) -> bool:
    """Neither None, a number nor Dim.STATIC."""
    return what is not None and not isinstance(what, int) and hint(what) != "STATIC"


def hint(what: Any) -> str | None:
    """AUTO, DYNAMIC or STATIC; None for a named Dim. A hint was an enum before 2.7."""
    return getattr(getattr(what, "type", what), "name", None)


def input_tensors(model: Any, inputs: Inputs, declared: Any = None) -> list[InputTensor]:
    """Every tensor of the inputs with its declaration.

    A declaration of another structure counts as none: torch itself refuses it.
    """
    args, kwargs = inputs
    combined = pytree.by_parameter(model, args, kwargs)
    flat = {id(value): index for index, value in reversed(list(enumerate(pytree.tree_leaves((args, kwargs)))))}
    given = {id(tensor): path for path, tensor, _ in _walk((args, kwargs), None, "")}
    top = _top(model, inputs, declared, list(combined))
    return [
        InputTensor(
            f"{name}{path}",
            (f"L['{name}']{path}", f"L['flat_args'][{flat.get(id(tensor))}]", f"L['args']{given.get(id(tensor))}"),
            tensor,
            spec,
        )
        for name, value in combined.items()
        for path, tensor, spec in _walk(value, top.get(name), "")
    ]


def plain_inputs(model: Any, inputs: Inputs) -> list[tuple[str, Any]]:
    """The numbers, words and Nones of the inputs: what is no tensor, and of which an export makes constants."""
    combined = pytree.by_parameter(model, *inputs)
    found = ((name, *pair) for name, value in combined.items() for pair in _leaves(value, ""))
    return [(f"{name}{path}", value) for name, path, value in found if not isinstance(value, torch.Tensor)]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = _children(value)
    if not children:
        yield path, value
    for key, child in children:
        yield from _leaves(child, f"{path}{key}")


def _top(model: Any, inputs: Inputs, declared: Any, names: list[str]) -> dict[str, Any]:
    """By argument, whatever form it was given in: dict, list, ShapesCollection, AdditionalInputs."""
    if hasattr(declared, "dynamic_shapes"):
        declared = declared.dynamic_shapes(model, *inputs)
    if isinstance(declared, dict):
        return declared
    return dict(zip(names, declared, strict=False)) if isinstance(declared, (tuple, list)) else {}


def _walk(value: Any, spec: Any, path: str) -> Iterator[tuple[str, torch.Tensor, Any]]:
    if isinstance(value, torch.Tensor):
        yield path, value, spec
        return
    for index, (key, child) in enumerate(_children(value)):
        yield from _walk(child, _part(spec, index, key), f"{path}{key}")


def _part(spec: Any, index: int, key: str) -> Any:
    if isinstance(spec, dict):
        return next((part for name, part in spec.items() if f"[{name!r}]" == key), None)
    return spec[index] if isinstance(spec, (tuple, list)) and index < len(spec) else None


def _children(value: Any) -> list[tuple[str, Any]]:
    """The parts of a container as pytree sees them, with what is written to reach each."""
    node = pytree.SUPPORTED_NODES.get(pytree.node_type(value))
    if node is None:
        return []
    if node.flatten_with_keys_fn is not None:
        return [(str(key), child) for key, child in node.flatten_with_keys_fn(value)[0]]
    return [(f"[{index}]", child) for index, child in enumerate(node.flatten_fn(value)[0])]


def tree_of(model: Any, inputs: Inputs, give: Callable[[str, torch.Tensor], Any]) -> dict[str, Any]:
    """A `dynamic_shapes` for the inputs: `give(label, tensor)` for tensors, None for what is none."""
    return {name: _tree(value, name, give) for name, value in pytree.by_parameter(model, *inputs).items()}


def _tree(value: Any, path: str, give: Callable[[str, torch.Tensor], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return give(path, value)
    kind = pytree.node_type(value)
    if kind not in pytree.SUPPORTED_NODES:
        return None
    parts = [_tree(child, f"{path}{key}", give) for key, child in _children(value)]
    if isinstance(value, dict):
        return type(value)(zip(value, parts, strict=True))
    if kind in pytree.BUILTIN_TYPES:
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    # A class of one's own is declared by the list, or the tuple, that it is flattened into.
    flat = pytree.SUPPORTED_NODES[kind].flatten_fn(value)[0]
    return type(flat)(parts) if isinstance(flat, (list, tuple)) else parts


def fitting(model: Any, inputs: Inputs, declared: Any) -> Any:
    """What a declaration says, in the structure of the inputs; None where it cannot be said there.

    A name that no argument has stands for the one argument that is not named; what is not named stays as it is.
    """
    given = pytree.by_parameter(model, *inputs)
    if isinstance(declared, dict) and len(given) == 1:
        (inner,) = given.values()
        declared = (
            {next(iter(given)): declared} if isinstance(inner, dict) and declared.keys() <= inner.keys() else declared
        )
    elif isinstance(declared, (tuple, list)) and len(given) == 1 < len(declared):
        (inner,) = given.values()
        declared = [declared] if isinstance(inner, (tuple, list)) and len(inner) == len(declared) else declared
    top = _top(model, inputs, declared, list(given))
    spare, left = [name for name in top if name not in given], [name for name in given if name not in top]
    if len(spare) == len(left) == 1:
        top = {left[0] if name == spare[0] else name: spec for name, spec in top.items()}
    elif any(top[name] is not None for name in spare):
        return None
    said = {
        f"{name}{path}": spec
        for name, value in given.items()
        for path, _, spec in _walk(value, _spread(value, top.get(name)), "")
    }
    found = tree_of(model, inputs, lambda label, tensor: _of_rank(said.get(label), tensor))
    return found if any(tensor.asked() for tensor in input_tensors(model, inputs, found)) else None


def _spread(value: Any, spec: Any) -> Any:
    """The sizes of one tensor, declared for a list of several, are those of each."""
    of_one = isinstance(spec, dict) and spec and all(isinstance(key, int) for key in spec)
    return [spec] * len(value) if of_one and isinstance(value, (tuple, list)) else spec


def _of_rank(spec: Any, tensor: torch.Tensor) -> Any:
    """A declaration of a tensor, as far as it is one."""
    if isinstance(spec, dict):
        return {dim: what for dim, what in spec.items() if isinstance(dim, int) and -tensor.dim() <= dim < tensor.dim()}
    if isinstance(spec, (tuple, list)):
        return {dim: what for dim, what in enumerate(spec) if dim < tensor.dim() and is_dynamic(what)}
    return None


# Write the declaration that a target has as code. Torch's own text of a Dim leaves out a `min` of 2.


class Written(str):
    """Code, which `repr` leaves as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def declared_code(shapes: Any) -> str:
    """The dims by their names, with their ranges, and the `dynamic_shapes` that uses them."""
    named: dict[str, str] = {}
    text = repr(_written_part(shapes, named))
    uses = [*named.values(), text]
    imports = ["from torch.export import Dim", ""] if named or "Dim." in text else []
    return "\n".join([*imports, *uses[:-1], f"dynamic_shapes = {text}"])


def bounds(what: Any) -> str:
    """`, min=2, max=8`, as far as they were declared."""
    low, high = getattr(what, "min", None), getattr(what, "max", None)
    least = f", min={low}" if low else ""
    return least + (f", max={high}" if high is not None and str(high) != "int_oo" and high < 1 << 62 else "")


def _written_part(value: Any, named: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _written_part(part, named) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_written_part(part, named) for part in value)
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

"""Lines that register a class with pytree, under a name for saving."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ClassInfo


_DICTIONARIES = frozenset({"builtins.dict", "collections.OrderedDict"})


def registration(cls: ClassInfo) -> str | None:
    """The call for a class of a file that imports torch; None where it is not plain how its objects are made."""
    name, known = cls.name, f'"{cls.module.name}.{cls.name}"'
    if any(base.rpartition(".")[2] == "NamedTuple" for base in cls.base_names):
        return named_tuple_registration(name, known)
    if cls.is_record:
        return f"torch.export.register_dataclass({name}, serialized_type_name={known})"
    if any(base in _DICTIONARIES for base in cls.foreign_bases):
        made = None if cls.method("__init__") else f"{name}(zip(keys, values, strict=True))"
        return made and node_registration(name, known, "value.values()", "value", made)
    fields = plain_fields(cls)
    return _of_fields(name, known, fields) if fields else None


def named_tuple_registration(name: str, known: str) -> str:
    """`known`: the source of the name under which it is saved."""
    return f"torch.utils._pytree._register_namedtuple({name}, serialized_type_name={known})"


def node_registration(name: str, known: str, values: str, keys: str, made: str) -> str:
    """Of a class whose objects hold values under keys; the texts are expressions of `value`, `keys` and `values`."""
    pairs = f"zip(map(torch.utils._pytree.MappingKey, {keys}), {values}, strict=True)"
    return "\n".join((
        "torch.utils._pytree.register_pytree_node(",
        f"    {name},",
        f"    lambda value: (list({values}), list({keys})),",
        f"    lambda values, keys: {made},",
        f"    serialized_type_name={known},",
        f"    flatten_with_keys_fn=lambda value: (list({pairs}), list({keys})),",
        ")",
    ))  # fmt: skip


def plain_fields(cls: ClassInfo) -> Sequence[str]:
    """The attributes in the order of the parameters of `__init__`, where they hold what it was given, and it can be
    called again with them."""
    init = cls.method("__init__")
    if init is None or isinstance(init.node, ast.Lambda):
        return ()
    given = init.node.args
    if given.vararg or given.kwarg or given.kwonlyargs:
        return ()
    stores = (one for one in ast.walk(init.node) if isinstance(getattr(one, "ctx", None), ast.Store))
    written = Counter(map(ast.unparse, stores))
    fields = {name: field for statement in init.node.body for name, field in _kept(statement)}
    parameters = init.parameters[1:]
    once = all(written[f"self.{field}"] == 1 for field in fields.values())
    if fields.keys() != {*parameters} or not once or any(name in written for name in parameters):
        return ()
    return [fields[name] for name in parameters]


def _kept(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """The name and the attribute of `self.mean = mean`."""
    match statement:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=field)], value=ast.Name(id=name))
            | ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=field), value=ast.Name(id=name))
        ):
            yield name, field


def _of_fields(name: str, known: str, fields: Sequence[str]) -> str:
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    values = ", ".join(f"{word}.{field}" for field in fields)
    pairs = (f'            (torch.utils._pytree.GetAttrKey("{field}"), {word}.{field}),' for field in fields)
    return "\n".join((
        "torch.utils._pytree.register_pytree_node(",
        f"    {name},",
        f"    lambda {word}: ([{values}], None),",
        f"    lambda values, _: {name}(*values),",
        f"    serialized_type_name={known},",
        f"    flatten_with_keys_fn=lambda {word}: (",
        "        [",
        *pairs,
        "        ],",
        "        None,",
        "    ),",
        ")",
    ))  # fmt: skip

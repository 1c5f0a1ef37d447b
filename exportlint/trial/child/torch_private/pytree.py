"""Structures of values as torch takes them apart, and the arguments of a model by the names of their parameters."""

from __future__ import annotations

from typing import Any

from torch.export._tree_utils import reorder_kwargs
from torch.export.dynamic_shapes import _combine_args
from torch.utils import _pytree
from torch.utils._pytree import (
    BUILTIN_TYPES,
    SUPPORTED_NODES,
    SequenceKey,
    TreeSpec,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "BUILTIN_TYPES",
    "SUPPORTED_NODES",
    "SequenceKey",
    "TreeSpec",
    "by_parameter",
    "keystr",
    "node_type",
    "reorder_kwargs",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]


def by_parameter(model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names of forward's parameters, in their order, as `dynamic_shapes` has them."""
    return dict(_combine_args(model, args, kwargs))


def node_type(value: Any) -> Any:
    """What torch.export itself asks of a container; it knows named tuples."""
    return _pytree._get_node_type(value)

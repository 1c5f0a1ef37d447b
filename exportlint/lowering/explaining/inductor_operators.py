"""What inductor would do with each operator: of its decompositions of the program, before it makes kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import FALLBACK, MISSING, SUPPORTED, OperatorUse
from exportlint.lowering.explaining.program_graph import operator_of, uses_by_support

if TYPE_CHECKING:
    import torch

IN_PYTHON = "it is defined in Python, and a package runs without Python"
_ITS_DTYPE = "calls ATen's kernel: inductor makes none for the dtypes that it is given here"
_ATEN = "calls ATen's kernel: inductor has none of its own"
_LIBRARY = "calls the kernel of the library that registers it, which must be loaded where the package runs"


def inductor_operators(program: torch.export.ExportedProgram) -> list[OperatorUse]:
    """A kernel of inductor's own, or a call of the operator by the package, which needs it in C++.

    What inductor lowers counts as its own, though on a CPU some lowerings (of sort, topk, median, cumulative sums) call
    ATen in the end: they decide that when they are given the tensors."""
    from torch._inductor.decomposition import select_decomp_table  # noqa: PLC0415 - see the module `backend`

    graph = program.run_decompositions({**_composites(), **select_decomp_table()}).graph_module
    return list(uses_by_support(program, graph, _support))


def _composites() -> dict[Any, Any]:
    """Operators that torch itself writes with others; inductor sees none of these."""
    from torch._export.utils import _collect_all_valid_cia_ops, _get_decomp_for_cia  # noqa: PLC0415 - as above

    return {operator: _get_decomp_for_cia(operator) for operator in _collect_all_valid_cia_ops()}


def _support(node: torch.fx.Node) -> tuple[str, str] | None:
    """In the order in which inductor decides it; nothing is known of operators of a higher order without a lowering."""
    from torch._inductor.lowering import fallback_node_due_to_unsupported_type, lowerings  # noqa: PLC0415
    from torch._library.utils import is_builtin  # noqa: PLC0415 - see the module `backend`
    from torch._ops import OpOverload  # noqa: PLC0415

    operator = operator_of(node)
    ours = lowerings.get(operator)
    own = ours is not None and not getattr(ours, "_is_fallback_handler", False)
    if not isinstance(operator, OpOverload):
        return (SUPPORTED, "") if own else None
    if is_builtin(operator):
        if fallback_node_due_to_unsupported_type(node):
            return FALLBACK, _ITS_DTYPE
        return (SUPPORTED, "") if own else (FALLBACK, _ATEN)
    return (SUPPORTED, "") if own else _of_a_library(operator)


def _of_a_library(operator: torch._ops.OpOverload) -> tuple[str, str]:
    from torch.library import _defs  # noqa: PLC0415 - what Python defined, and no library in C++

    name = operator._schema.name  # noqa: SLF001 - torch has no other name for it
    in_python = any(known.partition(".")[0] == name for known in _defs)
    return (MISSING, IN_PYTHON) if in_python else (FALLBACK, _LIBRARY)

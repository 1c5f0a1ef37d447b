"""What ExecuTorch would do with each operator: of its edge program, before anything is written into a file."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import DELEGATED, MISSING, SUPPORTED, OperatorUse
from exportlint.lowering.explaining.program_graph import operator_of, uses_by_support

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import torch

# The one that compiling meets with the same operator; see `executorch_reasons`.
NOT_CORE = "neither a kernel nor a decomposition into operators of Core ATen is there"
NO_OUT_VARIANT = "no out variant, which writes to memory that was planned, is registered"
NO_KERNEL = "the runtime has no kernel for"
WRITES = "it writes to its arguments, and what torch makes of such an operator has no out variant"
_NO_CONFIGURATION = "the partitioner has no configuration for it"


def edge_operators(program: torch.export.ExportedProgram, partitioners: Sequence[Any]) -> list[OperatorUse]:
    """What a partitioner takes is delegated; of the rest, the runtime of this process knows its kernels."""
    from executorch.runtime import Runtime  # noqa: PLC0415 (the package may be missing)

    with _rejected() as reasons:
        graph = _edge_graph(program, partitioners)
    kernels = Runtime.get().operator_registry.operator_names
    known = {name for one in partitioners for name in getattr(one, "target_partitioner_configs", ())}

    def support(node: torch.fx.Node) -> tuple[str, str] | None:
        operator = operator_of(node)
        if "delegation_tag" in node.meta:
            return DELEGATED, ""
        if not hasattr(operator, "_schema"):
            return None
        if not hasattr(node.target, "_schema"):
            return MISSING, WRITES
        if why := _why_missing(operator, kernels):
            return MISSING, why
        unknown = _NO_CONFIGURATION if partitioners and not _is_known(operator, known) else ""
        return SUPPORTED, reasons.get(node.name, unknown)

    return list(uses_by_support(program, graph, support))


def _is_known(operator: Any, known: set[str]) -> bool:
    """A configuration is named without the namespace."""
    return str(operator).partition(".")[2] in known


class _Partitioned(Exception):  # noqa: N818 - it ends the work early, and is no error
    """What the partitioner chose, and nothing of it compiled."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        super().__init__()
        self.graph = graph


def _edge_graph(program: torch.export.ExportedProgram, partitioners: Sequence[Any]) -> torch.fx.GraphModule:
    """Not verified, since that would end at the first operator without a kernel, and without the checks of sizes, which
    no file contains."""
    from executorch.exir.passes.remove_graph_asserts_pass import RemoveGraphAssertsPass  # noqa: PLC0415 (as above)

    made = _with_checks(program, partitioners)
    RemoveGraphAssertsPass()(made)
    return made


def _with_checks(program: torch.export.ExportedProgram, partitioners: Sequence[Any]) -> torch.fx.GraphModule:
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower  # noqa: PLC0415 (as above)

    if partitioners:
        _stop_after(partitioners[-1])
    config = EdgeCompileConfig(_check_ir_validity=False)
    try:
        edge = to_edge_transform_and_lower(program, partitioner=list(partitioners), compile_config=config)
    except _Partitioned as partitioned:
        return partitioned.graph
    graph: torch.fx.GraphModule = edge.exported_program().graph_module
    return graph


def _stop_after(partitioner: Any) -> None:
    """Compiling the parts, which comes next, takes longer than all before."""
    usual = partitioner.partition

    def partition(program: torch.export.ExportedProgram) -> None:
        raise _Partitioned(usual(program).tagged_exported_program.graph_module)

    partitioner.partition = partition


def _why_missing(operator: torch._ops.OpOverload, kernels: set[str]) -> str:
    """As the verifier, the pass that makes out variants, and the loader of the runtime would say it, in this order."""
    from executorch.exir.dialects.edge.op.api import SchemaKind, to_variant  # noqa: PLC0415 (the package may be missing)
    from executorch.exir.passes import to_out_var_skiplist  # noqa: PLC0415 (as above)

    if operator in to_out_var_skiplist:
        return ""
    if not _is_core(operator):
        return NOT_CORE
    try:
        run = to_variant(operator, SchemaKind.out)
    except (RuntimeError, AssertionError, AttributeError):  # the last of a schema that it cannot read
        return "" if _registered(operator) in kernels else NO_OUT_VARIANT
    return "" if _registered(run) in kernels else f"{NO_KERNEL} {_registered(run)}"


def _is_core(operator: torch._ops.OpOverload) -> bool:
    """The verifier takes operators of other namespaces as they are."""
    from executorch.exir.verification.verifier import EXIRATenDialectVerifier  # noqa: PLC0415 (as above)
    from torch._export.verifier import SpecViolationError  # noqa: PLC0415 - see the module `backend`

    try:
        EXIRATenDialectVerifier().check_valid_op(operator)
    except SpecViolationError:
        return False
    return True


def _registered(operator: torch._ops.OpOverload) -> str:
    """`aten::add.out`; an overload without a name has no point."""
    schema = operator._schema  # noqa: SLF001 - torch has no other name for it
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


@contextlib.contextmanager
def _rejected() -> Iterator[dict[str, str]]:
    """By the name of the node, why a configuration of XNNPACK did not take it: it tells that to its log alone."""
    reasons: dict[str, str] = {}

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            why = record.msg
            if node := getattr(why, "node", None):
                reasons[node.name] = str(getattr(why, "reason", "")).rstrip(".")

    log = logging.getLogger("executorch.backends.xnnpack.partition")
    before, keeper = (log.level, log.propagate), Keeper()
    log.addHandler(keeper)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield reasons
    finally:
        log.removeHandler(keeper)
        log.setLevel(before[0])
        log.propagate = before[1]

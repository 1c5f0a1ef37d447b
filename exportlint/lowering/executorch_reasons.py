"""What ExecuTorch means by an exception, an error number or its log, what to write instead, and its dry run.

ExecuTorch says little: its runtime gives a number, the reason stands in a log, and the place nowhere. So each kind of
refusal that was seen has a function here that knows its signs, finds the operator, and from that the line of the model.
The dry run asks the same questions of all operators before anything is written into a file.
"""

from __future__ import annotations

import contextlib
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import DELEGATED, MISSING, SUPPORTED, OperatorUse, Raised, Reason
from exportlint.lowering.converters import BOOL_PREDICATE, operator_of, uses_by_support

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch


# executorch/runtime/core/error.h; the runtime's exceptions carry the number alone.
ERRORS = {
    0x01: "Internal",
    0x02: "InvalidState",
    0x10: "NotSupported",
    0x11: "NotImplemented",
    0x12: "InvalidArgument",
    0x13: "InvalidType",
    0x14: "OperatorMissing",
    0x20: "NotFound",
    0x21: "MemoryAllocationFailed",
    0x23: "InvalidProgram",
    0x30: "DelegateInvalidCompatibility",
    0x31: "DelegateMemoryAllocationFailed",
    0x32: "DelegateInvalidHandle",
}

# What its portable kernels compute in the place of an operator that they do not have; tests run each of them, and what
# is advised below.
INSTEAD = {
    "aten::sort": "write `torch.topk(x, x.shape[-1], largest=False)` for `torch.sort(x)`",
    "aten::median": "write `torch.topk(x.flatten(), (x.numel() + 1) // 2, largest=False)[0][-1]`",
    "aten::kthvalue": "write `torch.topk(x, k, largest=False)[0][..., -1]`",
    "aten::bucketize": "write `(x.unsqueeze(-1) > boundaries).sum(-1)`",
    "aten::searchsorted": "write `(x.unsqueeze(-1) > boundaries).sum(-1)`",
    "aten::var_mean": "write `x.var(dim)` and `x.mean(dim)`",
    "aten::hypot": "write `(x * x + y * y).sqrt()`",
    "aten::bincount": "write `(x.unsqueeze(-1) == torch.arange(length)).sum(0)`",
    "aten::_embedding_bag_forward_only": "write `torch.nn.functional.embedding(x, weight).mean(1)`",
    "aten::cumprod": "of positive numbers, write `x.log().cumsum(dim).exp()`",
    "aten::multinomial": "draw outside of the model and pass the indices in",
    "aten::rand_like": "draw outside of the model and pass the numbers in",
}
_TENSORS = "keep it a tensor: `x.max().clamp(min=1)` for `max(x.max().item(), 1)`; leave checks of such numbers out"
_NO_OPERATOR = "compute it before the model runs and pass it in, or write it with operators of Core ATen"
_NO_COMPLEX = (
    "compute with real and imaginary part as two real tensors; an FFT of a fixed length is a product with the matrices "
    "`torch.cos(2 * torch.pi * i * k / n)` and `-torch.sin(2 * torch.pi * i * k / n)`"
)
_NO_DTYPE = "compute in float32 or int64, and change the dtype outside of the model"
_NO_GRADIENTS = "export without gradients: `model.requires_grad_(False)` before, or `with torch.no_grad():` around it"
_BOUND_DIM = 'give the dim an end that memory can be planned for: `torch.export.Dim("batch", max=…)`'
_BOUND_SIZE = "state the largest size that can come, before it is used: `torch._check(size <= …)`"


@dataclass(frozen=True)
class Emitted:
    """The program as the runtime runs it.

    instructions  the operator of each, "" of what calls no kernel
    traces        for each operator the stack traces of its nodes, in the order of their calls
    inputs        the names of the program's inputs
    writing       operators of the program, not torch's own, that write to their arguments
    writers       for each of its placeholders the nodes that write to it
    of_numbers    functions of Python that compute with sizes and numbers read from data, each with its first node
    predicates    the nodes of torch.cond whose predicate is no bool
    """

    instructions: Sequence[str] = ()
    traces: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    writing: Sequence[str] = ()
    writers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_numbers: Mapping[str, str] = field(default_factory=dict)
    predicates: Sequence[str] = ()

    def trace(self, operator: str, instruction: int | None = None) -> str:
        """Of the node behind an instruction, or of the first one with the operator."""
        known = self.traces.get(operator, ())
        before = self.instructions[: instruction or 0].count(operator)
        return known[before] if before < len(known) else ""


def reason_of(raised: Raised, emitted: Emitted) -> Reason:
    """The first explanation whose signs are there; else the exception's own words."""
    for explain in _EXPLANATIONS:
        if found := explain(raised, emitted):
            return found
    last = raised.error_class.rpartition(".")[2]
    return Reason(f"{last}: {raised.text}{_number(raised)}")


_CODE = re.compile(r"error:? (?:0x:?)([0-9a-fA-F]+)")


def _number(raised: Raised) -> str:
    found = _CODE.search(raised.text)
    return f" ({ERRORS.get(int(found[1], 16), 'unknown')})" if found else ""


def _without(operators: Sequence[str], what: str, trace: str = "") -> Reason:
    """`what` is said of operators by their dotted names or those of the registry."""
    bare = [re.sub(r"\.\w+$", "", name.replace("aten.", "aten::", 1)) for name in operators]
    suggestion = next((INSTEAD[name] for name in bare if name in INSTEAD), _NO_OPERATOR)
    return Reason(f"{what} {', '.join(bare)}", tuple(bare), suggestion, trace=trace)


_NOT_CORE = re.compile(r"Operator torch\._ops\.(\w+\.\w+\.\w+) is not in Core ATen opset")


def _not_core(raised: Raised, _emitted: Emitted) -> Reason | None:
    found = _NOT_CORE.findall(raised.text)
    said = "neither a kernel nor a decomposition into operators of Core ATen is there for"
    return _without(tuple(dict.fromkeys(found)), said) if found else None


_COMPLEX = re.compile(r"EdgeOpOverload: (\w+\.\w+)[^\n]*torch\.(complex\d+)")


def _complex(raised: Raised, _emitted: Emitted) -> Reason | None:
    if found := _COMPLEX.search(raised.text):
        text = f"`{found[1]}` is given {found[2]}, and its kernels take real tensors only"
        return Reason(text, suggestion=_NO_COMPLEX)
    if found := re.search(r"(ComplexFloat|ComplexDouble|complex64|complex128)", f"{raised.text} {raised.printed}"):
        dtype = {"ComplexFloat": "complex64", "ComplexDouble": "complex128"}.get(found[1], found[1])
        return Reason(f"its kernels do not take {dtype}", suggestion=_NO_COMPLEX, dtype=dtype)
    return None


_OUT_VARIANT = re.compile(r"Missing out variants: \{([^}]*)\}")


def _no_out_variant(raised: Raised, _emitted: Emitted) -> Reason | None:
    found = _OUT_VARIANT.search(raised.text)
    if found is None:
        return None
    names = tuple(re.findall(r"[\w:.]+", found[1]))
    ours = 'register its out variant (`torch.library.Library.define("name.out(…, *, Tensor(a!) out) -> Tensor(a!)")`)'
    text = f"no out variant, which writes to memory that was planned, is registered for {', '.join(names)}"
    return Reason(text, names, f"{ours} and build its kernel into the runtime, or write it with operators of torch")


def _writing(raised: Raised, emitted: Emitted) -> Reason | None:
    """It asks torch's wrapper around such an operator for a schema."""
    if not emitted.writing or "'NoneType' object has no attribute 'kind'" not in raised.text:
        return None
    text = f"operators that write to their arguments are not taken: {', '.join(emitted.writing)}"
    return Reason(text, tuple(emitted.writing), "write it with operators of torch, which may be in-place ones")


_LEAF = re.compile(r"leaf Variable that requires grad .*?While executing %\w+ .*?args = \(%(\w+)", re.DOTALL)


def _leaf(raised: Raised, emitted: Emitted) -> Reason | None:
    """A buffer that the trace found to need gradients, since what is written to it does."""
    found = _LEAF.search(raised.text)
    text = "what is written to a buffer needs gradients, and ExecuTorch writes it with torch's check for that"
    nodes = tuple(emitted.writers.get(found[1], ())) if found else ()
    return Reason(text, suggestion=_NO_GRADIENTS, nodes=nodes) if found else None


_SYMBOL = re.compile(r"finite upper bound for symbolic expression (\S+)")


def _unbounded(raised: Raised, _emitted: Emitted) -> Reason | None:
    found = _SYMBOL.search(raised.text)
    text = "a size is read from data and has no upper bound, so that no memory can be planned for it"
    return Reason(f"{text} ({found[1]})", suggestion=_BOUND_SIZE) if found else None


_MISSING = re.compile(r"Missing operator: \[\d+\] (\S+)")


def _no_kernel(raised: Raised, emitted: Emitted) -> Reason | None:
    found = list(dict.fromkeys(_MISSING.findall(raised.printed)))
    return _without(found, "the runtime has no kernel for", emitted.trace(found[0])) if found else None


_CAPACITY = re.compile(r"maximum capacity of (\d+) elements to (\d+) elements")
_INPUT = re.compile(r"Error resizing tensor at input (\d+)")


def _too_large(raised: Raised, emitted: Emitted) -> Reason | None:
    size, at = _CAPACITY.search(raised.printed), _INPUT.search(raised.printed)
    if size is None or at is None:
        return None
    number = int(at[1])
    name = f"`{emitted.inputs[number]}`" if number < len(emitted.inputs) else at[1]
    text = f"memory was planned for {size[1]} elements of the input {name}, and {size[2]} were given"
    return Reason(f"{text}: a dynamic dim without an upper bound is planned for the sample's size", (), _BOUND_DIM)


_FAILED = re.compile(r"KernelCall failed at instruction \d+:(\d+) in operator ([\w:.]+): 0x([0-9a-fA-F]+)")
_WHY = re.compile(r"\[op_\w+\.cpp:\d+\] ([^\n]+)|Check failed \(([^\n]+)\)")
_DTYPE = re.compile(r"[Uu]nhandled dtype (\w+)")


def _failed_kernel(raised: Raised, emitted: Emitted) -> Reason | None:
    found = _FAILED.search(raised.printed)
    if found is None:
        return None
    before = raised.printed[: found.start()]
    said = [one or other for one, other in _WHY.findall(before)]
    name = ERRORS.get(int(found[3], 16), f"0x{found[3]}")
    why = f": {said[-1].strip(' :')}" if said else ""
    text = f"the kernel of {found[2]} gives up with {name}{why}"
    suggestion = _NO_DTYPE if _DTYPE.search(before) else ""
    return Reason(text, (found[2],), suggestion, trace=emitted.trace(found[2], int(found[1])))


_PLAIN = re.compile(r"Unsupported python type <class '(\w+)'>")


def _plain(raised: Raised, _emitted: Emitted) -> Reason | None:
    if found := _PLAIN.search(raised.text):
        text = f"its programs take tensors and numbers, and the model is given a {found[1]}"
        return Reason(text, suggestion="decide it when the model is built, and export one program for each value")
    return None


_CONTROL = re.compile(r"Unsupported control flow operator: (\w+)")
_STEPS = "run as many steps as can come, and keep what is done: `x = torch.where(going_on(x), step(x), x)` in a `for`"


def _control_flow(raised: Raised, _emitted: Emitted) -> Reason | None:
    found = _CONTROL.search(raised.text)
    return Reason(f"it has no control flow operator `{found[1]}`", (found[1],), _STEPS) if found else None


_DECIDES = re.compile(r"(?:guard on|specialized integer from) data-dependent expression (.+?) \(unhinted")
_MASKED = "keep the size fixed: multiply by a mask, `torch.arange(length) < size`, in place of cutting"


def _unknown_size(raised: Raised, _emitted: Emitted) -> Reason | None:
    found = _DECIDES.search(raised.text)
    text = "a size that is read from data decides in a decomposition that ExecuTorch asks for"
    return Reason(f"{text} ({found[1]})", suggestion=_MASKED) if found else None


def _predicate(raised: Raised, emitted: Emitted) -> Reason | None:
    """The runtime says no more than that the program is invalid."""
    if not (emitted.predicates and re.search(r"error:? 0x0?23", raised.text)):
        return None
    text = "the runtime jumps by a bool, and the predicate of torch.cond is a tensor of numbers"
    return Reason(text, suggestion=BOOL_PREDICATE, nodes=tuple(emitted.predicates))


def _on_numbers(raised: Raised, emitted: Emitted) -> Reason | None:
    """Its verifier asserts that each is one of a few, and says nothing."""
    if raised.error_class.rpartition(".")[2] != "AssertionError" or raised.text.strip() not in ("", "AssertionError"):
        return None
    for name, node in emitted.of_numbers.items():
        text = f"it has no `{name}` of numbers that are read from data"
        return Reason(text, suggestion=_TENSORS, nodes=(node,))
    return None


_EXPLANATIONS = (
    _not_core,
    _no_out_variant,
    _writing,
    _leaf,
    _unbounded,
    _no_kernel,
    _too_large,
    _failed_kernel,
    _complex,
    _plain,
    _control_flow,
    _unknown_size,
    _predicate,
    _on_numbers,
)


# The dry run.


# The reason that compiling gives for the same operator.
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
        is_known = str(operator).partition(".")[2] in known  # a configuration is named without the namespace
        unknown = _NO_CONFIGURATION if partitioners and not is_known else ""
        return SUPPORTED, reasons.get(node.name, unknown)

    return list(uses_by_support(program, graph, support))


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

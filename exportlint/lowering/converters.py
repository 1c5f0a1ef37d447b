"""What every target needs that converts a program operator by operator.

Why such targets refuse programs, and what to write instead; what is asked of the graph of a program; and silence for
what converters warn of.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import MISSING, SUPPORTED, OperatorUse, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import torch


TENSORS_ONLY = "return tensors only, and let the caller add the other values"
TENSOR_ARGUMENTS = "export a module whose forward takes tensors only, with the other arguments fixed in its constructor"
REAL_NUMBERS = "compute with real numbers: keep the real and the imaginary part as two tensors"
OTHER_DTYPE = "use float32 for this target: model.float(), and float32 inputs"
SAME_DTYPES = "give both sides one dtype: x.to(y.dtype), torch.full_like in place of a number"
KNOWN_SIZES = "keep the size fixed: torch.where or a mask that multiplies, in place of picking elements"
NO_NOISE = "take the random values as an argument"
NO_LOOP = "write the loop out in Python, where its length is known when the model is exported"
SMALLER_STEPS = "write it with simpler operators, or compute it outside of the exported module"
_PROD = "of positive values: torch.exp(torch.log(x).sum(dim)) is prod, torch.exp(torch.log(x).cumsum(dim)) is cumprod"

# Where a rewrite is known; by the operator's name without its namespace, overload, and a leading underscore. Tests try
# each rewrite for one operator of its row.
_INSTEAD = (
    (r"fft\w*|stft|istft", "multiply with the matrices of cosines and sines, which are constants of the model"),
    (r"nonzero|masked_select", KNOWN_SIZES),
    (r"rand\w*|normal\w*|bernoulli|multinomial|native_dropout", NO_NOISE),
    (r"cumprod|prod", _PROD),
    (r"scan|map_impl|while_loop", NO_LOOP),
    (r"complex|view_as_complex|view_as_real|polar|angle", REAL_NUMBERS),
)
BOOL_PREDICATE = "give torch.cond a bool: `x.sum() != 0`"
_TORCH = ("aten", "prims", "higher_order")


_FUNCTION = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")


def no_converter(target: str, operators: Sequence[str], register: str, why: str = "") -> Reason:
    """For operators as torch prints them; `register` says how one may add a converter for an operator of one's own."""
    operators = [_FUNCTION.sub(r"\1", operator) for operator in operators]
    suggestion = next(filter(None, map(_known_rewrite, operators)), "")
    if not suggestion:
        own = [one for one in operators if one.partition(".")[0] not in _TORCH and "." in one]
        suggestion = f"write the operator in PyTorch operators, or {register}" if own else SMALLER_STEPS
    return Reason(f"{target} has no converter for {', '.join(operators)}{why}", tuple(operators), suggestion)


def _known_rewrite(operator: str) -> str:
    """`aten._fft_r2c.default` -> the rewrite for fft."""
    parts = operator.split(".")
    name = (parts[1] if len(parts) > 1 else parts[0]).lstrip("_")
    return next((words for pattern, words in _INSTEAD if re.fullmatch(pattern, name)), "")


# The graph of a program.


# The positions of the leaves of (args, kwargs) that an artefact takes, for who runs it without exportlint.
INPUTS_FILE = "inputs.json"


def interface_of(program: torch.export.ExportedProgram) -> dict[str, Any]:
    """JSON for `facts`: "inputs", the positions of the leaves that are no constants; "outputs", for each leaf of the
    output None, or a constant as a list of one."""
    signature = program.graph_signature
    given = [spec.arg for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    returned = [spec.arg for spec in signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    inputs = [position for position, argument in enumerate(given) if not _is_constant(argument)]
    return {"inputs": inputs, "outputs": [[one.value] if _is_constant(one) else None for one in returned]}


def constant_arguments(program: torch.export.ExportedProgram) -> list[str]:
    """The names of the arguments that are no tensors."""
    given = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return [argument.name for argument in given if _is_constant(argument)]


def duplicate_outputs(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The nodes that are returned more than once."""
    specs = program.graph_signature.output_specs
    names = [spec.arg.name for spec in specs if spec.kind.name == "USER_OUTPUT" and not _is_constant(spec.arg)]
    return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))


def predicates_of_numbers(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The nodes of `torch.cond` whose predicate is a tensor of another dtype than bool."""
    conds = (node for node in program.graph.nodes if str(node.target) == "cond")
    values = {node.name: getattr(node.args[0], "meta", {}).get("val") for node in conds}
    return tuple(name for name, value in values.items() if str(getattr(value, "dtype", "torch.bool")) != "torch.bool")


def _is_constant(argument: Any) -> bool:
    return type(argument).__name__ == "ConstantArgument"


def write_inputs(interface: Mapping[str, Any], folder: Path) -> None:
    """Beside the artefact."""
    (folder / INPUTS_FILE).write_text(json.dumps(interface["inputs"]), "utf-8")


def with_constants(outputs: Sequence[Any], interface: Mapping[str, Any]) -> list[Any]:
    """All leaves of the output: what the artefact gave, with the constants of the program between."""
    described = interface["outputs"]
    if len(outputs) != sum(constant is None for constant in described):
        return list(outputs)
    given = iter(outputs)
    return [next(given) if constant is None else constant[0] for constant in described]


def operator_uses(
    program: torch.export.ExportedProgram,
    graph_module: torch.fx.GraphModule,
    why_missing: Callable[[torch.fx.Node], str | None],
) -> Iterator[OperatorUse]:
    """Of a target that takes an operator or does not; `why_missing` says why a node has no converter, or None."""

    def support(node: torch.fx.Node) -> tuple[str, str]:
        reason = why_missing(node)
        return (SUPPORTED, "") if reason is None else (MISSING, reason)

    return uses_by_support(program, graph_module, support)


def uses_by_support(
    program: torch.export.ExportedProgram,
    graph_module: torch.fx.GraphModule,
    support: Callable[[torch.fx.Node], tuple[str, str] | None],
) -> Iterator[OperatorUse]:
    """One row for each operator of the graph that the target is given, subgraphs included; `support` says how a node is
    computed, and the reason, or None to leave it out. A node is called as the one of the program that it came from."""
    own = {node.name for node in program.graph.nodes}
    rows: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for node in _calls(graph_module):
        if said := support(node):
            how, reason = said
            rows[str(operator_of(node)), how, reason].append(next(_origins(node, own), node.name))
    for (name, how, reason), nodes in rows.items():
        yield OperatorUse(name, len(nodes), how, tuple(dict.fromkeys(nodes)), reason)


def _calls(graph_module: torch.fx.GraphModule) -> Iterator[torch.fx.Node]:
    """Every call of an operator; taking an element out of a tuple is none."""
    for module in graph_module.modules():
        graph = getattr(module, "graph", None)
        nodes = graph.nodes if graph is not None else ()
        yield from (node for node in nodes if node.op == "call_function" and is_operator(node.target))


def operator_of(node: torch.fx.Node) -> Any:
    """The operator of torch: ExecuTorch's edge wraps each, and torch wraps a custom one that writes to its inputs."""
    wraps = str(node.target).startswith("auto_functionalized") and node.args
    inner = node.args[0] if wraps else getattr(node.target, "_op", None)
    return inner if hasattr(inner, "_schema") else node.target


def is_operator(target: Any) -> bool:
    """Is it of torch, and not Python's own, such as `operator.getitem` or arithmetic of sizes?"""
    return getattr(target, "__module__", "") not in ("_operator", "builtins", "math")


def origins(
    program: torch.export.ExportedProgram, graph_module: torch.fx.GraphModule | None, name: str
) -> tuple[str, ...]:
    """The nodes of the program that a node of its decompositions came from; none where that is not known."""
    own = {node.name for node in program.graph.nodes}
    nodes = (node for node in graph_module.graph.nodes if node.name == name) if graph_module is not None else ()
    return tuple(dict.fromkeys(origin for node in nodes for origin in _origins(node, own)))


def _origins(node: torch.fx.Node, own: set[str]) -> Iterator[str]:
    """torch keeps in `from_node` what each pass made a node of, the last pass first."""
    return (name for name in _chain(node.meta.get("from_node") or ()) if name in own)


def _chain(sources: Iterable[Any]) -> Iterator[str]:
    for source in sources:
        yield from _chain(source.from_node)
        yield source.name


def last_outputs(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The nodes of the tensors that the program returns, the last one first: near the line of the return."""
    return tuple(node.name for node in reversed(program.graph.output_node().all_input_nodes))


def users_of_complex_inputs(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The nodes that read an input of complex numbers."""
    inputs = (node for node in program.graph.find_nodes(op="placeholder"))
    complex_ = (node for node in inputs if getattr(getattr(node.meta.get("val"), "dtype", None), "is_complex", False))
    return tuple(user.name for node in complex_ for user in node.users)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings, neither Python's nor those of logging."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)

"""Torch's private names stand in `exportlint/trial/child/torch_private/` alone; here they are listed.

A new torch: install it, run this, and look at each name that is gone in the one file that has it.
"""

from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING

import pytest
import torch
from packages import modules, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

DOORS = "exportlint.trial.child.torch_private"
# What others touch: the first two are run, or copied, where there is no exportlint.
ALONE = {
    "exportlint.trial.child.read_and_run": {"torch.utils._pytree.tree_leaves"},
    "exportlint.trial.child.execution.inputs.input_sets": {"torch.utils._pytree"},
    # The parent has no torch: these read a file of its folder, and its advice.
    "exportlint.trial.protocol.torch_messages": {"._dynamo"},
    "exportlint.trial.findings.wording.torch_messages": {"torch._dynamo.config", "torch._dynamo.disable"},
}
# Of Python itself, of named tuples, and what a module of ours holds for its patched clocks (`time_ns`).
NOT_TORCHS = {"._getframe", "._exit", "._replace", "._fields", "._now", "._ns"}
# Each name with the torch that it was last seen in; one that begins with a stop is an attribute of a torch object.
SEEN: dict[str, str] = dict.fromkeys(
    (
        "._abstract_fn",
        "._call_impl",
        "._frames_up",
        "._get_node_type",
        "._inductor",
        "._init_fn",
        "._is_compiling_flag",
        "._is_exporting_flag",
        "._log_guard",
        "._modules",
        "._orig_mod",
        "._report",
        "._safe_copy",
        "._schema",
        "._set_replacement",
        "._torchdynamo_orig_callable",
        "._update_var_to_range",
        "._validate_args",
        "._version",
        "._wrapped_call_impl",
        "torch._C._dispatch_get_all_op_names",
        "torch._decomp.decompositions",
        "torch._dynamo",
        "torch._dynamo.backends.debugging",
        "torch._dynamo.config",
        "torch._dynamo.config.patch",
        "torch._dynamo.convert_frame.__graph_breaks",
        "torch._dynamo.dce_extra_outputs",
        "torch._dynamo.debug_utils",
        "torch._dynamo.eval_frame.OptimizedModule",
        "torch._dynamo.explain",
        "torch._dynamo.functional_export",
        "torch._dynamo.guards",
        "torch._dynamo.repro.after_dynamo",
        "torch._dynamo.reset",
        "torch._dynamo.symbolic_convert.__graph_breaks",
        "torch._dynamo.testing",
        "torch._export.aot_compile",
        "torch._export.passes.replace_autocast_with_hop_pass",
        "torch._export.passes.replace_set_grad_with_hop_pass",
        "torch._export.serde.serialize",
        "torch._functorch._aot_autograd.subclass_parametrization",
        "torch._guards.TracingContext.extract_stack",
        "torch._guards.detect_fake_mode",
        "torch._higher_order_ops.passes.inline_invoke_subgraph",
        "torch._higher_order_ops.while_loop.while_loop",
        "torch._inductor.aoti_compile_and_package",
        "torch._inductor.codecache",
        "torch._inductor.compiler_bisector",
        "torch._inductor.cpu_vec_isa.pick_vec_isa",
        "torch._inductor.fx_passes.dedupe_symint_uses",
        "torch._inductor.ir",
        "torch._inductor.sizevars",
        "torch._library.custom_ops.OPDEFS",
        "torch._library.simple_registry.singleton",
        "torch._logging.set_logs",
        "torch._logging.structured",
        "torch._ops.OpOverload",
        "torch._subclasses.fake_tensor.FakeTensor",
        "torch._subclasses.fake_tensor.FakeTensorMode",
        "torch._subclasses.functional_tensor.FunctionalTensor",
        "torch._subclasses.meta_utils",
        "torch._subclasses.schema_check_mode",
        "torch.distributed.tensor.experimental._attention",
        "torch.export._draft_export",
        "torch.export._patches",
        "torch.export._trace",
        "torch.export._trace.DEFAULT_EXPORT_DYNAMO_CONFIG",
        "torch.export._tree_utils.reorder_kwargs",
        "torch.export.dynamic_shapes._combine_args",
        "torch.fx.experimental._config",
        "torch.fx.experimental.symbolic_shapes",
        "torch.fx.experimental.symbolic_shapes.ShapeEnv",
        "torch.fx.experimental.symbolic_shapes.free_unbacked_symbols",
        "torch.fx.experimental.validator",
        "torch.utils._python_dispatch.TorchDispatchMode",
        "torch.utils._pytree",
        "torch.utils._pytree.BUILTIN_TYPES",
        "torch.utils._pytree.SUPPORTED_NODES",
        "torch.utils._pytree.SequenceKey",
        "torch.utils._pytree.TreeSpec",
        "torch.utils._pytree.keystr",
        "torch.utils._pytree.tree_flatten",
        "torch.utils._pytree.tree_flatten_with_path",
        "torch.utils._pytree.tree_leaves",
        "torch.utils._pytree.tree_map",
        "torch.utils._pytree.tree_map_only",
        "torch.utils._pytree.tree_structure",
        "torch.utils._pytree.tree_unflatten",
        "torch.utils._sympy.functions.Mod",
        "torch.utils._sympy.printers.PythonPrinter",
    ),
    "2.13.0",
)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(module: ast.Module) -> Iterator[str]:
    """What the code imports, reads off objects that are not its own, or names in a string."""
    own = {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute) and _is_own(node.value)}
    own |= {node.name for node in ast.walk(module) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {
        node.target.id
        for node in ast.walk(module)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    inside = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Attribute)}
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if _is_of_torch(name.name))
            case ast.ImportFrom(module=str(home), names=names):
                yield from (f"{home}.{one.name}" for one in names if _is_of_torch(f"{home}.{one.name}"))
            case ast.Attribute() if id(node) not in inside and _is_of_torch(dotted := ast.unparse(node)):
                yield dotted
            case ast.Attribute(attr=name, value=value) if is_private(name) and name not in own and not _is_own(value):
                if not ast.unparse(node).startswith("torch."):
                    yield f".{name}"
            case ast.Constant(value=str(text)) if re.fullmatch(r"_[a-z]\w*", text):
                yield f".{text}"
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.]+", text) and _is_of_torch(text):
                yield text


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def _is_of_torch(dotted: str) -> bool:
    """`experimental` modules are as private as those with a line before the name."""
    parts = dotted.split(".")
    return parts[0] == "torch" and any(is_private(part) or part == "experimental" for part in parts)


def names_of(module: str) -> set[str]:
    return set(private_names(tree(modules()[module]))) - NOT_TORCHS


@pytest.mark.parametrize("module", sorted(name for name in modules() if name.startswith("exportlint.trial")))
def test_only_the_doors_touch_what_torch_keeps_to_itself(module: str) -> None:
    if not module.startswith(DOORS):
        assert names_of(module) == ALONE.get(module, set())


def test_every_private_name_is_listed() -> None:
    touched = {name for module in modules() if module.startswith(DOORS) for name in names_of(module)}
    assert touched - SEEN.keys() == set(), "write it down with the torch that has it"
    assert SEEN.keys() - touched == set(), "it is no longer needed"


@pytest.mark.parametrize("dotted", sorted(name for name in SEEN if name.startswith("torch.")))
def test_the_installed_torch_has_the_name(dotted: str) -> None:
    home, _, name = dotted.rpartition(".")
    found = [_found(dotted), getattr(_found(home), name, None)]
    assert any(one is not None for one in found) or dotted.endswith("__graph_breaks"), (
        f"torch {torch.__version__} has no {dotted}, which torch {SEEN[dotted]} had"
    )


def _found(dotted: str) -> object:
    """A module, or what stands in one."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None)
        return found
    return None

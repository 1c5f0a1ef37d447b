"""Private modules of torch and calls in them, by their names alone: they are read before torch is imported."""

from __future__ import annotations

import os

# What `torch.export.load` imports before it looks at its file, with all that this imports in turn.
READER = "torch._export.serde.serialize"

# Modules that every stage needs and that take long to load; and those that torch loads at the first export, which would
# be loaded anew in every fork. Some are absent in some versions. SymPy loads its tensors at the first sum of symbols.
PRELOADED = (
    "torch.export",
    "torch._dynamo",
    "sympy.tensor.tensor",
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._decomp.decompositions",
    "torch._dynamo.functional_export",
    "torch.export._draft_export",
    "torch._inductor.codecache",
    "torch._dynamo.backends.debugging",
    "torch._dynamo.dce_extra_outputs",
    "torch._dynamo.debug_utils",
    "torch._dynamo.repro.after_dynamo",
    "torch._dynamo.testing",
    "torch._export.passes.replace_autocast_with_hop_pass",
    "torch._export.passes.replace_set_grad_with_hop_pass",
    "torch._functorch._aot_autograd.subclass_parametrization",
    "torch._higher_order_ops.passes.inline_invoke_subgraph",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.dedupe_symint_uses",
    "torch._inductor.ir",
    "torch._inductor.sizevars",
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor.experimental._attention",
    "torch.fx.experimental.validator",
    "torch.utils.serialization",
)

# Calls and classes by which a script hands a model to torch.
OLD_AOT = "torch._export.aot_compile"
PACKAGE = "torch._inductor.aoti_compile_and_package"
COMPILED_MODULE = "torch._dynamo.eval_frame.OptimizedModule"

# The folder of the compiler, as it stands in the paths of its files.
COMPILER = f"torch{os.sep}_inductor{os.sep}"

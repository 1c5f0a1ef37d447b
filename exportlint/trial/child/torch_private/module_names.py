"""Private modules of torch and calls in them, by their names alone: they are read before torch is imported."""

from __future__ import annotations

import os

# What `torch.export.load` imports before it looks at its file, with all that this imports in turn.
READER = "torch._export.serde.serialize"

# Modules that every stage needs and that take long to load; the last ones are absent in some versions.
PRELOADED = (
    "torch.export",
    "torch._dynamo",
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._decomp.decompositions",
    "torch._dynamo.functional_export",
    "torch.export._draft_export",
    "torch._inductor.codecache",
)

# Calls and classes by which a script hands a model to torch.
OLD_AOT = "torch._export.aot_compile"
PACKAGE = "torch._inductor.aoti_compile_and_package"
COMPILED_MODULE = "torch._dynamo.eval_frame.OptimizedModule"

# The folder of the compiler, as it stands in the paths of its files.
COMPILER = f"torch{os.sep}_inductor{os.sep}"

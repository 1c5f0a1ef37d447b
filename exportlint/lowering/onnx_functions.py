"""Imported in the process that trials with ONNX are forks of, where it reads the functions of onnxscript.

At every `torch.onnx.export` onnxscript parses the source of each of its 500 functions, which takes a second, and twice
as long at the first. What it finds is the same each time, so it is kept, and the forks find it.
"""

import contextlib
import functools
import warnings

import onnx  # noqa: F401 - for the forks
import onnxscript  # noqa: F401 - for the forks
import torch.onnx._internal.exporter._core  # noqa: F401 - for the forks

# A version that has other names only takes longer.
with warnings.catch_warnings(), contextlib.suppress(Exception):
    warnings.simplefilter("ignore")
    from onnxscript._internal.values import TracedOnnxFunction
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    read = vars(TracedOnnxFunction)["function_ir"].fget
    setattr(TracedOnnxFunction, "function_ir", property(functools.cache(read)))  # noqa: B010 - its type is a method's
    ONNXRegistry.from_torchlib()

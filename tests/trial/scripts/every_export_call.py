"""Every way out of eager Python, each with a model of its own, so that each is a target of its own.

The comments say what the target of that line was given to.
"""

import contextlib
import copy

import torch
from torch import nn
from torch.export import export

x = torch.ones(2, 3)


def fresh():
    return nn.Linear(3, 3).eval()


batch = torch.export.Dim("batch")
model = fresh()
program = export(model, (x,))  # given to torch.export.export, torch._inductor.aoti_compile_and_package
export(model, (x,), dynamic_shapes=[{0: batch}])  # given to torch.export.export
with contextlib.suppress(Exception):
    torch.export.draft_export(fresh(), (x,))  # given to torch.export.draft_export
with contextlib.suppress(ImportError):  # it needs onnxscript only after it was called
    torch.onnx.export(fresh(), (x,), dynamo=True)  # given to torch.onnx.export
restored = torch.export.export(fresh(), (x + 2,))  # given to torch.export.export
restored = copy.deepcopy(restored)  # as if it came from a file: nobody saw its export
with contextlib.suppress(Exception):
    torch.export.save(restored, "")  # given to torch.export.save
torch.jit.trace(fresh(), x)  # given to torch.jit.trace
torch.jit.script(fresh())(x)  # given to torch.jit.script
torch.compile(fresh(), backend="eager")(x)  # given to torch.compile
in_place = fresh()
in_place.compile(backend="eager")  # given to torch.compile
in_place(x)


@torch.compile(backend="eager")  # given to torch.compile
def doubled(value):
    return value * 2


doubled(x)
doubled(x + 1)
with contextlib.suppress(AssertionError):
    torch._inductor.aoti_compile_and_package(program, package_path="no_package")


@torch.jit.script
def helper(value):
    return value + 1


torch.compile(fresh().forward, backend="eager")(x)  # given to torch.compile

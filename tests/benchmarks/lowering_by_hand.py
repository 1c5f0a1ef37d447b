"""The documented calls of each target, one after another: compile, load, run twice, compare.

`python lowering_by_hand.py MODEL TARGETS`: MODEL is a class of lowered_models.py, TARGETS are joined by commas.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def aotinductor(program: torch.export.ExportedProgram, folder: Path) -> Callable[..., torch.Tensor]:
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(folder / "model.pt2"))
    package: Callable[..., torch.Tensor] = torch._inductor.aoti_load_package(path)
    return package


def executorch(program: torch.export.ExportedProgram, folder: Path) -> Callable[..., torch.Tensor]:
    from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415 - each target pays for its own
    from executorch.runtime import Runtime  # noqa: PLC0415 - each target pays for its own

    path = folder / "model.pte"
    path.write_bytes(to_edge_transform_and_lower(program).to_executorch().buffer)
    method = Runtime.get().load_program(path).load_method("forward")
    return lambda *args: method.execute(list(args))[0]


def onnxruntime(program: torch.export.ExportedProgram, folder: Path) -> Callable[..., torch.Tensor]:
    import onnxruntime  # noqa: PLC0415 - each target pays for its own

    path = folder / "model.onnx"
    torch.onnx.export(program, (), str(path), dynamo=True)
    session = onnxruntime.InferenceSession(str(path))
    names = [given.name for given in session.get_inputs()]
    return lambda *args: torch.from_numpy(
        session.run(None, dict(zip(names, (arg.numpy() for arg in args), strict=True)))[0]
    )


def main() -> None:
    kind = getattr(importlib.import_module("lowered_models"), sys.argv[1])
    torch.manual_seed(0)
    model, inputs = kind().eval(), kind.inputs()
    with torch.no_grad():
        wanted = model(*inputs)
        program = torch.export.export(model, inputs)
        for target in sys.argv[2].split(","):
            with tempfile.TemporaryDirectory() as folder:
                lowered = globals()[target](program, Path(folder))
                for _ in range(2):
                    torch.testing.assert_close(lowered(*inputs), wanted, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    main()

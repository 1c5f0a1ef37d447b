"""Run by its path under any interpreter: `python read_and_run.py PROGRAM INPUTS ANSWER`.

It imports nothing but torch: the other environment has no exportlint.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main(program: str, inputs: str, answer: str) -> None:
    """Write {"torch", "step", "raised"} to the answer, and the outputs beside it."""
    said: dict[str, Any] = {"step": "import torch"}
    try:
        import torch  # noqa: PLC0415 - that it is missing is an answer

        said.update(torch=torch.__version__, step="read")
        loaded = torch.export.load(program)
        said["step"] = "run"
        args, kwargs = torch.load(inputs, weights_only=False)
        torch.manual_seed(0)
        outputs = torch.utils._pytree.tree_leaves(loaded.module()(*args, **kwargs))  # noqa: SLF001 - no public name
        torch.save(outputs, f"{answer}.outputs")
        said["step"] = "done"
    except BaseException as exc:  # noqa: BLE001 - whatever it is, it is the answer
        said["raised"] = f"{type(exc).__name__}: {exc}"[:2000]
    Path(answer).write_text(json.dumps(said), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What looking for graph breaks costs beside `torch._dynamo.explain`. Prints ratios and gates nothing.

`python tests/benchmarks/cost_of_breaks.py FILE.py:CLASS…` (by default the models beside this file): the stage `breaks`,
which gives breaks and graphs over all inputs, beside one `explain` on the sample, by turns, the smallest of three
rounds. Both in processes that have loaded torch and Dynamo and have called the model in eager.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("Small", "Encoder", "Branches")
ROUNDS = 3

# What `explain` takes, of a class with `inputs()`; Dynamo was used once before, since its first use loads the rest of it.
EXPLAIN = """
import importlib.util, sys, time
import torch, torch._dynamo
path, name = sys.argv[1].rsplit(":", 1)
spec = importlib.util.spec_from_file_location("models", path)
module = importlib.util.module_from_spec(spec)
sys.modules["models"] = module
spec.loader.exec_module(module)
cls = getattr(module, name)
model, inputs = cls(), cls.inputs()
torch._dynamo.explain(lambda x: x + 1)(torch.ones(2))
torch._dynamo.reset()
model(*inputs)
began = time.perf_counter()
torch._dynamo.explain(model)(*inputs)
print("SECONDS", time.perf_counter() - began)
"""


def explained(target: str) -> float:
    """Seconds of one `explain`."""
    command = [sys.executable, "-c", EXPLAIN, target]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said.rpartition("SECONDS")[2])


def trial(target: str) -> float:
    """Seconds of the stage `breaks`."""
    options = ["--for", "compile", "--quick", "--exit-zero", "--output-format", "json"]
    command = [sys.executable, "-m", "exportlint", "trial", *options, target]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (found,) = [stage for stage in said["targets"][0]["stages"] if stage["name"] == "breaks"]
    return float(found["seconds"])


def main() -> None:
    """One line a model, and one of all."""
    targets = sys.argv[1:] or [f"{HERE / 'models.py'}:{name}" for name in NAMES]
    ours, theirs = 0.0, 0.0
    for target in targets:
        pairs = [(trial(target), explained(target)) for _ in range(ROUNDS)]
        a, b = (min(side) for side in zip(*pairs, strict=True))
        ours, theirs = ours + a, theirs + b
        sys.stdout.write(f"{target}: {a:.2f} s beside {b:.2f} s, {a / b:.2f}\n")
        sys.stdout.flush()
    sys.stdout.write(f"all: {ours:.2f} s beside {theirs:.2f} s, {ours / theirs:.2f} (wanted: at most 2)\n")


if __name__ == "__main__":
    main()

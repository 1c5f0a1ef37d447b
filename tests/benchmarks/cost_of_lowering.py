"""What proving a target costs beside the documented calls. Prints ratios and gates nothing.

`python tests/benchmarks/cost_of_lowering.py [ROUNDS]`: both in turn in one run, the smallest of the rounds. Each starts
with empty caches of exportlint; inductor's own, with its compiled headers, are as the machine has them, for both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cost_of_a_trial import beside, cost, say

from exportlint.trial.child.server.process_control import adopt_orphans

HERE = Path(__file__).parent
MODELS = HERE / "lowered_models.py"
ROWS = (
    ("MLP", "aotinductor", 0.5),
    ("MLP", "executorch", 1.0),
    ("MLP", "onnxruntime", 1.0),
    ("ResNet18", "aotinductor,executorch,onnxruntime", 0.6),
)


def prove(model: str, targets: str, cache: str = "--no-cache") -> list[str]:
    """The command: nothing but load, eager, one export and the targets."""
    return [
        "-m",
        "exportlint",
        "trial",
        "--quick",
        "--mode",
        "non-strict",
        "--lower",
        targets,
        cache,
        f"{MODELS}:{model}",
    ]


def main() -> None:
    adopt_orphans()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    for model, targets, limit in ROWS:
        beside(
            f"{model} through {targets} beside the documented calls",
            lambda model=model, targets=targets: cost(*prove(model, targets)),
            lambda model=model, targets=targets: cost(str(HERE / "lowering_by_hand.py"), model, targets),
            rounds,
            limit,
        )
    _where_the_time_goes("ResNet18", "aotinductor,executorch,onnxruntime")
    _second_run("MLP", "aotinductor")


def _stages(model: str, targets: str, **environment: str) -> dict[str, float]:
    """Seconds of each stage that lowers."""
    command = [sys.executable, *prove(model, targets)[:-2], "--output-format", "json", f"{MODELS}:{model}"]
    if not environment:
        command.insert(-1, "--no-cache")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    (target,) = json.loads(done.stdout)["targets"]
    return {stage["name"]: stage["seconds"] for stage in target["stages"] if stage["name"].startswith("lower-")}


def _where_the_time_goes(model: str, targets: str) -> None:
    for name, seconds in _stages(model, targets).items():
        say(f"  {model}, {name}: {seconds:.1f} s")


def _second_run(model: str, targets: str) -> None:
    """Of an unchanged target, whose result is kept."""
    with tempfile.TemporaryDirectory() as folder:
        first, again = (_stages(model, targets, EXPORTLINT_CACHE_DIR=folder) for _ in range(2))
        for name, seconds in first.items():
            say(
                f"{model}, {name}: {seconds:.2f} s, then {again[name]:.2f} s: {seconds / again[name]:.0f} times as fast"
            )


if __name__ == "__main__":
    main()

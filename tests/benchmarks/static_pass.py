"""What the static pass costs, beside TorchFix, `ast.parse` and ruff on the same files in the same run.

    python tests/benchmarks/static_pass.py TIMM [--large TRANSFORMERS] [--torchfix PATH/TO/torchfix] [--write]

TIMM and TRANSFORMERS are folders of sources, unpacked and not installed. `--write` makes STATIC_PASS.md anew. Times of
a busy machine say little, their ratios in one run do: compare those of processor time first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

HERE = Path(__file__).parent
PARSE = "import ast, pathlib, sys\nfor path in pathlib.Path(sys.argv[1]).rglob('*.py'): ast.parse(path.read_bytes())"
# pip compiles what it installs, and a checkout is compiled by its first run, unless the environment forbids it.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
BLOCK = """
class Block{n}(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        y = self.down(F.gelu(self.up(self.norm(x))))
        if mask is not None:
            y = y.masked_fill(mask[:, :, None], 0.0)
        return x + y.reshape(batch, length, -1)
"""


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall, processor seconds of all processes, and the memory of the largest of them."""

    wall: float
    processor: float
    megabytes: float


CLEAN = "one clean file of 200 lines, best of 5"
FOUND = "one small file with a finding, best of 5"
IMPORT = "`import libcst` alone, best of 5"
WITH_A_FINDING = """import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return x * 2
        return x
"""


def cost(*command: str, cache: Path | None = None) -> Cost:
    environment = ENVIRONMENT | ({"EXPORTLINT_CACHE_DIR": str(cache)} if cache else {})
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment, file_actions=null)
    usage = os.wait4(pid, 0)[2]
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def exportlint(*arguments: str, cache: Path | None = None) -> Cost:
    return cost(sys.executable, "-m", "exportlint", "check", "--output-format", "json", *arguments, cache=cache)


def lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


def measured(folder: Path, torchfix: str | None, scratch: Path) -> dict[str, Cost]:
    copy = scratch / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    cache = scratch / "cache"
    found = {"exportlint, cold": exportlint(str(copy), cache=cache)}
    found["exportlint, nothing changed"] = exportlint(str(copy), cache=cache)
    one = max(copy.rglob("*.py"), key=lambda path: path.stat().st_size)
    one.write_text(one.read_text("utf-8") + "\n", "utf-8")
    found["exportlint, the largest file changed"] = exportlint(str(copy), cache=cache)
    found["exportlint, cold, --jobs 1"] = exportlint(str(copy), "--no-cache", "--jobs", "1")
    found["ast.parse of the files"] = cost(sys.executable, "-c", PARSE, str(copy))
    if ruff := shutil.which("ruff", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"):
        found["ruff, every rule"] = cost(ruff, "check", "--isolated", "--no-cache", "--select", "ALL", str(copy))
    if torchfix:
        found["TorchFix, --select ALL"] = cost(torchfix, "--select", "ALL", str(copy))
    return found


def living(folder: Path, edits: int) -> dict[str, float]:
    """Of a process that judges the folder again and again."""
    command = [sys.executable, str(HERE / "living_process.py"), str(folder), "--edits", str(edits)]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT).stdout
    )
    return found


# What was asked for; each is a ratio in one run, or a size.
FLOORS = (
    ("timm, cold: TorchFix `--select ALL` over it", "25 ×", "40 ×"),
    ("transformers, processor time per line over timm's", "1.3 ×", "1.0 ×"),
    ("timm, nothing changed: a cold run over it", "30 ×", "60 ×"),
    ("timm, one line of its largest file changed, in a process that lives", "0.25 s", "0.15 s"),
    ("one clean file of 200 lines, over `import libcst`", "0.8 ×", "0.5 ×"),
    ("one small file with a finding, over `import libcst`", "1.8 ×", "1.2 ×"),
    ("memory of a process that lives and has judged transformers", "1.5 GB", "0.8 GB"),
)


def floors(measured: list[str]) -> str:
    rows = [[name, now, floor, goal] for (name, floor, goal), now in zip(FLOORS, measured, strict=True)]
    return tabulate(rows, ["what", "measured", "floor", "goal"], tablefmt="github", disable_numparse=True)


def small(scratch: Path) -> dict[str, Cost]:
    file = scratch / "model.py"
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n" + "".join(
        BLOCK.format(n=n) for n in range(14)
    )
    file.write_text("\n".join(text.split("\n")[:200]) + "\n", "utf-8")
    exportlint("--no-cache", str(file))
    found = scratch / "found.py"
    found.write_text(WITH_A_FINDING, "utf-8")
    runs: dict[str, list[Cost]] = {CLEAN: [], FOUND: [], IMPORT: []}
    for _ in range(5):  # in turn, so that a busy moment falls on all
        runs[CLEAN].append(exportlint("--no-cache", str(file)))
        runs[FOUND].append(exportlint("--no-cache", str(found)))
        runs[IMPORT].append(cost(sys.executable, "-c", "import libcst"))
    best = runs
    return {name: min(costs, key=lambda c: c.processor) for name, costs in best.items()}


def table(costs: dict[str, Cost], base: str | None = None) -> str:
    rows = [
        [name, f"{c.wall:.2f}", f"{c.processor:.2f}", f"{c.megabytes:.0f}"]
        + ([f"{c.processor / costs[base].processor:.3g}", f"{c.wall / costs[base].wall:.3g}"] if base else [])
        for name, c in costs.items()
    ]
    head = ["run", "seconds", "processor seconds", "MB of the largest process"]
    ratios = [f"processor time over {base}", f"time over {base}"] if base else []
    return tabulate(rows, [*head, *ratios], tablefmt="github", disable_numparse=True)


def page(folder: Path, large: Path | None, torchfix: str | None) -> str:
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        costs = measured(folder, torchfix, scratch)
        machine = f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.0f} when it ended"
        parts = [
            "# What the static pass costs",
            f"Made by `tests/benchmarks/static_pass.py` on {machine}. The ratios compare runs of this one table.",
            f"## {folder.name}: {lines(folder):,} lines",
            table(costs, "exportlint, cold"),
            "## One file",
            table(one := small(scratch)),
        ]
        lives = living(folder, 20)
        parts += ["## In a process that lives", in_a_row({folder.name: lives})]
        cold, nothing = costs["exportlint, cold"], costs["exportlint, nothing changed"]
        others = costs.get("TorchFix, --select ALL")
        asked = [
            f"{others.wall / cold.wall:.1f} ×" if others else "not measured",
            "not measured",
            f"{cold.wall / nothing.wall:.0f} ×",
            f"{lives['edited, median']:.2f} s; {lives['edited, 95th percentile']:.2f} s at the 95th percentile",
            f"{one[CLEAN].processor / one[IMPORT].processor:.2f} ×",
            f"{one[FOUND].processor / one[IMPORT].processor:.2f} ×",
            "not measured",
        ]
        if large:
            lives_large = living(large, 0)
            asked[-1] = f"{lives_large['megabytes'] / 1024:.2f} GB"
            whole = {"exportlint, cold": exportlint("--no-cache", str(large))}
            a_line = costs["exportlint, cold"].processor / lines(folder)
            ratio = whole["exportlint, cold"].processor / lines(large) / a_line
            parts += [f"## {large.name}: {lines(large):,} lines", table(whole)]
            parts += [f"Processor time for a line, over that of {folder.name}: {ratio:.2f}."]
            asked[1] = f"{ratio:.2f} ×"
        parts[2:2] = ["## What was asked for", floors(asked)]
    return "\n\n".join(parts) + "\n"


def in_a_row(runs: dict[str, dict[str, float]]) -> str:
    rows = [[name, *(f"{value:.0f}" if what == "megabytes" else f"{value:.3f}" for what, value in found.items())]
            for name, found in runs.items()]  # fmt: skip
    return tabulate(rows, ["project", *next(iter(runs.values()))], tablefmt="github", disable_numparse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--torchfix")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = page(options.folder, options.large, options.torchfix)
    if options.write:
        (HERE / "STATIC_PASS.md").write_text(text, "utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()

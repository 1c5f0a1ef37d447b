"""What the static pass costs, beside TorchFix, `ast.parse` and ruff on the same files in the same run.

    python tests/benchmarks/static_pass.py TIMM [--large TRANSFORMERS] [--torchfix PATH/TO/torchfix] [--write]

TIMM and TRANSFORMERS are folders of sources, unpacked and not installed. `--write` makes STATIC_PASS.md anew. Times of
a busy machine say little, their ratios in one run do: compare those of processor time first.
"""

from __future__ import annotations

import argparse
import os
import shutil
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


def small(scratch: Path) -> dict[str, Cost]:
    file = scratch / "model.py"
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n" + "".join(
        BLOCK.format(n=n) for n in range(14)
    )
    file.write_text("\n".join(text.split("\n")[:200]) + "\n", "utf-8")
    exportlint("--no-cache", str(file))
    runs = [exportlint("--no-cache", str(file)) for _ in range(5)]
    imports = [cost(sys.executable, "-c", "import libcst") for _ in range(5)]
    best = {"one file of 200 lines, best of 5": runs, "`import libcst` alone, best of 5": imports}
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
            table(small(scratch)),
        ]
        if large:
            whole = {"exportlint, cold": exportlint("--no-cache", str(large))}
            a_line = costs["exportlint, cold"].processor / lines(folder)
            ratio = whole["exportlint, cold"].processor / lines(large) / a_line
            parts += [f"## {large.name}: {lines(large):,} lines", table(whole)]
            parts += [f"Processor time for a line, over that of {folder.name}: {ratio:.2f}."]
    return "\n\n".join(parts) + "\n"


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

"""A hook that is slow is switched off: a file in which no rule finds anything is judged without the parser."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from processes import EXPORTLINT

if TYPE_CHECKING:
    from pathlib import Path


# Measured: 1.08; other machines and other disks weigh imports in other ways.
LIMIT = 1.3
ROUNDS = 5
# pip compiles what it installs; a checkout is compiled by its first run, unless the environment forbids it.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

BLOCK = '''
class Block{n}(nn.Module):
    """One residual block of many."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        y = self.norm(x)
        y = F.gelu(self.up(y))
        y = self.down(y) * self.scale
        if mask is not None:
            y = y.masked_fill(mask[:, :, None], 0.0)
        if self.training and width > 8:
            y = F.dropout(y, 0.1)
        y = y.reshape(batch, length, -1)
        return x + y
'''


def cpu_seconds(*command: str) -> float:
    """What the process and its children used; unlike the time on the wall, it does not depend on who else is busy."""
    pid = os.posix_spawn(
        command[0],
        command,
        ENVIRONMENT,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1)
    return usage.ru_utime + usage.ru_stime


HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def clean_file(folder: Path) -> Path:
    """200 lines in which no rule finds anything."""
    file = folder / "model.py"
    text = HEAD + "".join(BLOCK.format(n=n) for n in range(9))
    file.write_text("\n".join(text.split("\n")[:200]) + "\n", "utf-8")
    return file


# What a run that finds nothing does without: parsers, what only a report with findings is made with, what only trials,
# caches and terminals need. Each took a hundredth of the run or more. (`dataclasses` and `importlib.metadata` take a
# quarter and a sixth of it, and are the standard library's ways.)
FOR_FINDINGS = ("libcst", "rich", "msgspec", "tabulate", "jinja2", "torch")
FOR_OTHERS = (
    "concurrent",
    "difflib",
    "logging",
    "pathspec",
    "platformdirs",
    "tomllib",
    "traceback",
    "exportlint.reference",
    "exportlint.repair",
    "exportlint.rewrite",
    "exportlint.trial.findings",
    "exportlint.trial.protocol.stages",
    "exportlint.trial.protocol.torch_messages",
)
FIXED = """import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return x * 2
        return x
"""


def loaded_by(*arguments: str, cache: Path) -> set[str]:
    """The modules that the process holds when it ends, those too that were imported by their names."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}from exportlint.cli import main; main({list(arguments)!r})"],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT | {"EXPORTLINT_CACHE_DIR": str(cache)},
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.split())


def among(loaded: set[str], packages: tuple[str, ...]) -> list[str]:
    return sorted(name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in packages))


@pytest.mark.parametrize("format_name", ["full", "json"])
def test_a_clean_file_is_judged_without_what_it_does_not_need(tmp_path: Path, format_name: str) -> None:
    file = str(clean_file(tmp_path))
    loaded = loaded_by("check", "--no-cache", "--output-format", format_name, file, cache=tmp_path / "cache")
    assert "exportlint.static.check_file" in loaded
    # libcst is there by name, and loads when something of it is asked for; `full` knows of stages.
    passed_by = {"libcst", "exportlint.trial.protocol.stages", "exportlint.trial.protocol.torch_messages"}
    assert among(loaded - (passed_by if format_name == "full" else {"libcst"}), (*FOR_FINDINGS, *FOR_OTHERS)) == []


def test_what_is_remembered_loads_no_rule(tmp_path: Path) -> None:
    file = str(clean_file(tmp_path))
    for _ in range(2):
        loaded = loaded_by("check", file, cache=tmp_path / "cache")
    assert "exportlint.static.static_pass" in loaded
    judging = ("exportlint.static.check_file", "exportlint.engine.interpreter", "exportlint.rule.code")
    assert among(loaded, (*FOR_FINDINGS, *judging, "logging")) == ["libcst"]
    assert [name for name in loaded if name.startswith("exportlint_rules.") and "fixtures" not in name] == []


def test_a_file_with_a_finding_needs_neither_tables_nor_trials(tmp_path: Path) -> None:
    file = tmp_path / "gate.py"
    file.write_text(FIXED, "utf-8")
    loaded = loaded_by("check", "--no-cache", "--output-format", "json", str(file), cache=tmp_path / "cache")
    assert "libcst._nodes" in loaded
    not_needed = set(FOR_OTHERS) - {"exportlint.reference", "exportlint.rewrite", "traceback", "logging"}
    assert among(loaded, ("msgspec", "rich", "tabulate", "jinja2", "torch", *not_needed)) == []


@pytest.mark.slow
def test_a_clean_file_costs_little_more_than_an_import_of_libcst(tmp_path: Path) -> None:
    file = clean_file(tmp_path)
    cpu_seconds(*EXPORTLINT, "check", str(file))
    rounds = [
        (
            cpu_seconds(sys.executable, "-c", "import libcst"),
            cpu_seconds(*EXPORTLINT, "check", str(file)),
        )
        for _ in range(ROUNDS)
    ]
    parser, check = (min(seconds) for seconds in zip(*rounds, strict=True))
    assert check <= LIMIT * parser, f"{check:.2f} s for one file, {parser:.2f} s for `import libcst`"

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


LIMIT = 1.5
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


@pytest.mark.parametrize("options", [(), ("--no-cache",)])
def test_a_clean_file_is_judged_without_libcst(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "exportlint", "check", *options, str(clean_file(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT | {"EXPORTLINT_CACHE_DIR": str(tmp_path / "cache")},
    )
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "exportlint.static.check_file" in loaded
    assert not [name for name in loaded if name.startswith(("libcst", "rich", "msgspec", "tabulate", "torch"))]


@pytest.mark.slow
def test_a_clean_file_costs_no_more_than_one_import_of_libcst_and_a_half(tmp_path: Path) -> None:
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

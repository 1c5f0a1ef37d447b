"""A process that lives says after each edit what a fresh one would say, byte by byte, and judges little again."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from exportlint.files import SourceFile
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, StaticPass, StaticReport, check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Definitions of one file reach others in each way that Python has: by import, by star, by an alias, by inheritance, as
# an attribute, as a default, as a decorator that keeps what it decorates, as a constant that decides a test.
PROJECT = {
    "net/__init__.py": "from net.layers import *\nfrom .heads import Head as Top\n",
    "net/settings.py": '''"""What decides tests elsewhere."""
import os

LIMIT = 4
FUSED = bool(os.environ.get("FUSED"))
_names = {}
counted = 0


def is_fused():
    return FUSED


def register(fn):
    _names[fn.__name__] = fn
    return fn


def count():
    global counted
    counted += 1
    return counted
''',
    "net/numbers.py": """import torch
import numpy as np

from net.settings import LIMIT, register


@register
def largest(x):
    return x.max().item()


@register
def rows_of(x, mask):
    return x[mask]


def clipped(x, limit=LIMIT):
    if limit > 3:
        return x.clamp(max=limit)
    return x


def as_array(x):
    return np.asarray(x.detach())


def mean_of(values):
    total = 0.0
    for value in values:
        total = total + value.mean()
    return total / len(values)
""",
    "net/layers.py": """import torch
import torch.nn.functional as F
from torch import nn

from . import numbers
from .numbers import clipped, largest
from .settings import _names, count, is_fused

__all__ = ["Block", "Gate", "ACTIVATIONS"]
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class Block(nn.Module):
    scale = 2

    def __init__(self, width: int, act: str = "relu") -> None:
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.act = ACTIVATIONS[act]
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(self.lin(x))
        if is_fused():
            y = y * self.scale
        return self.after(y)

    def after(self, y):
        return clipped(y)


class Gate(Block):
    def after(self, y):
        if largest(y) > 0:
            self.seen += 1
            return y * 2
        return numbers.clipped(y, limit=8)


class Chosen(Block):
    def after(self, y):
        return _names["largest"](y) + count()
""",
    "net/heads.py": """from __future__ import annotations

import torch
from torch import nn

import net.numbers as n
from net.layers import Block, Gate


class Head(nn.Module):
    def __init__(self, width: int = 8, block: type[Block] = Gate) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([block(width) for _ in range(2)])
        self.out = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        if mask is not None:
            x = n.rows_of(x, mask)
        return self.out(x)


class Mean(Head):
    def forward(self, x, mask=None):
        print("mean of", x.shape)
        parts = [block(x) for block in self.blocks]
        return n.mean_of(parts), n.as_array(x)
""",
    "export.py": """import torch

from net import Block, Top
from net.heads import Mean

model = Top(8).eval()
example_args = (torch.randn(2, 8),)

if __name__ == "__main__":
    dims = {"x": {0: torch.export.Dim("batch", min=2, max=8)}}
    torch.export.export(model, example_args, dynamic_shapes=dims)
    torch.export.export(Mean(8), example_args, strict=True)
    torch.export.export(Block(8), (torch.ones(2, 8),))
""",
}
EDITS = 300


@pytest.mark.parametrize(("wanted", "edits"), [(Wanted.NONE, EDITS), (Wanted.FIRST, EDITS // 4)])
def test_three_hundred_edits_give_what_a_fresh_process_gives(tmp_path: Path, wanted: Wanted, edits: int) -> None:
    """Lines are deleted, doubled, moved, cut half way and mixed, files are emptied, removed and restored.

    Most of them without rewrites: whoever makes one reads all of a file, and is judged again for anything in it.
    """
    drawn = random.Random(20261128)  # noqa: S311 - edits, not secrets
    write(tmp_path, PROJECT)
    rules = list(all_rules().values())
    options = StaticOptions(modes=("non-strict", "strict"), rewrites=wanted)
    living = StaticPass(rules, options)
    broken = 0
    reports = set()
    for number in range(edits):
        if number % 5 == 0:  # else too little is left that works
            write(tmp_path, PROJECT)
        edit(tmp_path, drawn)
        files = sources(tmp_path)
        found = living.check(files)
        fresh = check(files, rules, options)
        assert repr(found) == repr(fresh), f"edit {number}"
        broken += any("is not valid Python" in problem.message for problem in found.problems)
        reports.add(repr(found.findings))
    assert broken > edits // 10, "some of them break the syntax"
    assert len(reports) > edits // 15, "and the findings are not always the same ones"


@pytest.mark.parametrize(
    ("file", "old", "new", "judged"),
    [
        # `net/layers.py` reads numbers.py, and nothing of `mean_of`.
        ("net/numbers.py", "total / len(values)", "total / 2", {"net/numbers.py", "net/heads.py", "export.py"}),
        ("net/numbers.py", "total / len(values)\n", "total / len(values)\n\n\n# A remark.\n", {"net/numbers.py"}),
        # Lines of it move that these three name.
        (
            "net/numbers.py",
            "import numpy as np\n",
            "import numpy as np\n\n# A remark.\n",
            {"net/numbers.py", "net/layers.py", "net/heads.py", "export.py"},
        ),
        ("net/settings.py", "counted = 0", "counted = 1  # set elsewhere", {"net/settings.py", "net/layers.py"}),
        ("net/heads.py", 'print("mean of", x.shape)', "pass", {"net/heads.py", "export.py"}),
    ],
)
def test_an_edit_is_judged_where_it_was_looked_up(
    tmp_path: Path, file: str, old: str, new: str, judged: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without rewrites, which are made of whole files."""
    write(tmp_path, PROJECT)
    living = StaticPass(list(all_rules().values()), StaticOptions(rewrites=Wanted.NONE))
    living.check(sources(tmp_path))
    path = tmp_path / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    assert judged_by(living, sources(tmp_path), monkeypatch) == judged


def judged_by(living: StaticPass, files: list[SourceFile], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    import exportlint.static.check_file as judging  # noqa: PLC0415 (its function is watched)

    done: set[str] = set()
    judge = judging.check_file

    def watched(file: SourceFile, *rest: object, **named: object) -> object:
        done.add(file.shown)
        return judge(file, *rest, **named)  # type: ignore[arg-type] # handed on as they came

    monkeypatch.setattr(judging, "check_file", watched)
    assert isinstance(living.check(files), StaticReport)
    return done


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


def sources(folder: Path) -> list[SourceFile]:
    paths = sorted(folder.rglob("*.py"))
    return [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]


def edit(folder: Path, drawn: random.Random) -> None:
    path = folder / drawn.choice([*sorted(PROJECT), *["net/numbers.py", "net/settings.py", "net/layers.py"] * 2])
    text = path.read_text("utf-8") if path.exists() else ""
    lines = text.split("\n")
    told = [number for number, line in enumerate(lines) if line.strip()] or [0]
    at, other = drawn.choice(told), drawn.choice(told)
    words = sorted({word for one in PROJECT.values() for word in re.findall(r"[A-Za-z_]\w*|\d+", one)})
    forms: list[Callable[[], list[str]]] = [
        lambda: lines[:at] + lines[at + 1 :],
        lambda: [*lines[: at + 1], *lines[at:]],
        lambda: [*lines[:at], "", *lines[at:]],
        lambda: [*lines[:at], "# " + lines[other], *lines[at:]],
        lambda: [*lines[:at], lines[at][: drawn.randrange(len(lines[at]) + 1)], *lines[at + 1 :]],
        lambda: [lines[other] if n == at else line for n, line in enumerate(lines)],
        lambda: [*lines[:at], lines[other], *lines[at:]],
        *[lambda: mixed(lines, at, words, drawn)] * 4,
        lambda: PROJECT[path.relative_to(folder).as_posix()].split("\n"),
    ]
    chosen = drawn.randrange(len(forms) + 1)
    if chosen == len(forms):
        path.unlink(missing_ok=True)
    else:
        path.write_text("\n".join(forms[chosen]()), "utf-8")


def mixed(lines: list[str], at: int, words: list[str], drawn: random.Random) -> list[str]:
    """A word of a line is another word of the project."""
    found = list(re.finditer(r"[A-Za-z_]\w*|\d+", lines[at]))
    if not found:
        return lines
    old = drawn.choice(found)
    line = lines[at][: old.start()] + drawn.choice(words) + lines[at][old.end() :]
    return [*lines[:at], line, *lines[at + 1 :]]

"""The advice that is printed for twelve rows, followed to the letter: the model then exports and agrees with eager."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

HEAD = "import torch\nfrom torch import nn\n\n\n"
# Exports what a file declares, and calls program and eager, or what is meant, with the sample and with other inputs.
FOLLOWED = """\
import torch
import net
sizes, strict = getattr(net, "dynamic_shapes", None), getattr(net, "strict", False)
program = torch.export.export(net.model, net.example_args, dynamic_shapes=sizes, strict=strict)
reference = getattr(net, "reference", net.model)
for inputs in (net.example_args, *net.others):
    torch.testing.assert_close(program.module()(*inputs), reference(*inputs))
"""


@dataclass(frozen=True, slots=True)
class Advice:
    """`source` says `printed` when it is given to `command`; following that is to replace the old text by the new.

    Where code is `offered`, it is taken from the report as it stands there and put before the text that is named.
    `others` are inputs beside the sample that the program must take too, as source.
    """

    row: str
    command: tuple[str, ...]
    source: str
    printed: str
    edits: tuple[tuple[str, str], ...]
    others: str
    offered: str = ""


CHECK = ("check",)
TRIAL = ("trial", "--mode", "both")

STATIC_BATCH = Advice(
    "M1",
    ("trial", "--dynamic", "auto"),
    """\
class Video(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 5)

    def forward(self, video):
        return self.head(video.mean((2, 3, 4)))


model = Video().eval()
example_args = (torch.randn(2, 3, 4, 8, 8),)
""",
    'batch = Dim("batch"',
    (),
    offered="model = Video",
    others="[(torch.randn(4, 3, 4, 8, 8),), (torch.randn(1, 3, 4, 8, 8),)]",
)

NOT_STRICT = Advice(
    "M2",
    TRIAL,
    """\
import threading


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = []

    def grown(self, row):
        with self.lock:
            self.rows.append(row)
            return torch.stack(self.rows)


class Decoder(nn.Module):
    def forward(self, x):
        cache = Cache()
        cache.grown(x)
        return cache.grown(x + 1).sum(0)


model = Decoder()
example_args = (torch.randn(2, 3),)
strict = True
""",
    "strict=False",
    (("strict = True", "strict = False"),),
    "[(torch.ones(2, 3),)]",
)

METHOD = Advice(
    "M4",
    CHECK,
    """\
class Predictor:
    def __init__(self):
        self.encoder = nn.Linear(4, 4)

    def predict(self, image):
        return self.encoder(image).relu()


predictor = Predictor()
model = predictor.predict
example_args = (torch.randn(2, 4),)
if __name__ == "__main__":
    torch.export.export(predictor.predict, example_args)
""",
    "`nn.Module` whose forward calls it",
    (
        (
            "model = predictor.predict",
            (
                "class Predict(nn.Module):\n    def forward(self, image):\n        return predictor.predict(image)\n"
                "\n\n"
                "model = Predict()"
            ),
        ),
        ("torch.export.export(predictor.predict,", "torch.export.export(model,"),
    ),
    "[(torch.ones(2, 4),)]",
)

BRANCH = Advice(
    "L1",
    CHECK,
    """\
class Gate(nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            y = x * 2
        else:
            y = -x
        return y


model = Gate()
example_args = (torch.randn(2, 4),)
""",
    "`torch.where`",
    (
        (
            "        if x.mean() > 0:\n            y = x * 2\n        else:\n            y = -x\n        return y",
            "        return torch.where(x.mean() > 0, x * 2, -x)",
        ),
    ),
    "[(torch.ones(2, 4),), (-torch.ones(2, 4),)]",
)

DATA = Advice(
    "L4",
    CHECK,
    """\
class Peak(nn.Module):
    def forward(self, x):
        y = x.exp()
        y.data = y.clamp(max=2)
        return y


model = Peak()
example_args = (torch.randn(2, 4),)
""",
    "`y + (new - y).detach()`",
    (("        y.data = y.clamp(max=2)\n        return y", "        return y + (y.clamp(max=2) - y).detach()"),),
    "[(torch.ones(2, 4),), (-torch.ones(2, 4),)]",
)

BROAD_EXCEPT = Advice(
    "L6",
    CHECK,
    """\
class Scale(nn.Module):
    def forward(self, x):
        try:
            if x.max() > 1:
                x = x / x.max()
        except Exception:
            pass
        return x


model = Scale()
example_args = (torch.ones(2, 4),)
""",
    "write the data-dependent part with `torch.where` or `torch.cond`",
    (
        (
            (
                "        try:\n            if x.max() > 1:\n                x = x / x.max()\n"
                "        except Exception:\n            pass\n        return x"
            ),
            "        return torch.where(x.max() > 1, x / x.max(), x)",
        ),
    ),
    "[(torch.ones(2, 4) * 3,), (-torch.ones(2, 4),)]",
)

OLD_SIZES = Advice(
    "L7",
    CHECK,
    """\
class Net(nn.Module):
    def forward(self, x):
        return x.relu()


model = Net()
example_args = (torch.randn(4, 8),)
if __name__ == "__main__":
    (x,) = example_args
    torch.export.export(model, (x,), constraints=[torch.export.dynamic_dim(x, 0) <= 64])
""",
    'dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2, max=64)}}',
    (
        (
            'if __name__ == "__main__":',
            'dynamic_shapes = {"x": {0: torch.export.Dim("batch", min=2, max=64)}}\nif __name__ == "__main__":',
        ),
    ),
    "[(torch.randn(64, 8),), (torch.randn(2, 8),)]",
)

EQUAL_SIZES = Advice(
    "L8",
    ("trial", "--dynamic", "auto"),
    """\
class Scores(nn.Module):
    def forward(self, x, y):
        if x.shape[0] <= 16:
            return x @ y
        return x @ y + 1


model = Scores()
example_args = (torch.randn(4, 6), torch.randn(6, 5))
""",
    "max=16",
    (),
    offered="model = Scores",
    others="[(torch.randn(16, 3), torch.randn(3, 2)), (torch.randn(3, 9), torch.randn(9, 7))]",
)

BOUNDS = Advice(
    "L10",
    ("trial",),
    """\
class Pool(nn.Module):
    def forward(self, x, size):
        n = size.item()
        return nn.functional.adaptive_avg_pool2d(x, n)


model = Pool().eval()
example_args = (torch.randn(1, 2, 8, 8), torch.tensor(3))
""",
    "instead (verified): write `torch._check(n >= 0)` and `torch._check(n != 1)` behind `n = size.item()`",
    (
        (
            "        n = size.item()\n",
            "        n = size.item()\n        torch._check(n >= 0)\n        torch._check(n != 1)\n",
        ),
    ),
    "[(torch.randn(1, 2, 8, 8), torch.tensor(4)), (torch.randn(1, 2, 8, 8), torch.tensor(2))]",
)

FAKE_KERNEL = Advice(
    "L11",
    ("trial",),
    """\
@torch.library.custom_op("garden::halves", mutates_args=())
def halves(x: torch.Tensor) -> torch.Tensor:
    return x[:, : x.shape[1] // 2].clone()


class Net(nn.Module):
    def forward(self, x):
        return halves(x) * 2


model = Net()
example_args = (torch.randn(4, 6),)
""",
    "instead (verified): register a fake kernel, as this trial did",
    (),
    offered="class Net",
    others="[(torch.ones(4, 6),)]",
)

TRAIN_MODE = Advice(
    "A3",
    CHECK,
    """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


model = Net()
reference = Net().eval()
example_args = (torch.randn(2, 4),)
if __name__ == "__main__":
    torch.export.export(model, example_args)
""",
    "call `.eval()` on the model before the export",
    (("model = Net()", "model = Net().eval()"),),
    "[(torch.ones(2, 4),)]",
)

TORCHSCRIPT = Advice(
    "T2",
    CHECK,
    """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.jit.script(nn.Linear(4, 2))

    def forward(self, x):
        return self.head(x).relu()


model = Net()
example_args = (torch.randn(3, 4),)
""",
    "keep the eager module and export it",
    (("torch.jit.script(nn.Linear(4, 2))", "nn.Linear(4, 2)"),),
    "[(torch.ones(3, 4),)]",
)
ADVICE = [
    STATIC_BATCH,
    NOT_STRICT,
    METHOD,
    BRANCH,
    DATA,
    BROAD_EXCEPT,
    OLD_SIZES,
    EQUAL_SIZES,
    BOUNDS,
    FAKE_KERNEL,
    TRAIN_MODE,
    TORCHSCRIPT,
]


@pytest.mark.parametrize("advice", ADVICE, ids=[one.row for one in ADVICE])
def test_following_the_advice_helps(advice: Advice, say: Callable[..., str], tmp_path: Path) -> None:
    report = say(advice.command[0], HEAD + advice.source, *advice.command[1:])
    assert advice.printed in " ".join(report.split())
    source = HEAD + advice.source
    for old, new in (*advice.edits, *taken(advice, report)):
        assert source.count(old) == 1
        source = source.replace(old, new)
    assert exports(HEAD + advice.source, advice.others, tmp_path) != "", "it does not export without the advice"
    assert exports(source, advice.others, tmp_path) == ""


def taken(advice: Advice, report: str) -> list[tuple[str, str]]:
    """What the report offers as code, before the place that the case names."""
    if not advice.offered:
        return []
    dims = re.search(r"^ *from torch\.export import Dim\n.*?^ *}$", report, re.MULTILINE | re.DOTALL)
    kernel = re.search(r"^ +@torch\.library\.register_fake.*\n(?: +def .*\n)(?: {8,}.*\n)+", report, re.MULTILINE)
    code = dims or kernel
    assert code
    return [(advice.offered, f"{dedent(code[0])}\n\n\n{advice.offered}")]


def exports(source: str, others: str, folder: Path) -> str:
    """The last words of a process that exports the model and runs it beside eager; "" when all is well."""
    (folder / "net.py").write_text(f"{source}\nothers = {others}\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-B", "-c", FOLLOWED], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""

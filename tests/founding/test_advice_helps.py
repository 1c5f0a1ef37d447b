"""The advice that is printed for twelve rows, followed to the letter: the edited model exports and agrees with eager."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

HEAD = "import torch\nfrom torch import nn\n\n\n"


@dataclass(frozen=True, slots=True)
class Advice:
    """`source` says `printed` when it is given to `command`; following that is to replace the old text by the new.

    `others` are inputs beside the sample that the program must take too, as source.
    """

    row: str
    command: tuple[str, ...]
    source: str
    printed: str
    edits: tuple[tuple[str, str], ...]
    others: str = ""


CHECK = ("check",)
TRIAL = ("trial", "--mode", "both", "--quick")

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
    "[(torch.randn(4, 3, 4, 8, 8),), (torch.randn(1, 3, 4, 8, 8),)]",
)

NOT_STRICT = Advice(
    "M2",
    TRIAL,
    """\
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
            "class Predict(nn.Module):\n    def forward(self, image):\n        return predictor.predict(image)\n\n\n"
            "model = Predict()",
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
            "        try:\n            if x.max() > 1:\n                x = x / x.max()\n        except Exception:\n"
            "            pass\n        return x",
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
    "[(torch.randn(16, 3), torch.randn(3, 2)), (torch.randn(3, 9), torch.randn(9, 7))]",
)

BOUNDS = Advice(
    "L10",
    CHECK,
    """\
class Repeat(nn.Module):
    def forward(self, x, times):
        n = times.item()
        if n >= 1:
            x = x.repeat(n, 1)
        return x


model = Repeat()
example_args = (torch.randn(2, 4), torch.tensor(3))
""",
    "torch._check",
    (("        n = times.item()\n", "        n = times.item()\n        torch._check(n >= 1)\n"),),
    "[(torch.randn(2, 4), torch.tensor(1)), (torch.randn(2, 4), torch.tensor(5))]",
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
example_args = (torch.randn(2, 4),)
if __name__ == "__main__":
    torch.export.export(model, example_args)
""",
    "call `.eval()` on the model before the export",
    (("model = Net()", "model = Net().eval()"),),
    "[(torch.ones(2, 4),)]",
)

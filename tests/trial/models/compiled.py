"""Models that torch.compile breaks, compiles again, or gets wrong, each in one way; and some that it takes well."""

# ruff: noqa: T201 - what the models are for

import time

import numpy as np
import torch
from torch import nn


class Says(nn.Module):
    """Breaks at three lines, one of them in a function that is called twice."""

    def forward(self, x):
        x = self._told(x)
        if x.sum() > 0:  # break: branch
            x = x + 1
        return self._told(x) * 2

    def _told(self, x):
        print("told")  # break: says
        return x.relu()

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class BreaksInLoop(nn.Module):
    def forward(self, x):
        for step in range(2):
            torch._dynamo.graph_break()  # skipped
            x = x + step
        return x

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


@torch.compiler.disable
def outside(x):
    return x * 2


class KeptOut(nn.Module):
    def forward(self, x):
        return outside(x + 1).relu()  # disabled

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class OtherSide(nn.Module):
    """The second break is met on other values only."""

    def forward(self, x):
        if x.sum() > 0:  # break
            return x + 1
        return x * np.random.default_rng(0).random()  # met on other values

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class OneGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, scale):
        return torch.where(x.sum() > 0, self.layer(x), x) * scale

    @staticmethod
    def inputs():
        return torch.ones(2, 3), 2


class CountsCalls(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # again
        return x * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class CountsCallsInBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class SizeInTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = {size: 1.0 / size for size in range(1, 100)}

    def forward(self, x):
        return x * self.scales[x.shape[0]]  # size

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class UnrollsSteps(nn.Module):
    """Each number of rounds is another graph, whatever Dynamo makes a symbol of."""

    def forward(self, x, steps):
        for _ in range(steps):  # number
            x = x.relu() * 2
        return x

    @staticmethod
    def inputs():
        return torch.ones(2, 3), 3


class OtherWord(nn.Module):
    def forward(self, x, mode):
        return x.relu() if mode == "relu" else x.tanh()  # word

    @staticmethod
    def inputs():
        return torch.ones(2, 3), "relu"

    @staticmethod
    def other_inputs():
        return torch.ones(2, 3), "tanh"


class OnlyWhereCompiled(nn.Module):
    def forward(self, x):
        return x * 2 if torch.compiler.is_compiling() else x * 3

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class WrongOnTheThird(nn.Module):
    """What compiles with the sizes of the third set of inputs alone computes something else."""

    def forward(self, x):
        return x * 2 if torch.compiler.is_compiling() and x.shape[0] > 6 else x * 3

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)

    @staticmethod
    def other_inputs():
        return [(torch.ones(rows, 3),) for rows in (4, 8)]


class LeftWithoutReason(nn.Module):
    """Dynamo never looks at it, and tells nobody."""

    @torch.compiler.disable(recursive=False)
    def forward(self, x):
        return x * 2

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class HandsOn(nn.Module):
    """There is nothing to compile."""

    def forward(self, x):
        return x

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class QuietWhereCompiled(nn.Module):
    """What its author leaves out where torch compiles is no difference."""

    def forward(self, x):
        if not torch.compiler.is_compiling():
            print("eager")
        return x * 3

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class SaysTheTime(nn.Module):
    """What it says is another thing in every run of eager, too."""

    def forward(self, x):
        print("at", time.perf_counter_ns())
        return x * 3

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class OneBreakEach(nn.Module):
    """Each of several other inputs takes another side; one of them eager does not take."""

    def forward(self, x, way):
        if way == "first":
            print(way)  # break: first
        elif way == "second":
            torch._dynamo.graph_break()  # break: second
        elif way == "third":
            x = x * x.sum().item()  # break: third
        else:
            raise ValueError(way)
        return x * 3

    @staticmethod
    def inputs():
        return torch.ones(2, 3), "first"

    @staticmethod
    def other_inputs():
        return [(torch.ones(2, 3), way) for way in ("second", "none", "third")]


class OnlyWithoutGradients(nn.Module):
    """Eager runs it under `torch.no_grad()` only: the result of the layer may have gradients."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        values = self.layer(x).numpy()
        print("told")  # break
        return torch.from_numpy(values) * 2

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class CountsTwice(nn.Module):
    """Two counters, of which Dynamo names one guard at a time."""

    def __init__(self):
        super().__init__()
        self.calls = self.rounds = 0

    def forward(self, x):
        self.calls += 1  # first
        self.rounds += 2  # second
        return x * self.calls + self.rounds

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class Progress:
    def __init__(self):
        self.step = 0


class CountsInObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.progress = Progress()

    def forward(self, x):
        self.progress.step += 1  # object
        return x * self.progress.step

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class KeepsHistory(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x.mean())  # history
        return x + torch.stack(self.history).mean()

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class OtherDtype(nn.Module):
    def forward(self, x):  # dtype
        return x.relu() * 2

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)

    @staticmethod
    def other_inputs():
        return (torch.ones(2, 3, dtype=torch.float64),)


class Levels(nn.Module):
    """Eager takes more tensors, but its callers give two."""

    def forward(self, levels):
        return sum(level.mean() for level in levels)  # levels

    @staticmethod
    def inputs():
        return ([torch.ones(2, 3), torch.ones(2, 4)],)


class MoreLevels(nn.Module):
    """Its callers give more."""

    def forward(self, levels):
        return sum(level.mean() for level in levels)  # levels

    @staticmethod
    def inputs():
        return ([torch.ones(2, 3), torch.ones(2, 4)],)

    @staticmethod
    def other_inputs():
        return ([torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 5)],)


class Squares(nn.Module):
    """Takes square numbers of tokens only, and has a step for each row of them."""

    def forward(self, tokens):
        side = int(tokens.shape[1] ** 0.5)
        rows = tokens.unflatten(1, (side, side))
        return sum(rows[:, row].mean(dim=1) for row in range(side))  # rows

    @staticmethod
    def inputs():
        return (torch.ones(2, 16, 3),)


class RoundsRate(nn.Module):
    """Small steps of the number change nothing."""

    def forward(self, x, rate):
        for _ in range(int(rate * 2)):  # rate
            x = x.relu() * 2
        return x

    @staticmethod
    def inputs():
        return torch.ones(2, 3), 1.0


class Buckets(nn.Module):
    """Small steps mostly stay in one bucket."""

    def forward(self, x):
        size = next(size for size in (8, 16, 32, 64, 128, 256) if x.shape[1] <= size)  # bucket
        return nn.functional.pad(x, (0, size - x.shape[1])).softmax(dim=1)

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


CALLS = 0


class CountsInFile(nn.Module):
    def forward(self, x):
        global CALLS  # noqa: PLW0603 - what the model is for
        CALLS += 1  # global
        return x * CALLS

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)


class FreesInSteps(nn.Module):
    """A schedule of training: one layer more in every second call, which nothing in the call shows."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(8)).requires_grad_(requires_grad=False)
        self.calls = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        self.free()
        return x

    @torch.compiler.disable
    def free(self):
        self.calls += 1
        for layer in list(self.layers)[: self.calls // 2]:
            layer.weight.requires_grad_(requires_grad=True)  # freed

    @staticmethod
    def inputs():
        return (torch.ones(2, 4),)


class KeepsLast(nn.Module):
    """What is kept grows to four rows, and requires gradients as the mode was: a few kinds, a graph for each."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.last = None

    def forward(self, x):
        y = self.inner(x)
        self.last = y if self.last is None else torch.cat([self.last.detach(), y])[-4:]
        return y + self.last.mean(0)

    @staticmethod
    def inputs():
        return (torch.ones(2, 4),)


class Halves(nn.Module):
    """In steps of 64 most sizes have as many halves as the one before; doubled, each has one more."""

    def forward(self, x):
        while x.shape[1] > 8:  # halves
            x = x[:, ::2] + x[:, 1::2].sum(1, keepdim=True)
        return x.mean(1)

    @staticmethod
    def inputs():
        return (torch.ones(2, 512),)

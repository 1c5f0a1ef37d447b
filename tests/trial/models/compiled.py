"""Models that torch.compile breaks, compiles again, or gets wrong, each in one way; and some that it takes well."""

# ruff: noqa: T201 - what the models are for

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


class QuietWhereCompiled(nn.Module):
    """What its author leaves out where torch compiles is no difference."""

    def forward(self, x):
        if not torch.compiler.is_compiling():
            print("eager")
        return x * 3

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)

"""Export accepts these; what follows it does not."""

import dataclasses
import os
import signal

import torch
from torch import nn


@dataclasses.dataclass
class Scores:
    low: torch.Tensor
    high: torch.Tensor


torch.export.register_dataclass(Scores)


class Saved(nn.Module):
    """No name is registered under which the output's class could be written."""

    def forward(self, x):
        return Scores(x - 1, x + 1)

    @staticmethod
    def inputs():
        return (torch.randn(3),)


class Written(nn.Module):
    """The tensor that is written is no buffer."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(3)

    def forward(self, x):
        self.total.add_(x)
        return self.total * 2

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Factors(nn.Module):
    """The factorisation stays what it is after decomposition."""

    def forward(self, x):
        return torch.linalg.cholesky(x @ x.mT + torch.eye(3))

    @staticmethod
    def inputs():
        return (torch.randn(3, 3),)


class Counted(nn.Module):
    """State in a buffer goes along."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Crashes(nn.Module):
    """Only the export ends its process."""

    def forward(self, x):
        if torch.compiler.is_exporting():
            os.kill(os.getpid(), signal.SIGSEGV)
        return x * 2

    @staticmethod
    def inputs():
        return (torch.ones(3),)

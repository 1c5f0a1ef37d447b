"""Models that misbehave as real ones do; each must end as a status of its own target."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn


class Segfaults(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Exits(nn.Module):
    def forward(self, x):
        os._exit(0)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class SaysExit(nn.Module):
    def forward(self, x):
        sys.exit(3)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Hangs(nn.Module):
    def forward(self, x):
        while True:
            x = x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Allocates(nn.Module):
    def forward(self, x):
        held = []
        while True:
            held.append(torch.ones(1 << 22))

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Floods(nn.Module):
    def forward(self, x):
        for _ in range(40):
            os.write(1, b"x" * (1 << 20))
            os.write(2, b"y" * (1 << 20))
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class ClosesEverything(nn.Module):
    def forward(self, x):
        os.closerange(0, 4096)
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class LeavesAProcess(nn.Module):
    def forward(self, x):
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(987)"], start_new_session=True)
        Path(os.environ["LEFT_PID"]).write_text(str(left.pid))
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class ReadsStdin(nn.Module):
    def forward(self, x):
        return x + len(sys.stdin.read())

    @staticmethod
    def inputs():
        return (torch.ones(3),)

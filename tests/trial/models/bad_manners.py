"""Models that misbehave as real ones do; each must end as a status of its own target."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
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


class Forks(nn.Module):
    """Two processes come back from the call, and both go on."""

    def forward(self, x):
        if os.fork() == 0:
            return x + 1
        return x + 2

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Deadlocks(nn.Module):
    def forward(self, x):
        lock = threading.Lock()
        with lock, lock:
            return x

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class SpinsDeafly(nn.Module):
    """No polite signal ends it, and none tells where it is."""

    def forward(self, x):
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            x = x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class LeavesAMess(nn.Module):
    def forward(self, x):
        os.chdir("/")
        os.close(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        torch.set_default_dtype(torch.float64)
        sys.path.clear()
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class NeedsATidyPlace(nn.Module):
    """Tried last: what the others did must not reach it."""

    def forward(self, x):
        tidy = (
            Path.cwd() != Path("/")
            and torch.get_default_dtype() == torch.float32
            and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            and bool(sys.path)
        )
        return x + 1 if tidy else x.untidy()

    @staticmethod
    def inputs():
        return (torch.ones(3),)

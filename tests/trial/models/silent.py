"""Models that export accepts and computes something else, each in one way; and two that are right."""

# ruff: noqa: S311, T201, S110, BLE001 - the sins are what these models are for

import functools
import random

import torch
from torch import nn


class Baked(nn.Module):
    def forward(self, x):
        return x + random.random()

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Remembers(nn.Module):
    """Equal on equal values, another on others: only what an earlier call left shows it."""

    def __init__(self):
        super().__init__()
        self.past = []

    def forward(self, x):
        self.past.append(x)
        return torch.stack(self.past).mean(0)

    @staticmethod
    def inputs():
        return (torch.ones(3),)

    @staticmethod
    def other_inputs():
        return (torch.zeros(3),)


class Prints(nn.Module):
    def forward(self, x):
        print("here")
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Swallows(nn.Module):
    """The tracer's error is taken for the model's own."""

    def forward(self, x):
        try:
            if x.sum() > 0:
                return x * 2
        except Exception:
            pass
        return x * 3

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Poisoned(nn.Module):
    """The export leaves a tensor without data in the model."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", None)

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.arange(3) * 1.0
        return x + self.cache

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class LeavesWhatItOverwrites(nn.Module):
    """What the export leaves is overwritten before anybody reads it."""

    def forward(self, x):
        self.last = x * 2
        return self.last + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


@functools.lru_cache
def table(size):
    return torch.arange(size) * 1.0


class PoisonedCache(nn.Module):
    """The export leaves a tensor without data in a cache of the module's file."""

    def forward(self, x):
        return x + table(x.shape[0])

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class KnowsItIsExported(nn.Module):
    """Goes another way while it is traced."""

    def forward(self, x):
        x = x.cos()
        if not torch.compiler.is_exporting():
            x = x * 2
        else:
            x = x.sin()
            x = x + 3
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class CountsTwo(nn.Module):
    """Of two things that outlive a call, one reaches the outputs."""

    def __init__(self):
        super().__init__()
        self.looks, self.steps = 0, 0

    def forward(self, x):
        self.looks += 1
        self.steps += 1
        return x * self.steps

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Right(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        self.calls.add_(1)
        return self.inner(x) * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class KeepsACache(nn.Module):
    """A buffer that is not saved is a constant of the program, which every run writes into."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3), persistent=False)

    def forward(self, x):
        self.cache[1] = x
        return self.cache.sum(0)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class RandomOnPurpose(nn.Module):
    """Randomness that the exported program has as well."""

    def forward(self, x):
        return x + torch.rand_like(x)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class FallsBack(nn.Module):
    """Eager has a way out of what raises for some values; the program does not."""

    def forward(self, x):
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return torch.zeros_like(x)

    @staticmethod
    def inputs():
        return (torch.eye(3),)

    @staticmethod
    def other_inputs():
        return (-torch.eye(3),)


class Steered(nn.Module):
    """A flag among the inputs: the program has the one branch of it."""

    def forward(self, x, first):
        return self.cut(x, first)

    def cut(self, x, one):
        if one:
            return x[:1]
        return x

    @staticmethod
    def inputs():
        return (torch.ones(3), True)

"""Models with an end that no export sees: only eager raises beyond it."""

import torch
from torch import nn


class Places(nn.Module):
    """A table of six rows, looked up by a range."""

    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(6, 8)

    def forward(self, ids):
        return ids.unsqueeze(-1) + self.places(torch.arange(ids.shape[1]))

    @staticmethod
    def inputs():
        return (torch.randn(2, 3),)


class Board(nn.Module):
    """Rows times columns look up one table."""

    def __init__(self):
        super().__init__()
        self.cells = nn.Embedding(40, 4)

    def forward(self, board):
        rows, columns = board.shape
        return board.unsqueeze(-1) * self.cells(torch.arange(rows * columns).reshape(rows, columns))

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)


class Landmarks(nn.Module):
    """Fixed indices need six points at least."""

    def __init__(self):
        super().__init__()
        self.register_buffer("lips", torch.tensor([0, 2, 5]))

    def forward(self, face):
        return face[:, self.lips].sum(1)

    @staticmethod
    def inputs():
        return (torch.randn(2, 8),)


class Slots(nn.Module):
    """Its state fills up, call by call: each size is tried by a fresh model."""

    def __init__(self):
        super().__init__()
        self.register_buffer("slots", torch.zeros(32, 4))
        self.register_buffer("used", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.slots.index_copy_(0, self.used + torch.arange(x.shape[0]), x)
        self.used.add_(x.shape[0])
        return self.slots.sum(0) + x

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)


class Pairs(nn.Module):
    """Takes the square of its size of memory, and has no end of its own."""

    def forward(self, points):
        return torch.empty(points.shape[0], points.shape[0], 64).size(0) + points

    @staticmethod
    def inputs():
        return (torch.randn(4),)


class Bonds(nn.Module):
    """The sample's edges name its last atom: fewer atoms are wrong for these values, and no end of the size."""

    def forward(self, atoms, ends):
        return atoms.index_add(0, ends, atoms[ends])

    @staticmethod
    def inputs():
        return (torch.randn(7, 2), torch.tensor([6, 0, 2]))

"""Dims that are declared dynamic, and what became of them."""

import torch
from torch import nn
from torch.export import Dim


class Frozen(nn.Module):
    """Dim.AUTO takes a constant without a word."""

    def forward(self, x):
        rows = int(x.shape[0])
        return x.reshape(rows * 4)

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim.AUTO}}


class Narrowed(nn.Module):
    """The way of the sample is kept, though eager has another for more rows."""

    def forward(self, x):
        if x.shape[0] <= 16:
            return x * 2
        return x

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim.DYNAMIC}}


class NarrowedNamed(Narrowed):
    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim("rows", min=2, max=64)}}


class OwnLimit(nn.Module):
    """The table ends at 32 in eager too: the limit is a fact, and no fault."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(32, 4))

    def forward(self, x):
        return x + self.table[: x.shape[1]]

    @staticmethod
    def inputs():
        return (torch.randn(3, 6, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim.AUTO, 1: Dim.AUTO}}


class Unequal(nn.Module):
    """Rows and columns that meet must be equal."""

    def forward(self, x, y):
        return x @ y

    @staticmethod
    def inputs():
        return (torch.randn(3, 4), torch.randn(4, 5))

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim("rows"), 1: Dim("inner", max=64)}, "y": {0: Dim("other"), 1: None}}


class OneSideStatic(nn.Module):
    """What is declared of the mask makes a constant of the dim of `x` that it meets."""

    def forward(self, x, mask):
        return x * mask.unsqueeze(-1)

    @staticmethod
    def inputs():
        return (torch.randn(3, 6, 4), torch.ones(3, 6))

    @staticmethod
    def dynamic_shapes():
        batch = Dim("batch", max=64)
        return {"x": {0: batch, 1: Dim("seq", max=64)}, "mask": {0: batch}}


class OneSideStaticAuto(OneSideStatic):
    @staticmethod
    def inputs():
        return (torch.randn(3, 6, 4), torch.ones(3, 6))

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "mask": {0: Dim.AUTO}}


class OutOfRange(nn.Module):
    """The sample breaks what is declared."""

    def forward(self, x):
        return x + 1

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim("batch", min=4, max=8)}}


class OneIsSpecial(nn.Module):
    """Torch traces two rows or more, and the program takes one row without a word."""

    def forward(self, x):
        if x.shape[0] == 1:
            return x * 3
        return x

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: Dim("batch", min=1, max=8)}}


class OtherBatch(nn.Module):
    """Nothing is declared, and a batch of another size is to run."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv3d(3, 8, kernel_size=(1, 2, 2), stride=(1, 2, 2))
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, video):
        return self.block(self.patches(video).flatten(2).transpose(1, 2)).mean(1)

    @staticmethod
    def inputs():
        return (torch.randn(2, 3, 2, 4, 4),)

    @staticmethod
    def other_inputs():
        return (torch.randn(4, 3, 2, 4, 4),)


def _found(x):
    return torch.nonzero(x > 0)


class DataSized(nn.Module):
    """Refused where the size is used, because of what another function reads."""

    def forward(self, x):
        return self.scaled(_found(x))

    def scaled(self, rows):
        if rows.shape[0] == 0:
            return rows
        return rows * 2

    @staticmethod
    def inputs():
        return (torch.randn(3, 4),)

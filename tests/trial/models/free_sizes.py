"""Models whose sizes may move, each within limits of another kind. Dims are declared nowhere."""

import torch
from torch import nn
from torch._higher_order_ops.scan import scan


class PositionTable(nn.Module):
    """One equation keeps three dims."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv3d(3, 8, (2, 4, 4), (2, 4, 4))
        self.position = nn.Parameter(torch.randn(1, 2 * 3 * 4, 8))

    def forward(self, video):
        return (self.patch(video).flatten(2).transpose(1, 2) + self.position).mean(1)

    @staticmethod
    def inputs():
        return (torch.randn(2, 3, 4, 12, 16),)


class Product(nn.Module):
    """A test of a product: eager has another way for more."""

    def forward(self, rows):
        if rows.shape[0] * rows.shape[1] < 900:
            return rows * 2
        return rows - 1

    @staticmethod
    def inputs():
        return (torch.randn(4, 10, 8),)


class Total(nn.Module):
    """A test of a sum of the sizes of two inputs."""

    def forward(self, query, memory):
        both = torch.cat([query, memory], 1)
        if query.shape[1] + memory.shape[1] > 60:
            both = both[:, -60:]
        return both.cumsum(1)

    @staticmethod
    def inputs():
        return (torch.randn(4, 10, 8), torch.randn(4, 6, 8))


class Ordered(nn.Module):
    """One size may not be larger than another."""

    def forward(self, short, long):
        if short.shape[1] > long.shape[1]:
            return long
        return long[:, : short.shape[1]] + short

    @staticmethod
    def inputs():
        return (torch.randn(3, 5), torch.randn(3, 9))


class Joined(nn.Module):
    """A size that is the sum of two others."""

    def forward(self, past, new, mask):
        return torch.cat([past, new], 1) * mask.unsqueeze(-1)

    @staticmethod
    def inputs():
        return (torch.randn(4, 10, 8), torch.randn(4, 6, 8), torch.ones(4, 16))


class FourTimes(nn.Module):
    """A size that is four times another."""

    def forward(self, mel, wave):
        return mel.repeat_interleave(4, dim=1) + wave

    @staticmethod
    def inputs():
        return (torch.randn(2, 6), torch.randn(2, 24))


class Hop(nn.Module):
    """A convolution makes one frame of every four samples."""

    def __init__(self):
        super().__init__()
        self.frames = nn.Conv1d(2, 4, 8, stride=4, padding=2)

    def forward(self, wave, bias):
        return self.frames(wave) + bias

    @staticmethod
    def inputs():
        return (torch.randn(2, 2, 48), torch.randn(2, 4, 12))


class Shifted(nn.Module):
    """A size that is one more than another."""

    def forward(self, tokens, target):
        return tokens[:, 1:] - target

    @staticmethod
    def inputs():
        return (torch.randint(0, 9, (2, 7)), torch.randint(0, 9, (2, 6)))


class Quarters(nn.Module):
    """Only multiples run."""

    def forward(self, x):
        return x.reshape(-1, 4).sum(1)

    @staticmethod
    def inputs():
        return (torch.randn(3, 8),)


class Parity(nn.Module):
    """Eager has a way for odd sizes too."""

    def forward(self, x):
        if x.shape[1] % 2 == 0:
            return x.view(x.shape[0], -1, 2).sum(-1)
        return x

    @staticmethod
    def inputs():
        return (torch.randn(2, 8),)


class Pyramid(nn.Module):
    """Halved twice, and added to what was halved once."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.again = nn.Conv2d(4, 4, 3, stride=2, padding=1)

    def forward(self, image):
        fine = self.down(image)
        return nn.functional.interpolate(self.again(fine), scale_factor=2) + fine

    @staticmethod
    def inputs():
        return (torch.randn(2, 3, 32, 40),)


class Padded(nn.Module):
    """Any size, by padding, which torch does not see."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 4, 8, stride=8)

    def forward(self, image):
        height, width = image.shape[-2:]
        return self.patch(nn.functional.pad(image, (0, -width % 16, 0, -height % 16)))

    @staticmethod
    def inputs():
        return (torch.randn(2, 3, 40, 50),)


class Bounds(nn.Module):
    """Tests that say the same again, and one that says more."""

    def forward(self, x):
        assert x.shape[1] >= 4
        assert x.shape[1] > 2
        if x.shape[1] > 64:
            return x
        if x.shape[1] > 128:
            return x * 3
        return x * 2

    @staticmethod
    def inputs():
        return (torch.randn(2, 9, 3),)


class Tokens(nn.Module):
    """Keywords, and a flag that becomes a constant."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)

    def forward(self, ids, mask=None, *, scale=2.0):
        found = self.table(ids)
        if mask is not None:
            found = found * mask.unsqueeze(-1)
        return found * scale

    @staticmethod
    def inputs():
        return (torch.randint(0, 50, (2, 7)),)

    @staticmethod
    def kwargs():
        return {"mask": torch.ones(2, 7), "scale": 3.0}


class TimeFirst(nn.Module):
    """The batch is the second dim."""

    def forward(self, sequence):
        return sequence.cumsum(0) * sequence.mean(-1, keepdim=True)

    @staticmethod
    def inputs():
        return (torch.randn(7, 3, 4),)


class Heads(nn.Module):
    """Rows are split into heads."""

    def __init__(self):
        super().__init__()
        self.projection = nn.Linear(16, 48)

    def forward(self, x):
        batch, length, features = x.shape
        query, key, value = self.projection(x).reshape(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return mixed.transpose(1, 2).reshape(batch, length, features)

    @staticmethod
    def inputs():
        return (torch.randn(2, 9, 16),)


class Scanned(nn.Module):
    """torch's own loop over time, which torch traces in an environment of its own."""

    def forward(self, steps, state):
        def step(carry, x):
            new = torch.tanh(carry + x)
            return new, new.clone()

        return scan(step, state, steps, dim=0)[1]

    @staticmethod
    def inputs():
        return (torch.randn(5, 3, 4), torch.randn(3, 4))


class FixedBatch(nn.Module):
    """A buffer keeps the batch: no dim can move."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(4, 8))
        self.mix = nn.Linear(8, 8)

    def forward(self, x):
        return self.mix(x) + self.state

    @staticmethod
    def inputs():
        return (torch.randn(4, 8),)

"""Sleep staging from EEG epochs: electrodes x time patches, factorised attention."""
import math

import torch
from torch import nn, Tensor
import torch.nn.functional as F
from torch.export import export


class RelativeBias(nn.Module):
    def __init__(self, n: int, heads: int) -> None:
        super().__init__()
        self.table = nn.Embedding(2 * n - 1, heads)
        pos = torch.arange(n)
        self.register_buffer("rel", pos[:, None] - pos[None, :] + n - 1, persistent=False)

    def forward(self) -> Tensor:
        return self.table(self.rel).permute(2, 0, 1).unsqueeze(0)


class AxisAttention(nn.Module):
    def __init__(self, dim: int, heads: int, n: int) -> None:
        super().__init__()
        self.h = heads
        self.norm = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.bias = RelativeBias(n, heads)
        self.mix = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        *lead, n, d = x.shape
        y = self.norm(x).flatten(0, -3)
        q = self.q(y).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k, v = self.kv(y).unflatten(-1, (2, self.h, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        a = torch.softmax(q @ k.mT / math.sqrt(d // self.h) + self.bias(), dim=-1)
        return x + self.mix((a @ v).transpose(1, 2).flatten(2)).reshape(*lead, n, d)


class SleepStager(nn.Module):
    def __init__(self, electrodes: int = 6, samples: int = 200, dim: int = 24) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, dim, kernel_size=40, stride=20)
        steps = (samples - 40) // 20 + 1
        self.over_time = AxisAttention(dim, 4, steps)
        self.over_scalp = AxisAttention(dim, 4, electrodes)
        self.stages = nn.Linear(dim, 5)

    def forward(self, epochs: Tensor) -> Tensor:
        b, c, t = epochs.shape
        z = F.elu(self.stem(epochs.reshape(b * c, 1, t)))
        z = z.reshape(b, c, z.size(1), -1).transpose(2, 3)
        z = self.over_time(z)
        z = self.over_scalp(z.transpose(1, 2))
        return self.stages(z.mean((1, 2))).log_softmax(-1)


if __name__ == "__main__":
    torch.manual_seed(3)
    net = SleepStager().eval()
    night = torch.randn(2, 6, 200)
    program = export(net, (night,))
    print(program.module()(night).argmax(-1))
    print(program.module()(torch.randn(4, 6, 200)).argmax(-1))

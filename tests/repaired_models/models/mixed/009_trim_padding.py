"""Spoken-command recogniser: drop the padded tail of the batch before the conformer-ish stack."""
import torch
from torch import nn


class ConvModule(nn.Module):
    def __init__(self, d, k=5):
        super().__init__()
        self.pw = nn.Linear(d, 2 * d)
        self.dw = nn.Conv1d(d, d, k, padding=k // 2, groups=d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        y = nn.functional.glu(self.pw(x), dim=-1)
        y = self.dw(y.transpose(1, 2)).transpose(1, 2)
        return self.norm(x + y)


class CommandNet(nn.Module):
    def __init__(self, n_mels=20, d=24, n_cmd=6, depth=2):
        super().__init__()
        self.front = nn.Linear(n_mels, d)
        self.stack = nn.ModuleList([ConvModule(d) for _ in range(depth)])
        self.cls = nn.Linear(d, n_cmd)

    def forward(self, mel, n_frames):
        longest = n_frames.max().item()  # EXPECT: data-dependent-shape
        mel = mel[:, :longest]
        mask = torch.arange(mel.size(1)) < n_frames[:, None]
        x = self.front(mel) * mask.unsqueeze(-1)
        for layer in self.stack:
            x = layer(x) * mask.unsqueeze(-1)
        if x.size(1) > 12:  # EXPECT: data-dependent-shape
            x = nn.functional.avg_pool1d(x.transpose(1, 2), 2).transpose(1, 2) * 2
        return self.cls(x.sum(1) / n_frames[:, None])


def get_model():
    torch.manual_seed(11)
    return CommandNet().eval()


def get_inputs():
    return torch.randn(3, 24, 20), torch.tensor([8, 18, 11])


def get_other_inputs():
    return torch.randn(3, 24, 20), torch.tensor([9, 5, 10])

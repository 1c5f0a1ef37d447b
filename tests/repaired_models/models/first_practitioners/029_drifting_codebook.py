"""Discrete tokenizer for robot hand poses; the winning codes follow the data by moving averages."""
import torch
from torch import nn
import torch.nn.functional as F


class DriftingCodebook(nn.Module):
    def __init__(self, size=16, dim=6, decay=0.8):
        super().__init__()
        self.embed = nn.Embedding(size, dim)
        self.decay = decay

    def follow(self, z, onehot):
        n = onehot.sum(0)
        mean = onehot.T @ z / n.clamp(min=1)[:, None]
        new = torch.where(n[:, None] > 0, mean, self.embed.weight)
        self.embed.weight.data = self.decay * self.embed.weight.data + (1 - self.decay) * new  # EXPECT: data-assignment

    @torch.no_grad()
    def forward(self, z):
        code = torch.cdist(z, self.embed.weight).argmin(-1)
        quant = self.embed(code)
        self.follow(z, F.one_hot(code, self.embed.num_embeddings).to(z.dtype))
        return quant, code


class PoseTokenizer(nn.Module):
    def __init__(self, joints=15):
        super().__init__()
        self.enc = nn.Linear(joints, 6)
        self.book = DriftingCodebook()
        self.dec = nn.Linear(6, joints)

    def forward(self, pose):
        q, code = self.book(self.enc(pose))
        return self.dec(q), code


def get_model():
    return PoseTokenizer().eval()


def get_inputs():
    return (torch.randn(10, 15),)


def get_other_inputs():
    return (torch.randn(10, 15) + 0.5,)

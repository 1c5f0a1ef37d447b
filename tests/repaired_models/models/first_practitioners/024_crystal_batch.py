"""Band-gap regressor over a padded batch of crystals held in a small batch object."""
import torch
from torch import nn


class CrystalBatch:
    __slots__ = ("species", "distance", "present")

    def __init__(self, species, distance, present):
        self.species, self.distance, self.present = species, distance, present

    @property
    def pair_mask(self):
        return self.present[:, :, None] & self.present[:, None, :]

    def __len__(self):
        return len(self.species)


class CrystalNet(nn.Module):
    def __init__(self, dim=12, rounds=2):
        super().__init__()
        self.atom = nn.Embedding(30, dim)
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(1, dim), nn.Softplus()) for _ in range(rounds))
        self.mix = nn.ModuleList(nn.Linear(dim, dim) for _ in range(rounds))
        self.gap = nn.Linear(dim, 1)

    def forward(self, batch: CrystalBatch):  # EXPECT: unregistered-input-class
        h = self.atom(batch.species)
        for f, m in zip(self.filters, self.mix):
            w = f(batch.distance[..., None]) * batch.pair_mask[..., None]
            h = h + torch.tanh(m((w * h[:, None]).sum(2)))
        h = h * batch.present[..., None]
        return self.gap(h.sum(1) / batch.present.sum(1, keepdim=True)).squeeze(-1)


def get_model():
    return CrystalNet().eval()


def get_inputs():
    d = torch.rand(3, 6, 6)
    present = torch.arange(6) < torch.tensor([[4], [6], [2]])
    return (CrystalBatch(torch.randint(0, 30, (3, 6)), d + d.transpose(1, 2), present),)

"""Ship detector for satellite tiles: a refinement stage runs on the candidate cells only."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CandidateHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.obj = nn.Conv2d(width, 1, 1)

    def forward(self, tile):
        f = self.body(tile)
        return f, self.obj(f).sigmoid()[:, 0]


class ShipDetector(nn.Module):
    def __init__(self, width=16, threshold=0.5):
        super().__init__()
        self.first = CandidateHead(width)
        self.refine = nn.Sequential(nn.Linear(width + 2, 32), nn.ReLU(), nn.Linear(32, 5))
        self.threshold = threshold

    def candidates(self, feats, obj):
        cells = (obj[0] > self.threshold).nonzero()
        picked = feats[0][:, cells[:, 0], cells[:, 1]].T
        return cells.to(feats.dtype), picked

    def forward(self, tile):
        feats, obj = self.first(tile)
        feats = F.normalize(feats, dim=1)
        cells, picked = self.candidates(feats, obj)
        if len(cells) == 0:  # EXPECT: branch-on-nonzero-count
            return tile.new_zeros(0, 5)
        scale = cells.new_tensor(obj.shape[1:])
        box = self.refine(torch.cat([picked, cells / scale], dim=-1))
        return torch.cat([box[:, :4].exp(), box[:, 4:].sigmoid()], dim=-1)


def get_model():
    return ShipDetector().eval()


def get_inputs():
    return (3 * torch.randn(1, 4, 20, 20),)


def get_other_inputs():
    return (torch.randn(1, 4, 20, 20),)

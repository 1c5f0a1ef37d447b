"""Cell segmentation: sigmoid mask, label propagation until it settles."""
import torch
import torch.nn.functional as F
from torch import nn


def spread(lab, fg):
    up = F.max_pool2d(lab.float().unsqueeze(0), 3, stride=1, padding=1).squeeze(0).long()
    return torch.where(fg, up, torch.zeros_like(up))


class CellSeg(nn.Module):
    def __init__(self, max_rounds=64):
        super().__init__()
        self.enc = nn.Conv2d(1, 6, 3, padding=1)
        self.dec = nn.Conv2d(6, 1, 1)
        self.max_rounds = max_rounds

    def label(self, fg):
        n = fg.numel()
        lab = torch.arange(1, n + 1).view_as(fg) * fg
        for _ in range(self.max_rounds):
            nxt = spread(lab, fg)
            if torch.equal(nxt, lab):
                break
            lab = nxt
        return lab

    def forward(self, img):
        p = self.dec(F.relu(self.enc(img))).sigmoid()[0]
        fg = p > p.median()
        return p, self.label(fg)


def get_model():
    return CellSeg().eval()


def get_inputs():
    return (torch.rand(1, 1, 12, 12),)


def get_other_inputs():
    g = torch.zeros(1, 1, 12, 12)
    g[..., 2:5, 2:9] = 3
    return (g + 0.01 * torch.randn_like(g),)

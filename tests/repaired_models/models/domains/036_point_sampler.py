"""Point cloud classifier that subsamples points with a fixed seed so that evaluations are repeatable."""
import torch
import torch.nn as nn


class SharedMLP(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        layers = []
        for a, b in zip(dims, dims[1:]):
            layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU()]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class PointSampler(nn.Module):
    def __init__(self, n_keep, seed=1234):
        super().__init__()
        self.n_keep = n_keep
        self.seed = seed

    def forward(self, pts):
        torch.manual_seed(self.seed)  # EXPECT: manual-seed-in-forward
        idx = torch.rand(pts.shape[:2]).argsort(dim=1)[:, : self.n_keep]  # EXPECT: manual-seed-in-forward
        return torch.gather(pts, 1, idx.unsqueeze(-1).expand(-1, -1, pts.shape[-1]))


class PointNetCls(nn.Module):
    def __init__(self, n_keep=16, n_cls=8):
        super().__init__()
        self.sample = PointSampler(n_keep)
        self.local = SharedMLP(3, 32, 64)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n_cls))

    def forward(self, pts):
        pts = pts - pts.mean(dim=1, keepdim=True)
        p = self.sample(pts)
        return self.head(self.local(p).amax(dim=1))


def get_model():
    return PointNetCls().eval()


def get_inputs():
    return (torch.randn(2, 64, 3),)

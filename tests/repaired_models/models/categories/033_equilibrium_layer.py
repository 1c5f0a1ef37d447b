"""Deep equilibrium layer: iterate to a fixed point, then read out."""
from dataclasses import dataclass
import torch
import torch.nn as nn


@dataclass(frozen=True)
class EqConfig:
    dim: int = 6
    tol: float = 1e-3
    max_iter: int = 30


class EquilibriumLayer(nn.Module):
    def __init__(self, cfg: EqConfig):
        super().__init__()
        self.cfg = cfg
        self.inp = nn.Linear(cfg.dim, cfg.dim)
        self.rec = nn.Linear(cfg.dim, cfg.dim, bias=False)
        with torch.no_grad():
            self.rec.weight.mul_(0.5)

    def forward(self, x):
        u = self.inp(x)
        z = torch.zeros_like(u)
        err = torch.tensor(float("inf"))
        it = 0
        while err > self.cfg.tol and it < self.cfg.max_iter:  # EXPECT: data-dependent-loop
            nxt = torch.tanh(self.rec(z) + u)
            err = (nxt - z).abs().max()
            z = nxt
            it += 1
        return z


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        cfg = EqConfig()
        self.eq = EquilibriumLayer(cfg)
        self.read = nn.Linear(cfg.dim, 2)

    def forward(self, x):
        return self.read(self.eq(x))


def get_model():
    return Net().eval()


def get_inputs():
    return (torch.randn(4, 6),)


def get_other_inputs():
    return (torch.randn(4, 6) * 40,)

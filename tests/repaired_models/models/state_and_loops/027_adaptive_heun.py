"""Neural ODE block with a Heun-Euler pair and a step size that follows the error estimate."""
import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d + 1, 2 * d)
        self.b = nn.Linear(2 * d, d)

    def forward(self, t, y):
        tt = y.new_ones(y.shape[0], 1) * t
        return self.b(torch.tanh(self.a(torch.cat([y, tt], -1)))) - 2 * y


class AdaptiveODE(nn.Module):
    def __init__(self, d=4, rtol=3e-2, t_end=1.0):
        super().__init__()
        self.f = Field(d)
        self.rtol, self.t_end = rtol, t_end

    @torch.no_grad()
    def forward(self, y):
        t = torch.zeros(())
        h = torch.tensor(0.5)
        taken = 0
        while t < self.t_end - 1e-6:  # EXPECT: adaptive-step-while
            h = torch.minimum(h, self.t_end - t)
            k1 = self.f(t, y)
            k2 = self.f(t + h, y + h * k1)
            err = (0.5 * h * (k2 - k1)).abs().max()
            if err <= self.rtol or h < 1e-3:  # EXPECT: accept-reject-on-data
                y = y + 0.5 * h * (k1 + k2)
                t = t + h
                taken += 1
            h = h * (0.9 * (self.rtol / (err + 1e-9)).sqrt()).clamp(0.3, 2.0)
        return y, torch.tensor(taken)


def get_model():
    return AdaptiveODE().eval()


def get_inputs():
    return (torch.randn(3, 4),)


def get_other_inputs():
    return (torch.randn(3, 4) * 4,)

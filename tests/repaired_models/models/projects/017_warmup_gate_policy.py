"""Actor with an action-smoothing schedule that ramps up over the first control steps."""
import torch
import torch.nn as nn


class RampSchedule:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps = start, end, steps

    def __call__(self, t):
        frac = min(t / self.steps, 1.0)
        return self.start + frac * (self.end - self.start)


class SmoothActor(nn.Module):
    def __init__(self, obs_dim=10, act_dim=4, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, act_dim)
        self.nominal = nn.Linear(obs_dim, act_dim, bias=False)
        self.ramp = RampSchedule(0.1, 1.0, steps=3)
        self.control_step = 0

    def _blend(self, raw, base):
        alpha = self.ramp(self.control_step)
        return alpha * raw + (1 - alpha) * base

    def forward(self, obs):
        raw = torch.tanh(self.mu(self.trunk(obs)))
        action = self._blend(raw, self.nominal(obs))
        self.control_step += 1  # EXPECT: mutable-module-state
        return action.clamp(-1, 1)


def get_model():
    return SmoothActor().eval()


def get_inputs():
    return (torch.randn(2, 10),)

"""Drone attitude controller: gains from a network, classic PID terms around it."""
from dataclasses import dataclass, field
import torch
from torch import nn


@dataclass
class Loop:
    integral: torch.Tensor = field(default_factory=lambda: torch.zeros(3))
    previous: torch.Tensor = field(default_factory=lambda: torch.zeros(3))

    def update(self, err, dt):
        self.integral = (self.integral + err * dt).clamp(-1, 1)  # EXPECT: state-on-helper-object
        rate = (err - self.previous) / dt
        self.previous = err  # EXPECT: state-on-helper-object
        return self.integral, rate


class AttitudeController(nn.Module):
    def __init__(self, dt=0.02):
        super().__init__()
        self.gains = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 9), nn.Softplus())
        self.dt = dt
        self.loop = Loop()

    def forward(self, attitude, target):
        err = target - attitude
        integ, rate = self.loop.update(err, self.dt)
        kp, ki, kd = self.gains(torch.cat([attitude, target])).chunk(3)
        return kp * err + ki * integ + 0.01 * kd * rate


def get_model():
    return AttitudeController().eval()


def get_inputs():
    return torch.randn(3), torch.randn(3)


def get_other_inputs():
    return torch.randn(3) * 2, torch.randn(3)

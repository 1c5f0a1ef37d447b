"""Torque command shaper for a robot arm; a slew limiter made by a factory follows the policy network."""
import torch
import torch.nn as nn


def make_slew_limiter(n_joints, max_delta):
    previous = torch.zeros(n_joints)

    def limit(command):
        nonlocal previous
        step = (command - previous).clamp(-max_delta, max_delta)
        previous = (previous + step).detach()  # EXPECT: closure-nonlocal-tensor
        return previous

    return limit


class ArmPolicy(nn.Module):
    def __init__(self, obs=11, joints=5, max_delta=0.05):
        super().__init__()
        self.trunk = nn.Linear(obs, 20)
        self.mu = nn.Linear(20, joints)
        self.limiter = make_slew_limiter(joints, max_delta)

    def forward(self, obs):
        z = torch.tanh(self.trunk(obs))
        raw = 2.0 * torch.tanh(self.mu(z))
        return {"torque": self.limiter(raw), "raw": raw}


def get_model():
    return ArmPolicy().eval()


def get_inputs():
    return (torch.randn(11),)


def get_other_inputs():
    return (-2 * torch.randn(11),)

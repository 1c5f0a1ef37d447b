"""Visual-inertial odometry cell which carries its latent over frames of one drive."""
import torch
import torch.nn as nn


class IMUEncoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv = nn.Conv1d(6, d, 5, padding=2)

    def forward(self, imu):
        return torch.relu(self.conv(imu)).mean(-1)


class Odometry(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.imu = IMUEncoder(d)
        self.visual = nn.Linear(20, d)
        self.cell = nn.GRUCell(2 * d, d)
        self.pose = nn.Linear(d, 6)
        self.hidden = None
        self.d = d

    def reset(self):
        self.hidden = None

    def _prev(self, batch):
        if self.hidden is None:
            return torch.zeros(batch, self.d)
        return self.hidden

    def forward(self, flow, imu):
        fused = torch.cat([self.visual(flow), self.imu(imu)], dim=-1)
        h = self.cell(fused, self._prev(flow.shape[0]))
        self.hidden = h.detach()  # EXPECT: mutable-module-state
        return self.pose(h)


def get_model():
    return Odometry().eval()


def get_inputs():
    return torch.randn(1, 20), torch.randn(1, 6, 25)

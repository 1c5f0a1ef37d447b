# complementary filter of an IMU + small residual network
import torch
from torch import nn


class AttitudeState:
    def __init__(self):
        self.angle = torch.zeros(3)
        self.bias = torch.zeros(3)

    def advance(self, gyro, acc_angle, dt, k):
        pred = self.angle + (gyro - self.bias) * dt
        err = acc_angle - pred
        self.angle = pred + k * err
        self.bias = self.bias - 0.05 * err
        return self.angle


class ComplementaryNet(nn.Module):
    def __init__(self, dt=0.01, k=0.3):
        super().__init__()
        self.res = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
        self.state = AttitudeState()
        self.dt, self.k = dt, k

    def forward(self, gyro, acc):
        acc_angle = torch.atan2(acc, acc.roll(1, -1))
        a = self.state.advance(gyro, acc_angle, self.dt, self.k)
        return a + self.res(torch.cat([gyro, acc], dim=-1))


def get_model():
    return ComplementaryNet().eval()


def get_inputs():
    return (torch.randn(3), torch.randn(3))


def get_other_inputs():
    return (torch.randn(3) * 4, torch.randn(3) + 2)

"""Autoencoder that reports its reconstruction error."""
import torch
import torch.nn as nn


class Monitor:
    def __init__(self, name):
        self.name = name
        self.values = []

    def report(self, value):
        self.values.append(value.item())  # EXPECT: side-effect-lost
        print(f"{self.name}: {self.values[-1]:.4f}")  # EXPECT: side-effect-lost


class AutoEncoder(nn.Module):
    def __init__(self, d=8, z=3):
        super().__init__()
        self.enc = nn.Linear(d, z)
        self.dec = nn.Linear(z, d)
        self.monitor = Monitor("mse")

    def forward(self, x):
        y = self.dec(torch.tanh(self.enc(x)))
        self.monitor.report((x - y).pow(2).mean())
        return y


def get_model():
    return AutoEncoder().eval()


def get_inputs():
    return (torch.randn(2, 8),)

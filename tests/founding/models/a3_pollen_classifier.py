"""Pollen grains under the microscope: fit two steps, then hand the network to the counter service."""
import torch
from torch import nn


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1), nn.Hardsigmoid())
        self.drop = nn.AlphaDropout(0.3)

    def forward(self, x):
        return x * self.drop(self.gate(x))


class PollenNet(nn.Module):
    def __init__(self, classes=4, c=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, c, 3, stride=2, bias=False), nn.BatchNorm2d(c), nn.SELU(), Squeeze(c)
        )
        self.head = nn.Linear(c, classes)

    def forward(self, grain):
        h = self.body(grain).flatten(2).mean(-1)
        return self.head(nn.functional.dropout(h, 0.2, self.training))


def fit(net, steps=2):
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(steps):
        grains, kinds = torch.rand(6, 3, 16, 16), torch.randint(0, 4, (6,))
        loss = nn.functional.cross_entropy(net(grains), kinds)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(191)
net = PollenNet()
fit(net)
grain = torch.rand(2, 3, 16, 16)
with torch.no_grad():
    counter = torch.export.export(net, args=(grain,))
serve = counter.module()
print(serve(grain)[0])
print(serve(grain)[0])

"""Models whose trial or repair is timed: nothing but the machinery, one that works, one refused, one beyond repair."""

from __future__ import annotations

import torch


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))

    @staticmethod
    def inputs() -> tuple[torch.Tensor]:
        return (torch.randn(2, 8),)


class Encoder(torch.nn.Module):
    """As many operations as a small real model."""

    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    @staticmethod
    def inputs() -> tuple[torch.Tensor]:
        return (torch.randn(2, 16, 64),)


class Branches(Encoder):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        if y.sum() > 0:
            return y
        return -y


class OtherSizes(Small):
    """Its two results have other sizes, so that no rewrite can hold both."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if y.sum() > 0:
            return y[:1]
        return y

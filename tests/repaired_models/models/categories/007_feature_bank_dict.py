"""Pyramid that stores its intermediate maps in the dict of the caller."""
import torch
from torch import nn


class Pyramid(nn.Module):
    def __init__(self, ch=2, levels=2):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Conv2d(ch if i == 0 else 4, 4, 3, stride=2, padding=1) for i in range(levels)
        )
        self.head = nn.Linear(4, 2)

    def forward(self, batch):
        x = batch["image"]
        for i, stage in enumerate(self.stages):
            x = torch.relu(stage(x))
            batch[f"level{i}"] = x  # EXPECT: input-mutation
        merged = sum(v.mean(dim=(2, 3)) for k, v in batch.items() if k.startswith("level"))
        return self.head(merged)


def get_model():
    return Pyramid().eval()


def get_inputs():
    return ({"image": torch.randn(2, 2, 8, 8)},)

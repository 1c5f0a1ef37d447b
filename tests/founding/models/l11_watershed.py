"""Watershed model: flow directions come from a routine of the survey office, wrapped as an operator."""
import torch
from torch import nn

survey = torch.library.Library("survey25", "DEF")
survey.define("steepest(Tensor height, int reach) -> (Tensor direction, Tensor drop)")
survey.define("settle(Tensor rain, Tensor direction, *, float rate=0.5) -> Tensor")


def steepest_cpu(height, reach):
    padded = nn.functional.pad(height[:, None], (reach,) * 4, mode="replicate")[:, 0]
    rows, cols = height.shape[-2:]
    drops = torch.stack([
        height - padded[:, r:r + rows, c:c + cols]
        for r in (0, reach, 2 * reach) for c in (0, reach, 2 * reach)
    ])
    drop, direction = drops.max(0)
    return direction, drop


def settle_cpu(rain, direction, *, rate=0.5):
    return rain * (1 - rate) + rate * (direction == 4).to(rain.dtype) * rain.mean()


survey.impl("steepest", steepest_cpu, "CPU")
survey.impl("settle", settle_cpu, "CompositeExplicitAutograd")


@torch.library.register_fake("survey25::settle")
def _(rain, direction, *, rate=0.5):
    return torch.empty_like(rain)


class Terrain(nn.Module):
    def __init__(self, reach):
        super().__init__()
        self.reach = reach

    def forward(self, height):
        direction, drop = torch.ops.survey25.steepest.default(height, self.reach)
        return direction, torch.log1p(drop)


class Watershed(nn.Module):
    def __init__(self, reach=1, rounds=3):
        super().__init__()
        self.terrain = Terrain(reach)
        self.rounds = rounds
        self.soil = nn.Conv2d(2, 1, 3, padding=1)

    def forward(self, height, rain):
        direction, drop = self.terrain(height)
        for _ in range(self.rounds):
            rain = torch.ops.survey25.settle(rain, direction, rate=0.3)
        return self.soil(torch.stack([rain, drop], dim=1)).squeeze(1).relu()


torch.manual_seed(14)
model = Watershed().eval()
example_inputs = (torch.rand(2, 10, 10), torch.rand(2, 10, 10))

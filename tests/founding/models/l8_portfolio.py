"""Portfolio risk: exposures times factor returns, exported with the sizes that the desk asked for."""
import torch
from torch import nn
from torch.export import Dim, export


class FactorModel(nn.Module):
    def __init__(self, max_factors=16):
        super().__init__()
        self.max_factors = max_factors
        self.shrink = nn.Parameter(torch.tensor(0.1))

    def covariance(self, returns):
        centred = returns - returns.mean(0)
        cov = centred.mT @ centred / (returns.shape[0] - 1)
        return torch.lerp(cov, torch.diag(cov.diagonal()), self.shrink)

    def forward(self, exposures, returns):
        if returns.shape[1] <= self.max_factors:
            cov = self.covariance(returns)
        else:
            cov = torch.diag(returns.var(0))
        return exposures @ cov @ exposures.mT


class Desk(nn.Module):
    """Risk per book, and the share that hedges explain; books come in pairs (long, short)."""

    def __init__(self):
        super().__init__()
        self.factors = FactorModel()

    def forward(self, exposures, returns, hedges):
        long, short = exposures.unflatten(0, (-1, 2)).unbind(1)
        risk = self.factors(long - short, returns).diagonal().sqrt()
        hedged = (long * hedges).sum(-1)
        return risk, hedged


torch.manual_seed(11)
model = Desk().eval()
example_inputs = (torch.randn(6, 5), torch.randn(40, 5), torch.randn(3, 5))


def desk_sizes():
    books = Dim("books", min=8, max=512)
    days = Dim("days", min=20)
    factors = Dim("factors")
    return {
        "exposures": {0: books, 1: factors},
        "returns": {0: days, 1: Dim("columns", max=64)},
        "hedges": {0: Dim("pairs"), 1: factors},
    }


dynamic_shapes = desk_sizes()

if __name__ == "__main__":
    program = export(model, example_inputs, dynamic_shapes=dynamic_shapes)
    print(program.range_constraints)

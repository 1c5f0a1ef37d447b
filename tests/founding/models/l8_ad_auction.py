"""Ad auction: bidders by creative slots."""
import torch
from torch import nn
from torch.export import Dim, export


class Auction(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.user = nn.Linear(width, width, bias=False)
        self.floor = nn.Parameter(torch.tensor(0.1))

    def rank(self, scores):
        if scores.size(0) <= 16:
            return scores.argsort(dim=0, descending=True)
        return scores.topk(16, dim=0).indices

    def forward(self, bids, creatives, audience):
        value = bids @ creatives.T
        lift = self.user(audience).mean()
        scores = torch.where(value > self.floor, value * lift.sigmoid(), 0.0)
        return self.rank(scores), scores.amax(0)


def main():
    torch.manual_seed(101)
    model = Auction().eval()
    bids, creatives, audience = torch.rand(6, 8), torch.rand(3, 8), torch.rand(4, 8)

    bidders = Dim("bidders", min=2, max=512)
    shapes = {
        "bids": {0: bidders, 1: Dim("features", max=64)},
        "creatives": {0: Dim("slots", min=4, max=32), 1: Dim("features_c", max=64)},
        "audience": {0: Dim("segment", max=1000)},
    }
    program = export(model, (bids, creatives, audience), dynamic_shapes=shapes)
    order, best = program.module()(torch.rand(40, 8), torch.rand(5, 8), torch.rand(9, 8))
    print(order.shape, best)


main()

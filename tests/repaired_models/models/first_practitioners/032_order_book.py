"""Order-book model: features of a snapshot, prices rebased in place to the mid price for later stages."""
import torch
from torch import nn


class Rebase(nn.Module):
    """Rewrites the snapshot's prices relative to the mid price, in ticks."""

    def __init__(self, tick=0.01):
        super().__init__()
        self.tick = tick

    def forward(self, book):
        mid = (book["bid"][:, :1] + book["ask"][:, :1]) / 2
        for side in ("bid", "ask"):
            book[side] = (book[side] - mid) / self.tick  # EXPECT: rewritten-dict-of-the-caller
        return mid.squeeze(1)


class BookModel(nn.Module):
    def __init__(self, levels=5):
        super().__init__()
        self.rebase = Rebase()
        self.net = nn.Sequential(nn.Linear(4 * levels, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, book):
        mid = self.rebase(book)
        sides = [book[k] for k in ("bid", "ask")] + [torch.log1p(book[k]) for k in ("bid_size", "ask_size")]
        return self.net(torch.cat(sides, 1) / 10).softmax(-1), mid


def get_model():
    return BookModel().eval()


def _book(spread):
    step = torch.arange(5) * 0.01
    mid = 100 + torch.rand(4, 1)
    return {"bid": mid - spread - step, "ask": mid + spread + step,
            "bid_size": torch.rand(4, 5) * 50, "ask_size": torch.rand(4, 5) * 50}


def get_inputs():
    return (_book(0.01),)


def get_other_inputs():
    return (_book(0.05),)

"""Board-game evaluator: the position is seen from the player whose turn it is."""
from functools import partial
import torch
from torch import nn

conv3 = partial(nn.Conv2d, kernel_size=3, padding=1, bias=False)


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = conv3(c, c), conv3(c, c)
        self.na, self.nb = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

    def forward(self, x):
        y = self.nb(self.b(torch.relu(self.na(self.a(x)))))
        return torch.relu(x + y)


class Evaluator(nn.Module):
    def __init__(self, c=8, side=6):
        super().__init__()
        self.stem = conv3(2, c)
        self.trunk = nn.Sequential(Residual(c), Residual(c))
        self.policy = nn.Linear(c * side * side, side * side)
        self.value = nn.Linear(c * side * side, 1)

    def forward(self, board):
        stones = board.abs().sum()
        player = 1.0 if stones % 2 == 0 else -1.0  # EXPECT: ternary-on-data
        own, theirs = (board * player).clamp(min=0), (-board * player).clamp(min=0)
        h = self.trunk(self.stem(torch.stack([own, theirs])[None])).flatten(1)
        logits = self.policy(h).masked_fill(board.flatten() != 0, -1e9)
        return logits.softmax(-1), player * torch.tanh(self.value(h))


def get_model():
    return Evaluator().eval()


def get_inputs():
    b = torch.zeros(36)
    b[torch.randperm(36)[:8]] = torch.tensor([1.0, -1.0] * 4)
    return (b.view(6, 6),)


def get_other_inputs():
    b = torch.zeros(36)
    b[torch.randperm(36)[:9]] = torch.tensor([1.0, -1.0] * 4 + [1.0])
    return (b.view(6, 6),)

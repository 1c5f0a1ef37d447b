"""Chess evaluation, compiled for self-play; the arena wants a log of what it does."""
import logging
import random

import torch
from torch import nn

log = logging.getLogger("arena")


class Trace:
    """Counts positions, and writes a line now and then."""

    def __init__(self, path=None):
        self.path, self.seen = path, 0

    def __call__(self, value):
        self.seen += 1
        print("positions", self.seen, "value", value.shape)
        if self.path is not None:
            with open(self.path, "a") as file:
                file.write(f"{self.seen}\n")


class Board(nn.Module):
    def __init__(self, planes, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(planes, width, 3, padding=1), nn.ReLU())

    def forward(self, board):
        return self.body(board).mean((-2, -1))


class Endgame(nn.Module):
    """Tables help when few pieces stand."""

    def __init__(self, width, pieces=6):
        super().__init__()
        self.pieces = pieces
        self.table = nn.Linear(width, width)

    def forward(self, code, board):
        left = board.sum().item()
        if left <= self.pieces * board.shape[0]:
            code = self.table(code)
        return code


class Evaluator(nn.Module):
    def __init__(self, planes=12, width=16):
        super().__init__()
        self.board = Board(planes, width)
        self.endgame = Endgame(width)
        self.value = nn.Linear(width, 1)
        self.trace = Trace()

    def _noise(self, value):
        if log.isEnabledFor(logging.WARNING):
            log.warning("noise is on")
        return value + 0.01 * random.random()

    def forward(self, board, legal):
        code = self.endgame(self.board(board), board)
        value = self.value(code).tanh()
        self.trace(value)
        value = self._noise(value)
        for side in range(2):
            self.trace(value[side])
        moves = legal.nonzero()
        return value, moves.numpy().shape[0] * value


torch.manual_seed(15)
model = Evaluator().eval()
example_inputs = ((torch.rand(2, 12, 8, 8) > 0.9).float(), torch.rand(2, 30) > 0.5)

if __name__ == "__main__":
    fast = torch.compile(model)
    print(fast(*example_inputs))

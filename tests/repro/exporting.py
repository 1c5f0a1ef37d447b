"""What a person runs: an early export, a model that a script alone has, and a function."""

import threading

import torch
from failing import Counts, Refused


class Locked(Refused):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Scaled(Refused):
    def __init__(self, factor):
        super().__init__()
        self.register_buffer("factor", factor)

    def forward(self, x):
        return super().forward(x * self.factor)


def halved(x, *, by):
    return x / 2 if by > 2 else x


def export(model, *args):
    try:
        torch.export.export(model.eval(), args)
    except Exception as error:  # noqa: BLE001
        print(error)  # noqa: T201


export(Scaled(torch.full((3,), 0.25)), torch.ones(2, 3))
export(Counts(), torch.ones(3))
export(Locked(), torch.ones(2, 3))
torch.compile(halved)(torch.ones(3), by=torch.tensor(3.0))

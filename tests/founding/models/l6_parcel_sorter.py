"""Parcel sorter: scanners and belts."""
import torch
import torch.nn as nn


class MissingScanner(KeyError):
    pass


class Belt(nn.Module):
    def __init__(self, width, kind):
        super().__init__()
        self.kind = kind
        self.lin = nn.Linear(width, width)

    def forward(self, x):
        match (self.kind, x.dim()):
            case ("fragile", 2):
                return self.lin(x).tanh()
            case ("bulky" | "heavy", int(n)) if n >= 2:
                return self.lin(x).relu()
            case _:
                raise ValueError(self.kind)


class Sorter(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.belts = nn.ModuleDict({k: Belt(width, k) for k in ("fragile", "bulky", "heavy")})
        self.label = nn.Linear(width, 2)

    def pick(self, name):
        if name not in self.belts:
            raise MissingScanner(name)
        return self.belts[name]

    def calibrate(self, x):
        try:
            if x.std() > 1.5:
                return x / x.std()
            return x
        except Exception:
            return torch.zeros_like(x)

    def forward(self, x):
        try:
            belt = self.pick("glass")
        except MissingScanner:
            belt = self.pick("fragile")
        finally:
            scale = 1.0 / x.shape[-1]
        y = belt(self.calibrate(x)) + self.pick("heavy")(x)
        return self.label(y) * scale


def get_model():
    torch.manual_seed(81)
    return Sorter().eval()


def get_inputs():
    return (torch.randn(5, 6, generator=torch.Generator().manual_seed(82)),)


def get_other_inputs():
    return (3.0 * torch.randn(5, 6, generator=torch.Generator().manual_seed(83)),)

"""Emergency triage: vital signs are scored, and the way of scoring follows the ward."""
from enum import Enum
from types import SimpleNamespace

import torch
from torch import nn


class Ward(Enum):
    ADULT = "adult"
    CHILD = "child"


class NoReading(LookupError):
    pass


class Vitals(nn.Module):
    """Scales the signs that the ward measures; a sign that was not taken counts as normal."""

    NORMAL = {"pulse": 75.0, "oxygen": 97.0, "pressure": 120.0}

    def _sign(self, signs, name):
        try:
            return signs[name]
        except KeyError:
            raise NoReading(name) from None

    def forward(self, signs):
        columns = []
        for name, usual in self.NORMAL.items():
            try:
                columns.append(self._sign(signs, name) / usual)
            except NoReading:
                columns.append(torch.ones_like(next(iter(signs.values()))))
        return torch.stack(columns, dim=-1)


class Alarm(nn.Module):
    """Raises the score of everyone in the room when one patient is critical."""

    def __init__(self, limits):
        super().__init__()
        self.limits = limits

    def forward(self, score):
        try:
            critical = bool((score.amax() > self.limits.critical).item())
            factor = self.limits.boost if critical else 1.0
        except Exception:
            factor = 1.0
        return score * factor


class Triage(nn.Module):
    def __init__(self, ward=Ward.CHILD):
        super().__init__()
        self.ward = ward
        self.vitals = Vitals()
        self.net = nn.Linear(3, 4)
        self.alarm = Alarm(SimpleNamespace(critical=0.9, boost=10.0))

    def _pool(self, urgency):
        match (self.ward, urgency.shape):
            case (Ward.CHILD, (_, levels)) if levels > 2:
                return urgency.amax(-1)
            case (Ward.ADULT, _):
                return urgency.mean(-1)
            case _:
                raise NotImplementedError(self.ward)

    def forward(self, signs):
        return self.alarm(self._pool(self.net(self.vitals(signs)).sigmoid()))


torch.manual_seed(9)
model = Triage().eval()
example_inputs = ({"pulse": 60 + 80 * torch.rand(6), "pressure": 90 + 60 * torch.rand(6)},)

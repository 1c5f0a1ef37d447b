"""Grip controller: reflexes of a robot hand, each one a torch.cond of its own."""
import torch
from torch import nn

SLIPS = []


class SlipReflex(nn.Module):
    """Tightens the fingers that slip."""

    def __init__(self, fingers):
        super().__init__()
        self.gain = nn.Parameter(torch.full((fingers,), 1.5))

    def forward(self, force, slip):
        return torch.cond(slip > 0.2, lambda f: f * self.gain, torch.clone, (force,))


class CoolDown(nn.Module):
    """Halves the current of warm motors."""

    def _halve(self, current, factor):
        return current * factor

    def _keep(self, current, factor):
        return current.clone()

    def forward(self, current, heat):
        return torch.cond(heat.max() > 0.9, self._halve, self._keep, [current, "half"])


class Quantise(nn.Module):
    """Sends whole steps to the cheap driver, and the exact value to the fine one."""

    def forward(self, force, fine):
        def exact(f):
            return f.clone()

        def coarse(f):
            return f.mul(16).round().to(torch.int32)

        return torch.cond(fine.any(), exact, coarse, (force,)).float()


class Release(nn.Module):
    """Opens the hand by writing zeros."""

    def open_hand(self, force):
        force.zero_()
        return force + 0

    def hold(self, force):
        return force + 0

    def forward(self, force, stop):
        return torch.cond(stop.squeeze(), self.open_hand, self.hold, (force,))


class Journal(nn.Module):
    """Remembers the slips it has seen."""

    @staticmethod
    def note(slip):
        SLIPS.append(slip.shape[0])
        return slip.mean().reshape(1)

    def forward(self, slip):
        return torch.cond(pred=slip.sum() > 1, true_fn=self.note, false_fn=lambda s: s[:2], operands=(slip,))


class GripController(nn.Module):
    def __init__(self, fingers=5):
        super().__init__()
        self.slip, self.cool = SlipReflex(fingers), CoolDown()
        self.quantise, self.release, self.journal = Quantise(), Release(), Journal()

    def forward(self, force, slip, stop):
        force = self.slip(force, slip)
        force = self.cool(force, slip)
        force = self.quantise(force, slip > 0.5)
        return self.release(force, stop), self.journal(slip)


torch.manual_seed(5)
model = GripController().eval()
example_inputs = (torch.rand(5), torch.rand(5), torch.tensor([False]))

"""Spiking network for event cameras with a surrogate gradient spike function."""
import torch
import torch.nn as nn


class SurrogateSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, threshold):
        ctx.save_for_backward(v)
        ctx.threshold = threshold
        if (v > threshold).any():  # EXPECT: branch-in-autograd-function
            return (v > threshold).to(v.dtype)
        return torch.zeros_like(v)

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (1 + 10 * (v - ctx.threshold).abs()) ** 2, None


class LIF(nn.Module):
    def __init__(self, cin, cout, beta=0.9):
        super().__init__()
        self.fc = nn.Linear(cin, cout)
        self.beta = beta

    def forward(self, x, v):
        v = self.beta * v + self.fc(x)
        s = SurrogateSpike.apply(v, 1.0)
        return s, v - s


class EventSNN(nn.Module):
    def __init__(self, n_in=64, hidden=32, n_cls=5):
        super().__init__()
        self.l1 = LIF(n_in, hidden)
        self.l2 = LIF(hidden, n_cls)
        self.hidden, self.n_cls = hidden, n_cls

    def forward(self, events):
        b, t, _ = events.shape
        v1 = events.new_zeros(b, self.hidden)
        v2 = events.new_zeros(b, self.n_cls)
        rate = torch.zeros_like(v2)
        for k in range(t):
            s1, v1 = self.l1(events[:, k], v1)
            s2, v2 = self.l2(s1, v2)
            rate = rate + s2
        return rate / t


def get_model():
    return EventSNN().eval()


def get_inputs():
    return (3 * torch.rand(2, 6, 64),)

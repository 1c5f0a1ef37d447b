"""Volatility surface smoother with Black-Scholes pricing on top (European calls)."""
import math
import torch
from torch import nn


def norm_cdf(x):
    return 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


def black_scholes_call(spot, strike, tau, vol, rate):
    assert torch.all(tau > 0), "expired contract in batch"  # EXPECT: data-dependent-branch
    sd = vol * tau.sqrt()
    d1 = (torch.log(spot / strike) + (rate + 0.5 * vol ** 2) * tau) / sd
    d2 = d1 - sd
    return spot * norm_cdf(d1) - strike * torch.exp(-rate * tau) * norm_cdf(d2)


class VolNet(nn.Module):
    """Implied volatility as a positive function of log-moneyness and maturity."""

    def __init__(self, hidden=24, floor=0.05):
        super().__init__()
        self.floor = floor
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, moneyness, tau):
        h = torch.tanh(self.inp(torch.stack([moneyness, tau], dim=-1)))
        h = h + torch.tanh(self.mid(h))
        return nn.functional.softplus(self.out(h)).squeeze(-1) + self.floor


class OptionPricer(nn.Module):
    def __init__(self, rate=0.02):
        super().__init__()
        self.surface = VolNet()
        self.register_buffer("rate", torch.tensor(rate))

    def forward(self, spot, strike, tau):
        vol = self.surface(torch.log(strike / spot), tau)
        price = black_scholes_call(spot, strike, tau, vol, self.rate)
        return price, vol


def get_model():
    torch.manual_seed(3)
    return OptionPricer().eval()


def get_inputs():
    return 90 + 20 * torch.rand(8), 90 + 20 * torch.rand(8), 0.1 + torch.rand(8)


def get_other_inputs():
    return 40 + 20 * torch.rand(8), 50 + 20 * torch.rand(8), 0.5 + torch.rand(8)

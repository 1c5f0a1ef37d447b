"""Language model head with a temperature argument."""
import torch
from torch import nn, Tensor


class TemperatureHead(nn.Module):
    def __init__(self, d: int = 8, vocab: int = 11):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.proj = nn.Linear(d, vocab, bias=False)

    def forward(self, hidden: Tensor, temperature: float) -> Tensor:  # EXPECT: python-scalar-input
        logits = self.proj(self.norm(hidden[:, -1]))
        return torch.softmax(logits / temperature, dim=-1)  # EXPECT: python-scalar-input


def get_model():
    return TemperatureHead().eval()


def get_inputs():
    return torch.randn(2, 4, 8), 0.7


def get_other_inputs():
    return torch.randn(2, 4, 8), 1.3

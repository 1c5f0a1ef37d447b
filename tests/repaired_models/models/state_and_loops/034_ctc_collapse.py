"""Speech recogniser output: best path with repeats and blanks taken out, left-aligned in a padded row."""
import torch
from torch import nn


class CTCReader(nn.Module):
    BLANK = 0

    def __init__(self, n_mels=6, symbols=5):
        super().__init__()
        self.acoustic = nn.Conv1d(n_mels, symbols, 3, padding=1)

    def collapse(self, path):
        result = torch.full_like(path, -1)
        previous, n = self.BLANK, 0
        for symbol in path:
            if symbol != previous:  # EXPECT: run-length-branch
                if symbol != self.BLANK:  # EXPECT: run-length-branch
                    result[n] = symbol
                    n += 1
            previous = symbol
        return result, n

    @torch.no_grad()
    def forward(self, mels):
        best = self.acoustic(mels).argmax(dim=1)
        rows, counts = zip(*(self.collapse(p) for p in best))
        return torch.stack(rows), torch.tensor(counts)


def get_model():
    return CTCReader().eval()


def get_inputs():
    return (torch.randn(2, 6, 12),)

"""Line recogniser for OCR: conv features, per-column characters, blanks and repeats collapsed."""
import torch
from torch import nn

BLANK = 0


def collapse(row):
    out, prev = [], BLANK
    for c in row.tolist():  # EXPECT: tolist-loop
        if c != prev and c != BLANK:  # EXPECT: tolist-loop
            out.append(c)
        prev = c
    return out


class LineReader(nn.Module):
    def __init__(self, alphabet=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(16 * 4, alphabet + 1)

    def encode(self, img):
        f = self.conv(img)
        return f.flatten(1, 2).transpose(1, 2)

    def forward(self, img):
        logits = self.head(self.encode(img))
        best = logits.argmax(-1)
        width = best.shape[1]
        text = torch.full_like(best, -1)
        for i, row in enumerate(best):
            chars = collapse(row)
            text[i, : len(chars)] = torch.tensor(chars, dtype=best.dtype)
        return logits, text


def get_model():
    return LineReader().eval()


def get_inputs():
    return (torch.randn(3, 1, 8, 20) * 2,)


def get_other_inputs():
    return (torch.rand(3, 1, 8, 20) * 5,)

"""Text classifier with an LSTM over sentences of different lengths."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class TextRNN(nn.Module):
    def __init__(self, vocab=20, dim=6, hidden=5, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.cls = nn.Linear(hidden, classes)

    def forward(self, ids, lengths):
        x = self.emb(ids)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)  # EXPECT: unsupported-op
        _, (h, _) = self.rnn(packed)  # EXPECT: unsupported-op
        return self.cls(h[-1])


def get_model():
    return TextRNN().eval()


def get_inputs():
    return torch.randint(1, 20, (3, 8)), torch.randint(1, 5, (3,))


def get_other_inputs():
    return torch.randint(1, 20, (3, 8)), torch.randint(5, 9, (3,))

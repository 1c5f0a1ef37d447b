"""Image captioner: GRU decoder with greedy search (one image)."""
import torch
from torch import nn

VOCAB = 12
PAD, BOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 4, stride=4)
        self.fc = nn.Linear(8 * 4 * 4, hidden)

    def forward(self, img):
        return torch.tanh(self.fc(self.conv(img).flatten(1)))


class Captioner(nn.Module):
    def __init__(self, hidden=24, max_len=10):
        super().__init__()
        self.encoder = Encoder(hidden)
        self.embed = nn.Embedding(VOCAB, hidden, padding_idx=PAD)
        self.cell = nn.GRUCell(hidden, hidden)
        self.vocab_out = nn.Linear(hidden, VOCAB)
        self.max_len = max_len

    def forward(self, img):
        h = self.encoder(img)
        token = torch.full((img.shape[0],), BOS, dtype=torch.long)
        tokens = torch.full((img.shape[0], self.max_len), PAD, dtype=torch.long)
        for t in range(self.max_len):
            h = self.cell(self.embed(token), h)
            token = self.vocab_out(h).argmax(-1)
            tokens[:, t] = token
            if token[0] == EOS:  # EXPECT: data-dependent-loop
                break
        return tokens


def get_model():
    torch.manual_seed(78)
    m = Captioner().eval()
    with torch.no_grad():
        m.vocab_out.bias[EOS] += 0.25
    return m


def get_inputs():
    return (torch.randn(1, 3, 16, 16),)


def get_other_inputs():
    return (torch.randn(1, 3, 16, 16) * 8,)

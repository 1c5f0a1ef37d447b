import torch
from torch import nn


class LineReader(nn.Module):
    """CRNN for text lines; best-path decoding included in the model."""

    BLANK = 0

    def __init__(self, n_mels=12, hidden=16, charset=9, max_len=20):
        super().__init__()
        self.rnn = nn.GRU(n_mels, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, charset)
        self.max_len = max_len

    def _collapse(self, path):
        chars = []
        last = self.BLANK
        for sym in path.tolist():
            if sym != last and sym != self.BLANK:
                chars.append(sym)
            last = sym
        chars = chars[: self.max_len]
        chars += [self.BLANK] * (self.max_len - len(chars))
        return torch.tensor(chars)

    def forward(self, strip):
        feats, _ = self.rnn(strip)
        logp = self.fc(feats).log_softmax(-1)
        best = logp.argmax(-1)
        texts = torch.stack([self._collapse(p) for p in best])
        conf = logp.max(-1).values.mean(-1).exp()
        return texts, conf


def get_model():
    return LineReader().eval()


def get_inputs():
    return (torch.randn(2, 24, 12) * 2,)


def get_other_inputs():
    return (torch.randn(2, 24, 12) * 6 + 1,)

import torch
from torch import nn

EOS, SEP = 2, 3


class UntilStopPooler(nn.Module):
    """Sentence embedding over the tokens before the first stop token."""

    def __init__(self, vocab=40, d=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.mix = nn.Linear(d, d)

    def forward(self, tokens):
        picked = []
        for tok in tokens:
            if tok in (EOS, SEP):
                break
            picked.append(self.mix(self.emb(tok)))
        if not picked:
            picked.append(self.emb.weight.mean(0))
        return torch.stack(picked).mean(0)


def get_model():
    return UntilStopPooler().eval()


def get_inputs():
    return (torch.tensor([5, 9, 13, 22, 2, 7, 0, 0]),)


def get_other_inputs():
    return (torch.tensor([8, 3, 30, 31, 32, 33, 2, 0]),)

"""Late-interaction passage retrieval; passages of different length are kept as a jagged batch."""
import torch
import torch.nn as nn


class TokenEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return nn.functional.normalize(self.ff(self.emb(ids)), dim=-1)


class LateInteraction(nn.Module):
    def __init__(self, vocab=200, dim=24):
        super().__init__()
        self.encoder = TokenEncoder(vocab, dim)
        self.temperature = nn.Parameter(torch.tensor(0.05))

    def pad_passages(self, tokens, lengths):
        flat = self.encoder(tokens)
        sizes = lengths.tolist()  # EXPECT: tolist-slices
        longest = max(sizes)
        out = flat.new_full((len(sizes), longest, flat.shape[-1]), -1.0)
        start = 0
        for row, n in enumerate(sizes):
            out[row, :n] = flat[start : start + n]  # EXPECT: tolist-slices
            start += n
        return out

    def forward(self, query, tokens, lengths):
        q = self.encoder(query)
        jagged = self.pad_passages(tokens, lengths)
        sim = torch.einsum("qd,pld->pql", q, jagged)
        score = sim.amax(-1).sum(-1) / self.temperature
        return score.softmax(0)


def get_model():
    return LateInteraction().eval()


def get_inputs():
    return torch.randint(1, 200, (6,)), torch.randint(1, 200, (20,)), torch.tensor([4, 9, 7])


def get_other_inputs():
    return torch.randint(1, 200, (6,)), torch.randint(1, 200, (20,)), torch.tensor([10, 2, 8])

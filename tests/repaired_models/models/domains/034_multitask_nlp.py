"""Multi-task text encoder: the caller names the task whose pooling and head are wanted."""
import torch
import torch.nn as nn


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(64, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, batch_first=True)

    def forward(self, ids):
        pos = torch.arange(ids.shape[1])
        return self.layer(self.tok(ids) + self.pos(pos))


class MultiTaskText(nn.Module):
    def __init__(self, vocab=150, dim=32):
        super().__init__()
        self.encoder = TextEncoder(vocab, dim)
        self.heads = nn.ModuleDict({
            "sentiment": nn.Linear(dim, 3),
            "topic": nn.Linear(dim, 3),
            "toxicity": nn.Linear(dim, 3),
        })

    def pool(self, h, task):
        if task == "toxicity":  # EXPECT: string-argument
            return h.amax(dim=1)
        return h.mean(dim=1)

    def forward(self, ids, task: str = "sentiment"):  # EXPECT: string-argument
        h = self.encoder(ids)
        return self.heads[task](self.pool(h, task)).log_softmax(-1)  # EXPECT: string-argument


def get_model():
    return MultiTaskText().eval()


def get_inputs():
    return torch.randint(0, 150, (2, 12)), "sentiment"


def get_other_inputs():
    return torch.randint(0, 150, (2, 12)), "toxicity"

"""Podcast search: text and metadata are encoded apart; the program is stored and run from the stored file."""
import io

import torch
from torch import nn
from torch.export import export, load, save


class Metadata(nn.Module):
    """Length, age and language of an episode."""

    def __init__(self, languages, dim):
        super().__init__()
        self.language = nn.Embedding(languages, dim)
        self.numbers = nn.Linear(2, dim)

    def forward(self, numbers, language):
        return self.numbers(numbers.log1p()) + self.language(language)


class Links(nn.Module):
    """One round of messages between episodes that quote each other."""

    def __init__(self, dim):
        super().__init__()
        self.pass_on = nn.Linear(dim, dim)

    def forward(self, x, adjacency):
        weight = adjacency / adjacency.sum(-1, keepdim=True).clamp_min(1)
        return x + self.pass_on(weight @ x).relu()


class EpisodeEncoder(nn.Module):
    def __init__(self, words=60, languages=4, dim=12):
        super().__init__()
        self.text = nn.EmbeddingBag(words, dim, mode="mean")
        self.meta = Metadata(languages, dim)
        self.graph = Links(dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens, numbers, language, adjacency):
        x = self.text(tokens) + self.meta(numbers, language)
        return nn.functional.normalize(self.out(self.graph(x, adjacency)), dim=-1)


def reload(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file).module()


torch.manual_seed(28)
model = EpisodeEncoder().eval()
example_inputs = (
    torch.randint(0, 60, (5, 9)),
    torch.rand(5, 2) * 3600,
    torch.randint(0, 4, (5,)),
    (torch.rand(5, 5) > 0.6).float(),
)

if __name__ == "__main__":
    search = reload(export(model, example_inputs))
    print(search(*example_inputs).shape)

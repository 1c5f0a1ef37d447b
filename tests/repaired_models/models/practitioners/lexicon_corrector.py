import torch
from torch import nn

LEXICON = {"cab": 0, "bad": 1, "dab": 2, "ace": 3}
LETTERS = "abcde"


class LexiconReader(nn.Module):
    """Classifies glyph crops and looks the word up; unknown words use a learned vector."""

    def __init__(self, d=10, word_dim=6):
        super().__init__()
        self.glyph = nn.Linear(d, len(LETTERS))
        self.words = nn.Embedding(len(LEXICON) + 1, word_dim)

    def spell(self, letter_ids):
        return "".join(LETTERS[int(i)] for i in letter_ids)

    def forward(self, glyphs):
        logits = self.glyph(glyphs)
        word = self.spell(logits.argmax(-1))
        idx = LEXICON.get(word, len(LEXICON))
        return self.words.weight[idx], logits


def get_model():
    m = LexiconReader().eval()
    with torch.no_grad():
        m.glyph.weight.copy_(torch.eye(5, 10))
        m.glyph.bias.zero_()
    return m


def get_inputs():
    x = torch.zeros(3, 10)
    x[0, 2], x[1, 0], x[2, 1] = 4.0, 4.0, 4.0
    return (x,)


def get_other_inputs():
    x = torch.zeros(3, 10)
    x[0, 4], x[1, 4], x[2, 1] = 4.0, 4.0, 4.0
    return (x,)

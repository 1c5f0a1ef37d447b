"""Clinical named-entity tagger: BiLSTM over packed notes."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class NoteEncoder(nn.Module):
    def __init__(self, emb, hidden):
        super().__init__()
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)  # EXPECT: unsupported-op
        out, _ = self.lstm(packed)  # EXPECT: unsupported-op
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.size(1))
        return out


class NoteTagger(nn.Module):
    def __init__(self, vocab=60, emb=12, hidden=10, tags=5):
        super().__init__()
        self.word = nn.Embedding(vocab, emb, padding_idx=0)
        self.case = nn.Embedding(4, 4)
        self.encoder = NoteEncoder(emb + 4, hidden)
        self.emit = nn.Linear(2 * hidden, tags)

    def forward(self, words, casing, lengths):
        x = torch.cat([self.word(words), self.case(casing)], dim=-1)
        return self.emit(self.encoder(x, lengths)).log_softmax(-1)


def get_model():
    torch.manual_seed(26)
    return NoteTagger().eval()


def get_inputs():
    return torch.randint(1, 60, (3, 8)), torch.randint(0, 4, (3, 8)), torch.tensor([8, 3, 6])


def get_other_inputs():
    return torch.randint(1, 60, (3, 8)), torch.randint(0, 4, (3, 8)), torch.tensor([2, 7, 5])

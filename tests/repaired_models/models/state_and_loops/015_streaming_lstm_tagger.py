"""Streaming tagger: an LSTM that goes on from where the previous chunk stopped."""
import torch
from torch import nn


class StreamingTagger(nn.Module):
    def __init__(self, vocab=40, emb=8, hid=12, tags=5, batch=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid, batch_first=True)
        self.tag = nn.Linear(hid, tags)
        self.batch, self.hid = batch, hid
        self.reset()

    def reset(self):
        zeros = torch.zeros(1, self.batch, self.hid)
        self.state = (zeros, zeros.clone())

    def forward(self, chunk):
        y, new_state = self.lstm(self.embed(chunk), self.state)
        self.state = tuple(s.detach() for s in new_state)  # EXPECT: tuple-of-states
        return self.tag(y)


def get_model():
    return StreamingTagger().eval()


def get_inputs():
    return (torch.randint(0, 40, (2, 7)),)

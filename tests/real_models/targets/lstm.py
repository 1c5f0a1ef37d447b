"""An LSTM over sentences: numbers of words in, the class of each sentence out.

2 layers, both directions, width 24, sentences of 12 words of 64, any batch. Exports as it comes.
"""

import torch
from torch import nn


class Sentences(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(64, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.classes = nn.Linear(48, 5)

    def forward(self, numbers):
        states, _ = self.lstm(self.words(numbers))
        return self.classes(states.mean(1))


torch.manual_seed(0)
model = Sentences().eval()
example_args = (torch.randint(0, 64, (3, 12)),)
dynamic_shapes = ({0: torch.export.Dim("batch", min=1, max=64)},)

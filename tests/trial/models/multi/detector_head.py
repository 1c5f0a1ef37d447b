"""A detection head that filters, counts and keeps state."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)
        self.seen = 0

    def forward(self, boxes):
        scores = self.score(boxes).squeeze(-1)
        kept = boxes[scores > 0]
        if kept.shape[0] == 0:  # error: data-dependent-size-branch
            kept = boxes[:1]
        best = int(scores.argmax())  # error: tensor-as-python-number
        if scores[best] > 0.9:  # error: data-dependent-branch
            boxes = boxes * 0.5
        self.seen += 1  # error: state-on-self
        return boxes.sum() + kept.sum() + self.seen


model = Head().eval()
example_args = (torch.randn(5, 4),)

"""Image cascade that leaves at the first stage which is sure enough."""
import torch
import torch.nn as nn


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class Cascade(nn.Module):
    def __init__(self, classes=4, widths=(6, 8, 10), threshold=0.45):
        super().__init__()
        chans = [3, *widths]
        self.stages = nn.ModuleList(block(a, b) for a, b in zip(chans, chans[1:]))
        self.exits = nn.ModuleList(nn.Linear(c, classes) for c in widths)
        self.threshold = threshold

    def forward(self, image):
        x = image
        for stage, exit_ in zip(self.stages, self.exits):
            x = stage(x)
            logits = exit_(x.mean((-2, -1)))
            confidence = logits.softmax(-1).amax()
            if confidence > self.threshold:  # EXPECT: break-on-data
                break
        return logits


def get_model():
    return Cascade().eval()


def get_inputs():
    return (torch.rand(1, 3, 8, 8),)


def get_other_inputs():
    return (torch.rand(1, 3, 8, 8) * 25,)

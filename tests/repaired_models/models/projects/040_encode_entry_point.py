"""Contrastive image-text model; the index service only needs the image half."""
import functools

import torch
import torch.nn as nn


class Projection(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d_in, d_out), nn.Linear(d_out, d_out)
        self.ln = nn.LayerNorm(d_out)

    def forward(self, x):
        h = self.fc1(x)
        return self.ln(h + self.fc2(nn.functional.gelu(h)))


class ImageTextModel(nn.Module):
    def __init__(self, d=16, vocab=40):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, d, 4, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.text = nn.EmbeddingBag(vocab, d)
        self.img_proj, self.txt_proj = Projection(d, d), Projection(d, d)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def encode_image(self, img, unit=True):
        z = self.img_proj(self.visual(img))
        return nn.functional.normalize(z, dim=-1) if unit else z

    def encode_text(self, tokens):
        return nn.functional.normalize(self.txt_proj(self.text(tokens)), dim=-1)

    def forward(self, img, tokens):
        return self.logit_scale.exp() * self.encode_image(img) @ self.encode_text(tokens).t()


def get_model():
    model = ImageTextModel().eval()
    return functools.partial(model.encode_image, unit=True)  # EXPECT: non-module-target


def get_inputs():
    return (torch.randn(2, 3, 16, 16),)

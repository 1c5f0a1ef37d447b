"""DETR style head with score filtering and box rescaling."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def cxcywh_to_xyxy(b):
    cx, cy, w, h = b.unbind(-1)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], dim=-1)


class DetrHead(nn.Module):
    def __init__(self, dim=16, num_classes=4, thr=0.3):
        super().__init__()
        self.cls = nn.Linear(dim, num_classes + 1)
        self.box = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))
        self.thr = thr

    def forward(self, queries, image_size):
        logits = self.cls(queries)
        boxes = cxcywh_to_xyxy(self.box(queries).sigmoid())
        scores, labels = F.softmax(logits, -1)[..., :-1].max(-1)
        keep = scores > self.thr
        if keep.sum() == 0:
            keep = scores >= scores.max()
        scale = torch.cat([image_size, image_size]).to(boxes)
        weight = keep.to(scores.dtype)
        return {
            "boxes": boxes * scale * weight.unsqueeze(-1),
            "scores": scores * weight,
            "labels": torch.where(keep, labels, torch.full_like(labels, -1)),
        }


def get_model():
    return DetrHead().eval()


def get_inputs():
    return (torch.randn(10, 16) * 3, torch.tensor([480, 640]))


def get_other_inputs():
    return (torch.zeros(10, 16), torch.tensor([320, 320]))

"""Second stage of a plate reader: crop the detected box and read it at a fixed size."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 5, stride=4, padding=2)
        self.fc = nn.Linear(6, 4)

    def forward(self, img):
        z = F.relu(self.conv(img)).mean((2, 3))
        return torch.sigmoid(self.fc(z))


def to_pixels(box, h, w):
    cx, cy, bw, bh = box.unbind(-1)
    x0 = ((cx - bw / 2) * w).clamp(0, w - 9)
    y0 = ((cy - bh / 2) * h).clamp(0, h - 9)
    x1 = torch.minimum(x0 + 8 + bw * w / 2, torch.full_like(x0, w))
    y1 = torch.minimum(y0 + 8 + bh * h / 2, torch.full_like(y0, h))
    return x0.long(), y0.long(), x1.long(), y1.long()


class PlateReader(nn.Module):
    def __init__(self, n_chars=4, alphabet=12, out_hw=(8, 24)):
        super().__init__()
        self.out_hw = out_hw
        self.box_head = BoxHead()
        self.reader = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, n_chars)))
        self.cls = nn.Linear(8, alphabet)

    def crop(self, img, box):
        x0, y0, x1, y1 = (int(v) for v in to_pixels(box, *img.shape[-2:]))  # EXPECT: data-dependent-shape
        patch = img[:, y0:y1, x0:x1]  # EXPECT: data-dependent-shape
        return F.interpolate(patch[None], size=self.out_hw, mode="bilinear", align_corners=False)[0]

    def forward(self, imgs):
        boxes = self.box_head(imgs)
        crops = torch.stack([self.crop(i, b) for i, b in zip(imgs, boxes)])
        z = self.reader(crops).squeeze(2).transpose(1, 2)
        return boxes, self.cls(z)


def get_model():
    return PlateReader().eval()


def get_inputs():
    return (torch.randn(2, 1, 32, 48),)


def get_other_inputs():
    return (torch.randn(2, 1, 32, 48) * 8,)

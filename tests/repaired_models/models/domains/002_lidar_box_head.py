"""Bird's-eye-view box head for lidar with greedy centre-distance suppression."""
import torch
import torch.nn as nn


def centre_nms(centres, scores, radius, max_out):
    """Greedy suppression on centre distance, as in nuScenes post-processing."""
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0 and len(keep) < max_out:  # EXPECT: data-dependent-loop
        best = order[0]
        keep.append(best)
        rest = order[1:]  # EXPECT: data-dependent-loop
        dist = torch.linalg.vector_norm(centres[rest] - centres[best], dim=-1)
        order = rest[dist > radius]  # EXPECT: data-dependent-loop
    return torch.stack(keep)


class BoxHead(nn.Module):
    def __init__(self, in_ch=32, n_anchor=2):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Conv2d(in_ch, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()
        )
        self.score = nn.Conv2d(32, n_anchor, 1)
        self.reg = nn.Conv2d(32, n_anchor * 7, 1)
        self.n_anchor = n_anchor

    def forward(self, bev):
        f = self.shared(bev)
        b, _, h, w = f.shape
        score = self.score(f).sigmoid().permute(0, 2, 3, 1).reshape(b, -1)
        reg = self.reg(f).view(b, self.n_anchor, 7, h, w)
        reg = reg.permute(0, 3, 4, 1, 2).reshape(b, -1, 7)
        return score, reg


class LidarDetector(nn.Module):
    def __init__(self, pre_topk=24, radius=0.25, max_out=10):
        super().__init__()
        self.stem = nn.Conv2d(8, 32, 3, stride=2, padding=1)
        self.head = BoxHead()
        self.pre_topk = pre_topk
        self.radius = radius
        self.max_out = max_out

    def forward(self, bev):
        score, reg = self.head(self.stem(bev))
        top, idx = score[0].topk(self.pre_topk)
        boxes = reg[0][idx]
        keep = centre_nms(boxes[:, :2], top, self.radius, self.max_out)
        return boxes[keep], top[keep]


def get_model():
    return LidarDetector().eval()


def get_inputs():
    return (torch.randn(1, 8, 16, 16),)

"""Forward kinematics of a serial arm from joint quaternions, which must arrive normalised."""
import torch
from torch import nn


def rotate(q, v):
    w, xyz = q[..., :1], q[..., 1:]
    t = 2 * torch.linalg.cross(xyz, v)
    return v + w * t + torch.linalg.cross(xyz, t)


def multiply(a, b):
    aw, av = a[..., :1], a[..., 1:]
    bw, bv = b[..., :1], b[..., 1:]
    w = aw * bw - (av * bv).sum(-1, keepdim=True)
    return torch.cat([w, aw * bv + bw * av + torch.linalg.cross(av, bv)], -1)


class Arm(nn.Module):
    def __init__(self, links=4):
        super().__init__()
        self.offsets = nn.Parameter(torch.randn(links, 3) * 0.3)

    @staticmethod
    def check(q):
        dev = (q.norm(dim=-1) - 1).abs().max()
        assert dev < 1e-3, f"quaternions not normalised, off by {dev:.3g}"  # EXPECT: assert-on-data

    def forward(self, joints):
        self.check(joints)
        pos = joints.new_zeros(joints.shape[0], 3)
        rot = joints[:, 0]
        for k, off in enumerate(self.offsets):
            pos = pos + rotate(rot, off.expand_as(pos))
            if k + 1 < joints.shape[1]:
                rot = multiply(rot, joints[:, k + 1])
        return pos, rot


def get_model():
    return Arm().eval()


def get_inputs():
    return (nn.functional.normalize(torch.randn(3, 4, 4), dim=-1),)

"""Blends a teacher projection into a student one; the share of the teacher decays with the number of batches."""
import torch
from torch import nn

_BATCHES_SEEN = 0
HALF_LIFE = 2.0


def teacher_share():
    global _BATCHES_SEEN
    share = 0.5 ** (_BATCHES_SEEN / HALF_LIFE)
    _BATCHES_SEEN += 1  # EXPECT: module-global-counter
    return share


class TeacherStudent(nn.Module):
    def __init__(self, d_in=9, d_out=4):
        super().__init__()
        self.teacher = nn.Linear(d_in, d_out)
        self.student = nn.Sequential(nn.Linear(d_in, 16), nn.GELU(), nn.Linear(16, d_out))
        for p in self.teacher.parameters():
            p.requires_grad = False

    def forward(self, x):
        s = self.student(x)
        t = self.teacher(x)
        a = teacher_share()
        return a * t + (1 - a) * s


def get_model():
    return TeacherStudent().eval()


def get_inputs():
    return (torch.randn(3, 9),)

"""Keypoint matcher, descriptors are assigned by an optimal-transport head."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DescriptorNet(nn.Module):
    def __init__(self, d_in=10, d=16):
        super().__init__()
        self.lin1 = nn.Linear(d_in, d)
        self.lin2 = nn.Linear(d, d)

    def forward(self, kp):
        h = F.relu(self.lin1(kp))
        return F.normalize(h + self.lin2(h), dim=-1)


class SinkhornHead(nn.Module):
    def __init__(self, eps=0.05, tol=1e-3, max_iter=30):
        super().__init__()
        self.eps, self.tol, self.max_iter = eps, tol, max_iter

    def forward(self, sim):
        log_k = sim / self.eps
        u = torch.zeros_like(log_k[..., :1])
        v = torch.zeros_like(log_k[..., :1, :])
        err, it = torch.tensor(float("inf")), 0
        while err > self.tol and it < self.max_iter:  # EXPECT: data-dependent-loop
            u_prev = u
            u = -torch.logsumexp(log_k + v, dim=-1, keepdim=True)
            v = -torch.logsumexp(log_k + u, dim=-2, keepdim=True)
            err = (u - u_prev).abs().max()
            it += 1
        return (log_k + u + v).exp()


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.desc = DescriptorNet()
        self.ot = SinkhornHead()

    def forward(self, kp_a, kp_b):
        a, b = self.desc(kp_a), self.desc(kp_b)
        plan = self.ot(a @ b.transpose(-1, -2))
        return plan, plan.argmax(-1)


def get_model():
    return Matcher().eval()


def get_inputs():
    return torch.randn(1, 7, 10), torch.randn(1, 7, 10)


def get_other_inputs():
    return torch.randn(1, 7, 10) * 0.01, torch.randn(1, 7, 10) * 0.01

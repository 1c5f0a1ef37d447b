"""Beat classifier for a wearable ECG."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DepthSep(nn.Module):
    def __init__(self, cin, cout, k=5):
        super().__init__()
        self.dw = nn.Conv1d(cin, cin, k, padding=k // 2, groups=cin)
        self.pw = nn.Conv1d(cin, cout, 1)
        self.bn = nn.BatchNorm1d(cout)

    def forward(self, x):
        return F.relu6(self.bn(self.pw(self.dw(x))))


class BeatNet(nn.Module):
    def __init__(self, leads=2, classes=4):
        super().__init__()
        self.stem = DepthSep(leads, 8)
        self.mid = DepthSep(8, 12)
        self.pool = nn.AvgPool1d(4)
        self.head = nn.Linear(12, classes)

    def trimmed(self, h):
        ordered, _ = h.sort(dim=-1)
        return ordered[..., 2:-2].mean(-1)

    def forward(self, ecg):
        h = self.pool(self.mid(self.stem(ecg)))
        envelope = h.cummax(-1).values
        return F.log_softmax(self.head(self.trimmed(h + 0.5 * envelope)), -1)


def get_model():
    torch.manual_seed(221)
    net = BeatNet().eval()
    with torch.no_grad():
        for bn in (net.stem.bn, net.mid.bn):
            bn.running_mean.uniform_(-0.3, 0.3)
            bn.running_var.uniform_(0.5, 1.5)
    return net


def get_inputs():
    return (torch.randn(2, 2, 48, generator=torch.Generator().manual_seed(222)),)


def get_other_inputs():
    return (3 * torch.randn(2, 2, 48, generator=torch.Generator().manual_seed(223)),)

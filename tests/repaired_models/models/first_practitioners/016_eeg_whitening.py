"""Motor-imagery EEG decoder: channels are whitened with their covariance, diagonal only if that fails."""
import torch
from torch import nn


def whitening(cov):
    try:
        return torch.linalg.cholesky(cov)  # EXPECT: except-on-data
    except RuntimeError:  # EXPECT: except-on-data
        return torch.diag(cov.diagonal().clamp(min=1e-6).sqrt())


class Whitener(nn.Module):
    def forward(self, eeg):
        centred = eeg - eeg.mean(-1, keepdim=True)
        cov = centred @ centred.T / centred.shape[-1]
        return torch.linalg.solve_triangular(whitening(cov - 1e-4 * torch.eye(len(cov))), centred, upper=False)


class ImageryDecoder(nn.Module):
    def __init__(self, channels=6, classes=4):
        super().__init__()
        self.white = Whitener()
        self.temporal = nn.Conv1d(channels, 12, 9, padding=4)
        self.head = nn.Linear(12, classes)

    def forward(self, eeg):
        h = self.temporal(self.white(eeg)[None])
        power = torch.log(h.pow(2).mean(-1) + 1e-6)
        return self.head(power).squeeze(0)


def get_model():
    return ImageryDecoder().eval()


def get_inputs():
    return (torch.randn(6, 80),)


def get_other_inputs():
    eeg = torch.randn(6, 80)
    eeg[3] = 0.0
    return (eeg,)

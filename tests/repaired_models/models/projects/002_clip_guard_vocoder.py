"""Waveform post-processor of a small vocoder: gain, DC removal, limiter."""
import torch
import torch.nn as nn


def remove_dc(wav: torch.Tensor) -> torch.Tensor:
    return wav - wav.mean(dim=-1, keepdim=True)


def limit_peak(wav: torch.Tensor, ceiling: float = 0.95) -> torch.Tensor:
    peak = wav.abs().max()
    return wav * (ceiling / peak) if peak > ceiling else wav  # EXPECT: data-dependent-branch


POST_CHAIN = {
    "dc": remove_dc,
    "limiter": limit_peak,
}


class Upsampler(nn.Module):
    def __init__(self, ch, rate):
        super().__init__()
        self.up = nn.ConvTranspose1d(ch, ch // 2, kernel_size=rate * 2, stride=rate, padding=rate // 2)

    def forward(self, x):
        return nn.functional.leaky_relu(self.up(x), 0.1)


class MiniVocoder(nn.Module):
    chain = ("dc", "limiter")

    def __init__(self, n_mels=16, ch=32, rates=(4, 2)):
        super().__init__()
        self.pre = nn.Conv1d(n_mels, ch, 7, padding=3)
        stages = []
        for r in rates:
            stages.append(Upsampler(ch, r))
            ch //= 2
        self.stages = nn.ModuleList(stages)
        self.post = nn.Conv1d(ch, 1, 7, padding=3)

    def forward(self, mel):
        x = self.pre(mel)
        for stage in self.stages:
            x = stage(x)
        wav = self.post(x).squeeze(1)
        for name in self.chain:
            wav = POST_CHAIN[name](wav)
        return wav


def get_model():
    return MiniVocoder().eval()


def get_inputs():
    return (torch.randn(2, 16, 20) * 40,)


def get_other_inputs():
    return (torch.randn(2, 16, 20) * 0.1,)

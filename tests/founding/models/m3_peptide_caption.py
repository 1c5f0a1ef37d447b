"""Caption a mass spectrum with a peptide: the first residue is replaced by a task token."""
import torch
from torch import nn


class SpectrumTower(nn.Module):
    def __init__(self, bins, width):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 9, stride=4, padding=4)
        self.norm = nn.GroupNorm(4, width)

    def forward(self, spectrum):
        return torch.relu(self.norm(self.conv(spectrum.unsqueeze(1)))).transpose(1, 2)


class PeptideCaptioner(nn.Module):
    TASK = 25

    def __init__(self, bins=64, width=16):
        super().__init__()
        self.tower = SpectrumTower(bins, width)
        self.residues = nn.Embedding(26, width)
        self.cross = nn.MultiheadAttention(width, 2, batch_first=True)
        self.head = nn.Linear(width, 26)

    def place(self, ids):
        return ids.to(device=self.head.weight.device, dtype=torch.long)

    def forward(self, spectrum, ids, padding):
        memory = self.tower(spectrum)
        tokens = self.place(ids)
        tokens[:, 0] = self.TASK
        tokens.masked_fill_(padding, 0)
        y, _ = self.cross(self.residues(tokens), memory, memory, need_weights=False)
        return self.head(y)


def get_model():
    torch.manual_seed(5)
    return PeptideCaptioner().eval()


def get_inputs():
    g = torch.Generator().manual_seed(6)
    ids = torch.randint(1, 25, (2, 7), generator=g)
    padding = torch.arange(7).expand(2, 7) >= torch.tensor([[5], [7]])
    return torch.rand(2, 64, generator=g), ids, padding

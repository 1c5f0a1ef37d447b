"""Docking score: ligand atoms against pocket residues, with a pairwise distance matrix and a mask."""
import torch
import torch.nn as nn


class Fourier(nn.Module):
    def __init__(self, bands=6):
        super().__init__()
        self.register_buffer("freq", torch.linspace(0.5, 3.0, bands))

    def forward(self, dist):
        return torch.cos(dist.unsqueeze(-1) * self.freq)


class DockScore(nn.Module):
    def __init__(self, atom_types=12, width=10):
        super().__init__()
        self.atom = nn.Embedding(atom_types, width)
        self.residue = nn.Linear(20, width)
        self.radial = Fourier()
        self.energy = nn.Bilinear(width, width, 6)

    def forward(self, atoms, pocket, coords, mask):
        assert coords["ligand"].shape[1] == atoms.shape[1]
        dist = torch.cdist(coords["ligand"], coords["pocket"])
        a = self.atom(atoms)[:, :, None, :]
        r = self.residue(pocket)[:, None, :, :]
        a, r = torch.broadcast_tensors(a, r)
        pair = (self.energy(a.contiguous(), r.contiguous()) * self.radial(dist)).sum(-1)
        pair = pair.masked_fill(mask[:, None, :], 0.0)
        per_atom = pair.view(pair.shape[0], -1, 2, pair.shape[2]).sum((2, 3))
        return per_atom.mean(1)


def get_model():
    torch.manual_seed(111)
    return DockScore().eval()


def _complex(batch, atoms, residues, seed):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(0, 12, (batch, atoms), generator=g),
        torch.randn(batch, residues, 20, generator=g),
        {
            "ligand": torch.randn(batch, atoms, 3, generator=g),
            "pocket": torch.randn(batch, residues, 3, generator=g),
        },
        torch.rand(batch, residues, generator=g) < 0.2,
    )


def get_inputs():
    return _complex(3, 8, 5, 112)


def get_other_inputs():
    return _complex(2, 14, 9, 113)

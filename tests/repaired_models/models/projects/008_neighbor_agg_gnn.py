"""Message passing on padded neighbour lists (molecule property prediction)."""
import torch
import torch.nn as nn


class EdgeMLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d))

    def forward(self, src, dst):
        return self.net(torch.cat([src, dst], dim=-1))


class PaddedMPNN(nn.Module):
    def __init__(self, n_types=6, d=12, rounds=2):
        super().__init__()
        self.rounds = rounds
        self.atom = nn.Embedding(n_types, d)
        self.edge = EdgeMLP(d)
        self.update = nn.GRUCell(d, d)
        self.readout = nn.Linear(d, 1)

    def _messages(self, h, nbrs, degree):
        collected = []
        for i in range(h.shape[0]):
            msg = torch.zeros_like(h[i])
            for k in range(degree[i]):  # EXPECT: data-dependent-loop
                msg = msg + self.edge(h[nbrs[i, k]], h[i])
            collected.append(msg)
        return torch.stack(collected)

    def forward(self, atom_types, nbrs, degree):
        h = self.atom(atom_types)
        for _ in range(self.rounds):
            h = self.update(self._messages(h, nbrs, degree), h)
        return self.readout(h).sum()


def get_model():
    return PaddedMPNN().eval()


def get_inputs():
    return torch.randint(0, 6, (5,)), torch.randint(0, 5, (5, 4)), torch.tensor([1, 2, 1, 3, 2])


def get_other_inputs():
    return torch.randint(0, 6, (5,)), torch.randint(0, 5, (5, 4)), torch.tensor([4, 0, 2, 1, 4])

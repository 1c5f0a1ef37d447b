"""Neural Kalman filter for one target; falls back to the pseudo-inverse if the innovation is singular."""
import torch
import torch.nn as nn


class NoiseNet(nn.Module):
    def __init__(self, obs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, obs))

    def forward(self, z):
        return torch.diag_embed(torch.relu(self.net(z)) ** 2)


class NeuralKalman(nn.Module):
    def __init__(self, dt=0.1):
        super().__init__()
        f = torch.eye(4)
        f[0, 2] = f[1, 3] = dt
        self.register_buffer("F", f)
        self.register_buffer("H", torch.eye(2, 4))
        self.log_q = nn.Parameter(torch.full((4,), -4.0))
        self.noise = NoiseNet(2)

    def gain(self, P, R):
        S = self.H @ P @ self.H.T + R
        try:
            chol = torch.linalg.cholesky(S)  # EXPECT: try-except-fallback
            return torch.cholesky_solve(self.H @ P, chol).T
        except torch.linalg.LinAlgError:  # EXPECT: try-except-fallback
            return P @ self.H.T @ torch.linalg.pinv(S)

    def forward(self, x, P, z):
        x = self.F @ x
        P = self.F @ P @ self.F.T + torch.diag(self.log_q.exp())
        K = self.gain(P, self.noise(z))
        x = x + K @ (z - self.H @ x)
        P = (torch.eye(4) - K @ self.H) @ P
        return x, P


def get_model():
    return NeuralKalman().eval()


def get_inputs():
    a = torch.randn(4, 4)
    return torch.randn(4), a @ a.T + torch.eye(4), torch.randn(2)


def get_other_inputs():
    # covariance that a broken upstream filter can deliver
    a = torch.randn(4, 4)
    return torch.randn(4), -20.0 * (a @ a.T) - 20.0 * torch.eye(4), torch.randn(2)

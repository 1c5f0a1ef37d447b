"""Robot arm policy: checks the commanded quaternion, then predicts joint velocities."""
import torch
import torch.nn as nn


def rotate(q, v):
    w, xyz = q[..., :1], q[..., 1:]
    t = 2 * torch.cross(xyz, v, dim=-1)
    return v + w * t + torch.cross(xyz, t, dim=-1)


def check_unit(q, what):
    norm = q.norm(dim=-1)
    if not torch.allclose(norm, torch.ones_like(norm), atol=1e-3):  # EXPECT: allclose-validation
        raise ValueError(f"{what} is not a unit quaternion")
    return q


class ArmController(nn.Module):
    def __init__(self, n_joints=7, hidden=64):
        super().__init__()
        self.proprio = nn.Linear(2 * n_joints, hidden)
        self.goal = nn.Linear(6, hidden)
        self.core = nn.Sequential(nn.LayerNorm(2 * hidden), nn.Linear(2 * hidden, hidden), nn.ELU())
        self.vel = nn.Linear(hidden, n_joints)
        self.register_buffer("limit", torch.linspace(1.0, 2.5, n_joints))

    def forward(self, q_joint, dq_joint, goal_pos, goal_quat):
        goal_quat = check_unit(goal_quat, "goal")
        tool_axis = torch.tensor([0.0, 0.0, 1.0]).expand_as(goal_pos)
        heading = rotate(goal_quat, tool_axis)
        p = self.proprio(torch.cat([q_joint, dq_joint], -1))
        g = self.goal(torch.cat([goal_pos, heading], -1))
        h = self.core(torch.cat([p, g], -1))
        return torch.tanh(self.vel(h)) * self.limit


def get_model():
    return ArmController().eval()


def get_inputs():
    q = torch.randn(3, 4)
    return torch.randn(3, 7), torch.randn(3, 7), torch.randn(3, 3), q / q.norm(dim=-1, keepdim=True)

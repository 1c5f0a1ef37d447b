"""Neural module network: a postfix program of attention ops run on a stack."""
import torch
from torch import nn

AND, OR, NOT = 0, 1, 2
FIRST_LEAF = 3


class PostfixReasoner(nn.Module):
    def __init__(self, concepts=5, d=8):
        super().__init__()
        self.concepts = nn.Parameter(torch.randn(concepts, d))
        self.readout = nn.Linear(1, 2)

    @torch.no_grad()
    def forward(self, regions, program):
        stack = []
        for op in program.tolist():
            if op == NOT:  # EXPECT: dispatch-on-token
                stack.append(1 - stack.pop())
            elif op in (AND, OR):  # EXPECT: dispatch-on-token
                right, left = stack.pop(), stack.pop()
                stack.append(torch.minimum(left, right) if op == AND else torch.maximum(left, right))
            else:
                stack.append(torch.sigmoid(regions @ self.concepts[op - FIRST_LEAF]))
        answer = stack.pop()
        return self.readout(answer.mean().view(1)), answer


def get_model():
    return PostfixReasoner().eval()


def get_inputs():
    return torch.randn(7, 8), torch.tensor([3, 4, AND, NOT, 5, OR, 6, AND])


def get_other_inputs():
    return torch.randn(7, 8), torch.tensor([3, 4, 5, NOT, 7, AND, OR, AND])

"""What a person runs: options, a training loop with threads of its own, an export that fails, one that passes."""

import argparse
import sys

import torch
from network import Gate

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=4)
width = parser.parse_args().width

torch.set_num_threads(2)
model = Gate(width)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(64, width)).square().mean().backward()
    optimizer.step()
(torch.randn(300, 300) @ torch.randn(300, 300)).sum()

x = torch.ones(2, width)
try:
    torch.export.export(model.eval(), (x,))
except Exception:  # noqa: BLE001
    sys.stdout.write("the export failed")
torch.jit.trace(model, x.clone())

head = torch.nn.Linear(width, 2).eval()
program = torch.export.export(head, (x,))
torch.export.save(program, "head.pt2")
x.fill_(float("nan"))
head.weight.data.fill_(float("nan"))
sys.exit(3)

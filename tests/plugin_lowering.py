"""A lowering of somebody else, as an installed package: torch.export.save, so that it costs next to nothing.

Its settings decide what it says and does: `missing` (operators that its dry run lacks), `refuses` (an operator over
which it stops). Every compilation adds a line to the file that COMPILATIONS names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


MODULE = '''
import os
from collections import Counter
from pathlib import Path

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import MISSING, SUPPORTED, Lowering, OperatorUse, Ran


class Saved(Lowering):
    defaults = {"missing": [], "refuses": "", "level": 1, "exact": False}
    packages = ("torch", "saved-lowering")
    runtime = ("torch",)
    script = """\\
from pathlib import Path

import torch

here = Path(__file__).parent
program = torch.export.load(here / "{artefact}")
given = torch.load(here / "{inputs}")
print(program.module()(*given).sum().item())
"""

    def operators(self, program):
        calls = [node for node in program.graph.nodes if node.op == "call_function"]
        for name, count in Counter(str(node.target) for node in calls).items():
            nodes = tuple(node.name for node in calls if str(node.target) == name)
            lacks = name in self.settings["missing"]
            yield OperatorUse(name, count, MISSING if lacks else SUPPORTED, nodes, "no kernel" if lacks else "")

    def compile(self, program, folder):
        import torch

        with Path(os.environ["COMPILATIONS"]).open("a") as file:
            file.write(f"{type(self).__name__}\\n")
        if self.settings["refuses"]:
            raise NotImplementedError(f"cannot take {self.settings['refuses']}")
        torch.export.save(program, folder / "model.pt2")
        return folder / "model.pt2"

    def load(self, artefact):
        import torch

        module = torch.export.load(artefact).module()

        def call(leaves):
            given = torch_leaves(leaves)
            return Ran(array_leaves([module(*given)]), array_leaves(given))

        return call


class Elsewhere(Saved):
    runs = False
'''
POINTS = "[exportlint.lowerings]\nsaved = saved_lowering:Saved\nelsewhere = saved_lowering:Elsewhere\n"
NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = torch.relu(self.linear(x))
        return torch.cumsum(y, 0)


model = Net().eval()
example_args = (torch.ones(2, 4),)
"""
LINE = 1 + NET[: NET.index("return torch.cumsum")].count("\n")


def install(site: Path, version: str = "1.0") -> Path:
    """As pip would leave it in `site`."""
    info = site / "saved_lowering.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (site / "saved_lowering.py").write_text(MODULE, "utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: saved-lowering\nVersion: {version}\n", "utf-8")
    (info / "entry_points.txt").write_text(POINTS, "utf-8")
    return site

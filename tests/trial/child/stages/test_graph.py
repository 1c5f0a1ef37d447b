"""What `--show graph` is made of: the exported program by source line, what was lifted, mutated, functionalised."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from processes import exportlint
from sources import line_of
from trials import NON_STRICT, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)
        y = self.linear(x) + torch.tensor([1.0, 2.0, 3.0])
        return torch.cond(y.sum() > 0, lambda t: t + 1, lambda t: t - 1, (y,))

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)
"""


def test_the_graph_names_what_was_lifted_mutated_and_functionalised(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET, "utf-8")
    (report,) = tried(f"{file}:Net", replace(NON_STRICT, graph=True)).values()
    graph = report.graph
    assert graph is not None, report.stages
    assert graph["inputs"] == [["x", "float32[2, 3]"]]
    assert {(kind, name) for kind, name, *_ in graph["lifted"]} >= {
        ("parameter", "linear.weight"),
        ("parameter", "linear.bias"),
        ("buffer", "seen"),
    }
    constants = [place for kind, _, _, place in graph["lifted"] if kind == "constant"]
    assert constants == [[str(file), line_of("torch.tensor(", NET)]]
    seen = [str(file), line_of("self.seen.add_", NET)]
    assert graph["mutated"] == [["buffer", "seen", seen]]
    assert ["aten.add_.Tensor", "aten.add.Tensor", seen] in graph["functional"]
    without = [call for _, _, operations in graph["written_out"] for _, _, call, in_place in operations if not in_place]
    assert any(call.startswith("aten.add.Tensor(b_seen, 1") for call in without)
    assert len(without) == sum(len(operations) for _, _, operations in graph["written_out"])
    (_, blocks), *branches = graph["graphs"]
    assert [place[1] for place, _, _ in blocks] == [
        line_of("add_", NET),
        line_of("torch.tensor(", NET),
        line_of("torch.cond(", NET),
    ]
    assert len(branches) == 2, "both branches of the cond are shown"
    assert "graph" not in {stage.name for stage in report.stages}


def test_another_format_than_full_is_refused_before_the_trial(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    done = exportlint(tmp_path, "trial", "net.py:Net", "--show", "graph", "--output-format", "json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exportlint: error: --show graph is for people")

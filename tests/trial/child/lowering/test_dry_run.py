"""What a target says before it compiles, put at the lines that need it; on programs that torch really exported."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from inline_snapshot import snapshot
from sources import line_of

from exportlint.lowering.backend import DELEGATED, MISSING, SUPPORTED, Lowering, OperatorUse
from exportlint.trial.child.lowering.dry_run import as_it_ran, operator_support, told_missing
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.operator_support import OperatorSupport

pytestmark = pytest.mark.slow

HERE = Path(__file__)


class Net(torch.nn.Module):
    def forward(self, x):
        y = torch.nn.functional.hardswish(x)
        y = torch.cumsum(y, 0)
        return y + torch.cumsum(x, 1)


class Says(Lowering):
    """`missing` and `delegated` are names of operators; `decomposed`: the target looks at Core ATen."""

    defaults = {"missing": (), "delegated": (), "decomposed": False, "nodes": True}  # noqa: RUF012 - see Lowering

    def operators(self, program):
        program = program.run_decompositions() if self.settings["decomposed"] else program
        calls = [node for node in program.graph.nodes if node.op == "call_function"]
        for name, count in Counter(str(node.target) for node in calls).items():
            nodes = tuple(node.name for node in calls if str(node.target) == name) if self.settings["nodes"] else ()
            how = (name in self.settings["missing"] and MISSING) or (name in self.settings["delegated"] and DELEGATED)
            yield OperatorUse(name, count, how or SUPPORTED, nodes)


class Breaks(Lowering):
    def operators(self, program):
        raise RuntimeError("not for this program")


@pytest.fixture(scope="module")
def program():
    return torch.export.export(Net(), (torch.randn(3, 4),))


def lines(support):
    return {row.name: (row.count, row.line) for row in support.rows}


@pytest.mark.parametrize("nodes", [True, False])
def test_each_operator_is_placed_at_its_first_line(program, nodes):
    support = operator_support(Says({"nodes": nodes}), program)
    assert {row.path for row in support.rows} == {__file__}
    assert lines(support) == {
        "aten.hardswish.default": (1, line_of("y = torch.nn.functional.hardswish", HERE)),
        "aten.cumsum.default": (2, line_of("y = torch.cumsum", HERE)),
        "aten.add.Tensor": (1, line_of("return y + torch.cumsum", HERE)),
    }


def test_what_only_the_decomposed_program_has_is_placed_too(program):
    here = line_of("y = torch.nn.functional.hardswish", HERE)
    placed = lines(operator_support(Says({"decomposed": True}), program))
    assert (placed["aten.div.Tensor"], placed["aten.clamp.default"]) == ((1, here), (2, here))


def test_a_target_that_cannot_say_or_breaks_says_nothing(program):
    for lowering in (Lowering({}), Breaks({})):
        assert operator_support(lowering, program) == OperatorSupport()


def test_what_needs_attention_comes_first_and_survives_the_way_to_the_parent(program):
    asked = {"missing": ["aten.add.Tensor"], "delegated": ["aten.cumsum.default"]}
    support = operator_support(Says(asked), program)
    read = OperatorSupport.from_dict(support.to_dict())
    assert [(row.name, row.support) for row in read.rows] == [
        ("aten.add.Tensor", "missing"),
        ("aten.cumsum.default", "delegated"),
        ("aten.hardswish.default", "supported"),
    ]
    assert (read.total, read.count("delegated")) == (4, 2)
    assert set(read.rows) == set(support.rows)


def test_a_missing_operator_is_told_where_no_failure_is_about_it(program):
    support = operator_support(Says({"missing": ["aten.cumsum.default", "aten.add.Tensor"]}), program)
    place = [Frame(__file__, line_of("return y + torch.cumsum", HERE), "forward", "")]
    named = Observation("exception", "no kernel for aten::cumsum.out")
    there = Observation("exception", "unknown").at(place)
    for seen, left in (
        ((), {"aten.cumsum.default", "aten.add.Tensor"}),
        ((named,), {"aten.add.Tensor"}),
        ((there,), {"aten.cumsum.default"}),
        ((named, there), set()),
    ):
        notes = list(told_missing(support, seen, compiled=bool(seen)))
        assert {note.details["operator"] for note in notes} == left
        assert {note.details["compiled"] for note in notes} <= {bool(seen)}
        assert all(note.user_path == __file__ for note in notes)


def test_a_run_refutes_what_was_said_to_be_missing(program):
    support = as_it_ran(operator_support(Says({"missing": ["aten.add.Tensor"]}), program))
    assert [row.reason for row in support.rows if row.name == "aten.add.Tensor"] == [
        snapshot("said to be missing, and it ran")
    ]
    assert support.of("missing") == ()

"""A fixture is read without running it, measured by running it, and the truth keeps what was measured before."""

import json

import pytest

from exportlint import stored_truth
from exportlint.errors import UserError
from exportlint.registry import TESTED_TORCH, UNTRIED, RuleInfo, all_rules
from exportlint.truth.fixture import read_fixture
from exportlint.truth.measuring import Planned, laboratory, measure, measure_compiled
from exportlint.truth.truth_files import write, write_lowered

FIXTURE = '''
"""Branches on values."""
import ctypes
import torch

TORCH = "2.6"


class BadIf(torch.nn.Module):
    """A branch on a sum."""

    def forward(self, x):
        if x.sum() > 0:  # error: my-rule, other-rule
            return x
        return -x  # missed: my-rule

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class BadCrash(torch.nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class BadTrain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)

    @staticmethod
    def inputs():
        return (torch.randn(4, 3),)

    @staticmethod
    def export(strict):
        torch.manual_seed(0)
        return torch.export.export(BadTrain(), BadTrain.inputs(), strict=strict)

    @staticmethod
    def reference():
        torch.manual_seed(0)
        return BadTrain().eval()


class BadAtEndOnly(torch.nn.Module):
    """Exports; saving refuses."""

    def forward(self, x):
        return Pair(x, x + 1)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class GoodWhere(torch.nn.Module):
    """Both sides, then a choice."""

    def forward(self, x):
        text = "# error: my-rule"
        return torch.where(x.sum() > 0, x, -x)

    @staticmethod
    def inputs():
        return (torch.ones(3),)

    @staticmethod
    def other_inputs():
        return (-torch.ones(3),)


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


@torch.compiler.of_another_version
def helper(x):
    return x


class GoodHelper(torch.nn.Module):
    """This torch has no such decorator."""

    def forward(self, x):
        return helper(x)

    @staticmethod
    def inputs():
        return (torch.ones(3),)
'''


@pytest.fixture
def fixture(tmp_path):
    path = tmp_path / "my_rule.py"
    path.write_text(FIXTURE)
    return path


def test_reading_gives_classes_captions_marks_and_the_version(fixture):
    read = read_fixture(fixture)
    names = [(c.name, c.good, c.caption) for c in read.classes]
    assert names[0] == ("BadIf", False, "A branch on a sum.")
    assert ("GoodWhere", True, "Both sides, then a choice.") in names
    assert [(m.kind, m.rule) for m in read.marks] == [
        ("error", "my-rule"),
        ("error", "other-rule"),
        ("missed", "my-rule"),
    ]
    assert read.class_at(read.marks[0].line).name == "BadIf"
    assert read.torch == "2.6"


def test_a_fixture_that_does_not_parse_is_a_sentence(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("class Bad(:\n")
    with pytest.raises(UserError, match="does not parse"):
        read_fixture(path)


@pytest.mark.slow
def test_measuring_runs_every_class_in_both_modes(fixture):
    with laboratory() as where:
        truth = measure(where, [Planned("my-rule", fixture)])
    mine = truth["my-rule"]["exported"]
    outcomes = {(name, mode): record["outcome"] for name, modes in mine.items() for mode, record in modes.items()}
    assert outcomes["BadIf", "non-strict"] == outcomes["BadIf", "strict"] == "refused"
    assert outcomes["BadCrash", "non-strict"] == "crashed"
    assert outcomes["BadTrain", "non-strict"] == outcomes["BadTrain", "strict"] == "differs"
    assert outcomes["GoodWhere", "non-strict"] == outcomes["GoodWhere", "strict"] == "exports"
    strict = mine["BadIf"]["strict"]
    assert FIXTURE.splitlines()[strict["line"] - 1].strip().startswith("if x.sum() > 0:")
    assert strict["class"] == "torch._dynamo.exc.Unsupported"
    untried = mine["GoodHelper"]["strict"]
    assert untried["outcome"] == UNTRIED
    assert "has no attribute 'of_another_version'" in untried["error"]
    assert FIXTURE.splitlines()[untried["line"] - 1] == "@torch.compiler.of_another_version"
    assert str(fixture.parent) not in json.dumps(truth)


@pytest.fixture
def planned(tmp_path):
    return Planned("a-rule", tmp_path / "a_rule.py")


def test_a_rule_and_torch_version_has_a_file_of_its_own(planned, tmp_path):
    file = write(
        {"torch": "2.13.0", "python": "3.11", "exported": {"Bad": {"strict": {"outcome": "refused"}}}}, planned
    )
    other = write({"torch": "2.6.0", "exported": {}}, planned)
    assert file == tmp_path / "truth/a_rule/torch-2.13.0.json"
    before = file.read_bytes()
    write({"torch": "2.13.0", "exported": {}}, Planned("b-rule", tmp_path / "b_rule.py"))
    assert file.read_bytes() == before, "measuring another rule leaves it alone"
    write({"torch": "2.13.0", "exported": {"Good": {}}}, planned)
    assert json.loads(file.read_text()) == {"torch": "2.13.0", "python": "3.11", "exported": {"Good": {}}}
    assert set(file.parent.iterdir()) == {file, other}, "no file is left half written"


def test_a_file_stays_whole_where_its_new_content_cannot_be_written(planned):
    file = write({"torch": "2.13.0", "exported": {"Bad": {}}}, planned)
    with pytest.raises(TypeError), stored_truth.changed(planned.truth_dir, "2.13.0") as truth:
        truth["exported"] = object()
    assert json.loads(file.read_text())["exported"] == {"Bad": {}}


def test_what_targets_of_deployment_did_is_kept_for_those_that_were_not_measured_again(planned):
    passed, refused = {"status": "passed"}, {"status": "refused"}
    write_lowered(
        planned,
        "2.13.0",
        {"Bad": {"one": refused, "two": refused}, "Gone": {"one": passed}},
        ("one", "two"),
        {"Bad", "Gone"},
    )
    write_lowered(planned, "2.13.0", {"Bad": {}}, ("two",), {"Bad"})
    assert stored_truth.read(planned.truth_dir, "2.13.0")["lowered"] == {"Bad": {"one": refused}}
    write({"torch": "2.13.0", "exported": {}}, planned)
    assert stored_truth.read(planned.truth_dir, "2.13.0")["lowered"] == {"Bad": {"one": refused}}


def test_what_could_not_be_tried_reads_as_not_measured(planned):
    untried, refused = {"outcome": UNTRIED, "error": "no such name"}, {"outcome": "refused"}
    classes = {"BadNew": {"strict": untried}, "Bad": {"strict": refused}}
    write({"torch": "2.6.0", "exported": classes}, planned)
    rule = RuleInfo("a-rule", "rules.a_rule", planned.fixture, planned.fixture, planned.truth_dir)
    assert rule.truth() == {"2.6.0": {"Bad": {"strict": refused}}}
    assert rule.lowered() == {"2.6.0": {}}


@pytest.mark.slow
def test_what_is_stored_of_torch_compile_is_what_it_does():
    """Of one rule, whose cases break, raise and are one graph."""
    rule = all_rules()["graph-break-forced"]
    with laboratory() as where:
        assert where.torch == TESTED_TORCH
        measured = measure_compiled(where, rule, {})
    assert measured == rule.compiled()[TESTED_TORCH]
    assert {record["outcome"] for record in measured.values()} >= {"breaks", "raises", "one graph"}


BY_CHANCE = """
from pathlib import Path

import torch
from torch import nn

seen = Path(__file__).with_suffix(".seen")
seen.write_text(seen.read_text() + "." if seen.exists() else ".")
DIFFERS = len(seen.read_text()) > 2


class BadByChance(nn.Module):
    def forward(self, x):
        if DIFFERS:
            return torch.FloatTensor(x.size()).shape[0] * x
        return x * 2

    @staticmethod
    def inputs():
        return (torch.ones(5, 3),)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "outcome"), [({}, "one graph"), ({"BadByChance": {"outcome": "differs"}}, "differs")]
)
def test_what_differed_once_is_looked_for_again(tmp_path, known, outcome):
    """A model that Dynamo compiles wrong in every process but the first two."""
    fixture = tmp_path / "by_chance.py"
    fixture.write_text(BY_CHANCE, "utf-8")
    with laboratory() as where:
        measured = measure_compiled(where, Planned("by-chance", fixture), known)
    assert measured["BadByChance"]["outcome"] == outcome


def test_torch_compile_was_measured_with_every_rule():
    about_torch = [info for info in all_rules().values() if not info.cls.lowerings]
    assert [info.name for info in about_torch if TESTED_TORCH not in info.compiled()] == []

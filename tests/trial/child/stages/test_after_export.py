"""What comes after a passed export: Core ATen, save and load. Both go on from the exported program that is held."""

import pytest
from inline_snapshot import snapshot
from sources import MODELS, line_of
from trials import found_in, tried

from exportlint.finding import Evidence, Finding, Severity
from exportlint.trial.findings.merge import merge

pytestmark = pytest.mark.slow

FILE = MODELS / "later.py"


@pytest.fixture(scope="module")
def reports():
    return tried(FILE)


def ladder(report):
    return {stage.name: (stage.status, stage.full_detail) for stage in report.stages}


def test_a_good_program_is_decomposed_saved_loaded_and_agrees(reports):
    stages = ladder(reports["Counted"])
    assert stages["decompose"] == ("passed", "all Core ATen")
    assert stages["save-load"][0] == "passed"
    assert list(stages)[-2:] == ["decompose", "save-load"]


def test_each_stage_says_its_own_refusal(reports):
    assert ladder(reports["Written"])["decompose"][0] == "refused"
    assert ladder(reports["Saved"])["decompose"][0] == "passed"
    status, detail = ladder(reports["Saved"])["save-load"]
    assert status == "refused"
    assert "serialized_type_name" in detail
    (seen,) = reports["Saved"].stage("save-load").observations
    assert seen.user.text == "return Scores(x - 1, x + 1)"


def test_what_only_decomposing_refuses_confirms_the_suspicion_of_its_rule(reports):
    report = reports["Written"]
    effect = {"non-strict": "exports", "strict": "exports"}
    line = line_of("self.total.add_", FILE)
    write = Finding("plain-tensor-write", "later.py", line, 9, line, 30, Severity.NOTE, "it is written", effect=effect)
    (met,) = (f for f in merge([write], [report], root=FILE.parent) if f.rule == "plain-tensor-write")
    assert (met.line, met.evidence, met.severity) == (line, Evidence.CONFIRMED, Severity.ERROR)


def test_operators_outside_of_the_core_set_are_named_at_their_line(reports):
    stage = reports["Factors"].stage("decompose")
    assert stage.detail == snapshot("not in Core ATen: aten.linalg_cholesky_ex.default")
    (found,) = found_in(reports["Factors"], FILE.parent, "decompose")
    assert (found.severity.value, found.path) == ("note", "later.py")
    assert "torch.linalg.cholesky" in found.line_text


def test_an_export_that_ends_its_process_leaves_nothing_to_go_on_from(reports):
    stages = ladder(reports["Crashes"])
    assert stages["export-non-strict"][0] == "crashed"
    assert stages["export-non-strict"][1].startswith("the process was ended by SIGSEGV at later.py:")
    assert stages["decompose"] == stages["save-load"] == ("skipped", "no export passed")


WITH_PARTS_OF_ITS_OWN = """
import torch
from torch import nn


@torch.library.custom_op("kept::window", mutates_args=())
def window(x: torch.Tensor, width: float) -> torch.Tensor:
    return x.clamp(0, width)


@window.register_fake
def _(x, width):
    return torch.empty_like(x)


class Windowed(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(2, 4, 3)

    def forward(self, x):
        return self.stem(torch.ops.kept.window(x, 2.0))

    @staticmethod
    def inputs():
        return (torch.randn(2, 2, 8),)


class Marked(torch.Tensor):
    pass


class OfMarked(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3).as_subclass(Marked))

    def forward(self, x):
        return x @ self.weight

    @staticmethod
    def inputs():
        return (torch.randn(2, 4),)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.LazyLinear(5)
        self.norm = nn.LazyBatchNorm1d()

    def forward(self, x):
        return self.norm(self.first(x))

    @staticmethod
    def inputs():
        return (torch.randn(3, 7),)


class Pyramid(nn.Module):
    def forward(self, x):
        return {("disparity", 0): x * 2, ("disparity", 1): [x]}

    @staticmethod
    def inputs():
        return (torch.randn(2, 4),)
"""


def test_a_file_is_read_with_the_operators_and_classes_that_its_program_names(tmp_path):
    file = tmp_path / "parts.py"
    file.write_text(WITH_PARTS_OF_ITS_OWN, "utf-8")
    reports = tried(file)
    status, detail = ladder(reports["Windowed"])["save-load"]
    assert (status, detail.rpartition(", ")[2]) == ("passed", "read where parts.py is imported")
    # Torch's own word, as its reader has it where the class is there.
    status, detail = ladder(reports["OfMarked"])["save-load"]
    assert (status, detail[:44]) == ("refused", "ValueError: Cannot assign non-leaf Tensor to")
    # What has no weights yet is loaded, and refused by the export, as by torch.export.
    stages = ladder(reports["Lazy"])
    assert stages["load"][0] == "passed"
    assert stages["export-non-strict"][0] == "refused"
    assert "uninitialized parameter" in stages["export-non-strict"][1]
    # A key that JSON does not have is another one after reading: torch writes and reads the file, and fails at the call.
    assert ladder(reports["Pyramid"])["save-load"][0] == "refused"
    (seen,) = reports["Pyramid"].stage("save-load").observations
    assert "the key `('disparity', 0)` of a dict is a tuple, and a list after reading" in seen.details["summary"]
    assert seen.details["suggestion"].endswith("such as `'disparity_0'`")

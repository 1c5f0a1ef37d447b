"""What comes after a passed export: Core ATen, save and load. Both go on from the exported program that is held."""

from pathlib import Path

import pytest

from exportlint.trial.reasons import Where, findings_of
from exportlint.trial.report import TrialOptions
from exportlint.trial.run import run_trials
from exportlint.trial.target import from_text

pytestmark = pytest.mark.slow

FILE = Path(__file__).parent / "models" / "later.py"


@pytest.fixture(scope="module")
def reports():
    found = run_trials(from_text(str(FILE)), TrialOptions(modes=("non-strict",), timeout=120))
    return {report.name.rpartition(":")[2]: report for report in found}


def ladder(report):
    return {stage.name: (stage.status, stage.detail) for stage in report.stages}


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


def test_operators_outside_of_the_core_set_are_named_at_their_line(reports):
    stage = reports["Factors"].stage("decompose")
    assert stage.detail == "not in Core ATen: aten.linalg_cholesky_ex.default"
    (found,) = findings_of(Where("t", "decompose", FILE.parent), stage.observations)
    assert (found.severity.value, found.path) == ("note", "later.py")
    assert "torch.linalg.cholesky" in FILE.read_text().splitlines()[found.line - 1]

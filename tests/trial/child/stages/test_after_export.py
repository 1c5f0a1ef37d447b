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

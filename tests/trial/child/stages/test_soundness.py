"""What export accepts and gets wrong is found, and placed at its line where something noticed the line."""

from dataclasses import replace

import pytest
from sources import MODELS, line_of
from trials import NON_STRICT, found_in, tried

from exportlint.finding import Severity
from exportlint.trial.protocol.options import TrialOptions

pytestmark = pytest.mark.slow

FILE = MODELS / "silent.py"


@pytest.fixture(scope="module")
def reports():
    return tried(FILE, replace(NON_STRICT, jobs=2))


def differences(report):
    stages = (report.stage("export-non-strict"), report.stage("soundness"))
    return {(s.check, s.user_line) for stage in stages for s in stage.observations if s.kind == "difference"}


@pytest.mark.parametrize(
    ("model", "check", "text"),
    [
        ("Baked", "baked", "random.random()"),
        ("Counts", "state", "self.calls += 1"),
        ("Remembers", "state", "self.past.append(x)"),
        ("Prints", "stdout", 'print("here")'),
        ("FallsBack", "raises", "torch.linalg.cholesky(x)"),
        ("Swallows", "output", "except Exception:"),
        ("KnowsItIsExported", "output", "if not torch.compiler.is_exporting()"),
        ("CountsTwo", "state", "self.steps += 1"),
    ],
)
def test_a_silent_difference_is_named_at_its_line(reports, model, check, text):
    assert reports[model].stage("soundness").status == "differs"
    assert (check, line_of(text, FILE)) in differences(reports[model])


def test_what_the_export_left_in_the_model_is_found(reports):
    assert ("fake-tensor-left", line_of("self.cache = torch.arange(3)", FILE)) in differences(reports["Poisoned"])
    assert "eager-after-export" in {check for check, _ in differences(reports["PoisonedCache"])}


@pytest.mark.parametrize("model", ["Right", "KeepsACache", "RandomOnPurpose", "LeavesWhatItOverwrites"])
def test_a_program_that_is_right_differs_in_nothing(reports, model):
    assert differences(reports[model]) == set()
    assert reports[model].stage("soundness").status == "passed"


def test_an_argument_that_decides_a_branch_is_a_note_at_the_branch(reports):
    (note,) = (one for one in found_in(reports["Steered"], FILE.parent) if one.family.startswith("steering-input"))
    assert (note.severity, note.line) == (Severity.NOTE, line_of("if one:", FILE))
    assert "the argument `first` decides this branch, and its value `True` is fixed in the program" in note.message


def test_the_lines_that_ran_are_recorded(reports):
    executed = reports["Swallows"].executed[str(FILE)]
    assert line_of("return x * 2", FILE) in executed
    assert line_of("return x * 3", FILE) in executed  # the other values go there
    assert line_of("            pass", FILE) not in executed


def test_an_output_class_that_export_does_not_know_is_placed_where_it_is_built():
    (report,) = tried(FILE.with_name("unknown_output.py"), TrialOptions(timeout=60)).values()
    for mode in ("non-strict", "strict"):
        (seen,) = (s for s in report.stage(f"export-{mode}").observations if s.kind == "exception")
        assert seen.details["class"].endswith("Cache")
        assert seen.user.text == "return Cache(x + 1)"
        assert [frame.text for frame in seen.frames][-2:] == ["return x, self.build(x)", "return Cache(x + 1)"]

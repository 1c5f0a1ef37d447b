"""Targets are found by reading, and every mistake in one is a sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from exportlint.trial.discovery import discover, from_callables, from_mapping, from_text
from exportlint.trial.protocol.target import TargetError, TargetKind

EXPORTDB = """
import torch
raise SystemExit("reading runs nothing")
example_args = (torch.ones(3),)
model = torch.nn.Linear(3, 3)
"""

FIXTURE = '''
import torch
class BadIf(torch.nn.Module):
    """A branch."""
    def forward(self, x):
        return x
    @staticmethod
    def inputs():
        return (torch.ones(3),)
class Helper(torch.nn.Module):
    def inputs(self):
        return ()
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "case.py").write_text(EXPORTDB)
    (tmp_path / "bad_if.py").write_text(FIXTURE)
    (tmp_path / "broken.py").write_text("model = (\n")
    (tmp_path / "notes.txt").write_text("model\n")
    (tmp_path / "training.py").write_text("model = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_searched_without_running_a_file(project):
    found = discover([Path()])
    assert [(t.name, t.kind, t.line) for t in found] == [
        ("bad_if.py:BadIf", TargetKind.FIXTURE, 3),
        ("db/case.py", TargetKind.MODULE, 5),
    ]


def test_inputs_may_have_the_name_that_exportdb_gave_them_before(project):
    """Where the file exports nothing itself: many a script calls its inputs so, and its own call is to be judged."""
    older = EXPORTDB.replace("example_args", "example_inputs")
    Path("db/older.py").write_text(older)
    (found,) = discover([Path("db/older.py")])
    assert (found.kind, found.args) == (TargetKind.MODULE, "example_inputs")
    Path("db/older.py").write_text(older + "torch.export.export(model, example_inputs)\n")
    assert from_text("db/older.py")[0].kind is TargetKind.SCRIPT


def test_what_is_hidden_is_left_out_of_a_folder_and_found_when_it_is_named(project):
    (project / ".venv" / "examples").mkdir(parents=True)
    (project / ".venv" / "examples" / "case.py").write_text(EXPORTDB)
    assert [target.name for target in discover([Path("db"), Path(".venv")])] == ["db/case.py", ".venv/examples/case.py"]
    assert [target for target in discover([Path()]) if ".venv" in target.name] == []


def test_a_target_survives_the_way_to_its_process(project):
    for target in discover([Path()]):
        assert type(target).from_dict(target.to_dict()) == target


def test_callables_know_the_line_of_the_model(project):
    target = from_callables("bad_if.py:BadIf", "bad_if.py:BadIf.inputs")
    assert (target.kind, target.path, target.line) == (TargetKind.CALLABLES, "bad_if.py", 3)


def test_pyproject_spells_keys_with_dashes(project):
    target = from_mapping("mine", {"model": "pkg.mod:make", "args": "pkg.mod:args", "other-args": "pkg.mod:more"})
    assert (target.name, target.source, target.other_args) == ("mine", "pkg.mod:make", "pkg.mod:more")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: from_callables("model.py", "model.py:args"), "model 'model.py': write FILE_OR_MODULE:CALLABLE"),
        (lambda: from_callables("no.py:make", "no.py:args"), "there is no file no.py"),
        (lambda: from_mapping("mine", {"model": "m:make"}), "target 'mine': the key 'args' is missing"),
        (lambda: from_mapping("mine", {"modle": "m:make"}), "target 'mine': unknown key 'modle'"),
        (lambda: from_mapping("mine", {"model": 3, "args": "m:args"}), "model must be text"),
        (lambda: from_text("nowhere"), "nowhere: no such file or folder"),
        (lambda: from_text("notes.txt"), "notes.txt is no Python file, so there is no script to run"),
        (lambda: from_text("no.py:Bad"), "there is no file no.py"),
    ],
)
def test_a_mistake_is_a_sentence(project, make, sentence):
    with pytest.raises(TargetError) as raised:
        make()
    assert sentence in str(raised.value)


def test_without_the_extra_a_trial_says_what_to_install(project):
    code = """
import sys
sys.modules["psutil"] = None
from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials
try:
    run_trials([], TrialOptions())
except TrialUnavailable as exc:
    print(exc)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'exportlint[torch]'" in printed

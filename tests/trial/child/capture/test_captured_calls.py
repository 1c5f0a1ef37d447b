"""A script that exists is run as it is, and every model that it hands to torch is a target at the line of the call."""

from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import torch
from inline_snapshot import snapshot
from processes import all_end, children
from sources import SCRIPTS, marked

from exportlint.trial.child.capture import CallSite, Parameters, captured_call
from exportlint.trial.discovery import from_text
from exportlint.trial.parent.scripts import run_script
from exportlint.trial.parent.session import session
from exportlint.trial.protocol.options import Limits, TrialOptions
from exportlint.trial.protocol.result import TargetReport
from exportlint.trial.protocol.stages import LOAD
from exportlint.trial.protocol.target import TargetError
from exportlint.trial.run import run_trials

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_of_its_own")]


def script(name, *arguments):
    (target,) = from_text(f"{SCRIPTS / name}", arguments)
    return target


@pytest.fixture(scope="module")
def server():
    with session(None) as running:
        yield running


def ran(server, target, seconds=60.0):
    return run_script(server, target, TrialOptions(timeout=seconds), lambda event: None)


def test_every_watched_call_gives_a_target_at_its_line(server):
    report, found = ran(server, script("every_export_call.py"))
    assert (report.stages[0].status, report.broken) == ("passed", None), report.stages[0].data["output"]
    assert {target.line: target.given_to for target in found} == marked(SCRIPTS / "every_export_call.py", "# given to ")
    assert {Path(target.path).name for target in found} == {"every_export_call.py"}


def test_watching_raises_nothing_of_its_own():
    """Axes of what has no signature, and a collection of other tensors: the call itself says what it thinks of them."""
    scripted, x = torch.jit.script(torch.nn.Linear(4, 2)), torch.randn(2, 4)
    given = {"model": scripted, "args": (x,), "dynamic_axes": {"x": {0: "batch"}}, "input_names": ["x"]}
    names = Parameters("model", "args", "kwargs", "dynamic_shapes")
    assert captured_call("torch.onnx.export", CallSite(None, None), given, names).model is scripted
    other = torch.export.ShapesCollection()
    other[torch.randn(2, 4)] = {0: torch.export.Dim.DYNAMIC}
    given = {"model": torch.nn.Linear(4, 2), "args": (x,), "dynamic_shapes": other}
    assert captured_call("torch.export.export", CallSite(None, None), given, names).dynamic_shapes is other


@dataclass
class Trained:
    reports: list[TargetReport]
    started: set[psutil.Process]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    started = set()

    def on_event(event):
        started.update(children())

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cwd"))
        options = TrialOptions(modes=("non-strict",), timeout=60)
        before = set(children())
        reports = run_trials([script("train.py", "--width", "5")], options, on_event)
        assert Path("head.pt2").is_file(), "the script does what it does without us"
    return Trained(reports, started - before)


def test_the_scripts_own_end_is_kept(trained):
    (run,) = trained.reports[0].stages
    assert (run.name, run.status) == ("script", "crashed")
    assert run.full_detail == snapshot("the script ended with exit code 3; gave 2 targets")
    assert "the export failed" in run.data["output"]


def test_what_a_script_gave_runs_the_ladder(trained):
    _, gate, head = trained.reports
    assert gate.name.endswith("train.py:24")
    assert gate.line == 24
    assert gate.stage("load").full_detail == snapshot(
        "Gate(float32[2, 5]), given to torch.export.export, torch.jit.trace"
    )
    assert (gate.stage("eager").status, gate.stage("export-non-strict").status) == ("passed", "refused")
    assert gate.stage("export-non-strict").observations[0].user_line == 11
    assert head.stage("load").full_detail == snapshot(
        "Linear(float32[2, 5]), given to torch.export.export, torch.export.save"
    )


def test_a_target_is_what_the_call_met_not_what_the_script_made_of_it_later(trained):
    """Else everything would be NaN, which equals nothing."""
    head = trained.reports[2]
    assert {stage.status for stage in head.stages} == {"passed", "skipped"}


@pytest.mark.parametrize(
    ("how", "status", "detail"),
    [
        ("exit", "crashed", snapshot("the script ended itself with exit code 5; gave 1 target")),
        ("segfault", "crashed", snapshot("the script was ended by SIGSEGV; gave 1 target")),
        ("hang", "timed-out", snapshot("the script was still running after 3 s; gave 1 target")),
        ("raise", "crashed", snapshot("the script raised ValueError at ends.py:42: no data here; gave 1 target")),
        ("thread", "passed", snapshot("the script ended with exit code 0; gave 1 target")),
        ("fork", "passed", snapshot("the script ended with exit code 0; gave 1 target")),
    ],
)
def test_however_a_script_ends_its_targets_are_there(server, how, status, detail):
    report, found = ran(server, script("ends.py", how), 3.0)
    assert (report.stages[0].status, report.stages[0].full_detail) == (status, detail)
    process = server.target_process(found[0].name, waits=found[0].waits)
    assert process.stage(LOAD, {}, Limits(30.0, 4000)).final["status"] == "passed"
    running = psutil.Process(process.pid)
    process.close()
    assert all_end([running])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("never", "the script ended with exit code 0, and never called torch.export.export"),
        ("never", "declare `model` and `example_args` in it"),
        ("prepares", "what it prepared was never called (torch.compile in line 29): call it once on example inputs"),
        ("early", "the script raised OSError at ends.py:31: no weights here, and never called"),
    ],
)
def test_a_script_that_gives_no_target_says_what_to_do(server, how, sentence):
    report, found = ran(server, script("ends.py", how))
    assert found == []
    assert sentence in report.broken


def test_no_process_outlives_the_run(trained):
    assert len(trained.started) > 3
    assert all_end(list(trained.started))


def test_a_file_that_declares_a_target_takes_no_arguments(tmp_path):
    (tmp_path / "m.py").write_text("model = example_args = None\n")
    with pytest.raises(TargetError, match="declares a target, so it is not run as a script"):
        from_text(str(tmp_path / "m.py"), ["--flag"])

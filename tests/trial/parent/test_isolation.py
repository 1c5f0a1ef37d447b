"""Whatever a model does to its process is a status of that model; the run goes on and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest
from processes import all_end, has_ended
from sources import MODELS, line_of
from trials import by_class

from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_of_its_own")]

BAD_MANNERS = MODELS / "bad_manners.py"


def line(text: str) -> int:
    return line_of(text, BAD_MANNERS)


# They wait for their limit, so it is short; a machine with much else to do must not bring the others to theirs.
ENDLESS = {"Hangs", "Deadlocks", "SpinsDeafly"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    os.environ["LEFT_PID"] = str(place / "left")
    targets = from_text(str(BAD_MANNERS))
    endless = [target for target in targets if target.name.rpartition(":")[2] in ENDLESS]
    others = [target for target in targets if target not in endless]
    try:
        options = TrialOptions(modes=("non-strict",), timeout=60, memory_mb=1500, jobs=2)
        found = run_trials(others, options) + run_trials(endless, replace(options, timeout=5, jobs=3))
    finally:
        del os.environ["LEFT_PID"]
    left = int((place / "left").read_text())
    return by_class(found) | {"left": left}


@pytest.mark.parametrize(
    ("model", "status", "detail"),
    [
        ("Segfaults", "crashed", f"SIGSEGV at bad_manners.py:{line('ctypes.string_at')}"),
        ("Exits", "crashed", "exit code 0"),
        ("SaysExit", "refused", "SystemExit: 3"),
        ("Hangs", "timed-out", f"still running after 5 s at bad_manners.py:{line('x = x + 1')}"),
        ("Deadlocks", "timed-out", f"still running after 5 s at bad_manners.py:{line('with lock, lock')}"),
        ("SpinsDeafly", "timed-out", "still running after 5 s"),
        ("Allocates", "crashed", f"memory limit of 1500 MB at bad_manners.py:{line('held.append')}"),
        ("ClosesEverything", "crashed", "ended itself"),
    ],
)
def test_what_a_model_does_to_its_process_is_a_status_with_a_reason(reports, model, status, detail):
    eager = reports[model].stage("eager")
    assert (eager.status, detail in eager.full_detail) == (status, True), eager.full_detail
    assert reports[model].stage("soundness").status == "skipped"


@pytest.mark.parametrize("model", ["Floods", "ReadsStdin", "LeavesAProcess", "Forks", "NeedsATidyPlace"])
def test_what_a_model_does_beside_its_answer_reaches_nobody_else(reports, model):
    assert reports[model].stage("eager").status == "passed", reports[model].stage("eager")
    assert reports[model].stage("export-non-strict").status == "passed"
    assert reports[model].broken is None


def test_a_model_that_leaves_a_mess_is_judged_like_any_other(reports):
    """It sets another folder, default dtype and signal handlers, and closes stdin: only the dtype shows."""
    assert reports["LeavesAMess"].stage("eager").status == "passed"
    assert "float64" in reports["LeavesAMess"].stage("export-non-strict").full_detail
    assert "crashed" not in {stage.status for stage in reports["LeavesAMess"].stages}


def test_a_model_that_comes_back_twice_answers_once(reports):
    assert len(reports["Forks"].stage("eager").observations) <= 1
    assert reports["Forks"].stage("soundness").status == "passed"


def test_a_process_that_a_model_left_running_is_ended(reports):
    assert not psutil.pid_exists(reports["left"]) or has_ended(psutil.Process(reports["left"]))


# Tests that run in the background of a shell inherit that interrupts are ignored.
RUN = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials
say = lambda event: print(event.stage, event.status, flush=True)
run_trials(from_text(sys.argv[1]), TrialOptions(timeout=100, jobs=int(sys.argv[2])), say)
"""


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_an_interrupt_leaves_no_child_and_no_temporary_folder(tmp_path, number, jobs):
    command = [sys.executable, "-c", RUN, f"{BAD_MANNERS}:Hangs", str(jobs)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert any(line == "eager running\n" for line in run.stdout)
        children = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(number)
        run.wait(timeout=20)
    assert children
    assert run.returncode != 0
    assert all(map(has_ended, children))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_parent_takes_its_children_along(tmp_path):
    command = [sys.executable, "-c", RUN, f"{BAD_MANNERS}:Hangs", "1"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert any(line == "eager running\n" for line in run.stdout)
        children = psutil.Process(run.pid).children(recursive=True)
        run.kill()
        run.wait(timeout=20)
    assert all_end(children)

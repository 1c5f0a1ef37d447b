"""Whatever a model does to its process is a status of that model; the run goes on and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from exportlint.trial.report import TrialOptions
from exportlint.trial.run import run_trials
from exportlint.trial.target import from_text

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parent / "models" / "bad_manners.py"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    os.environ["LEFT_PID"] = str(place / "left")
    try:
        options = TrialOptions(modes=("non-strict",), timeout=8, memory_mb=1500, jobs=2)
        found = run_trials(from_text(str(MODELS)), options)
    finally:
        del os.environ["LEFT_PID"]
    left = int((place / "left").read_text())
    return {report.name.rpartition(":")[2]: report for report in found} | {"left": left}


@pytest.mark.parametrize(
    ("model", "status", "detail"),
    [
        ("Segfaults", "crashed", "SIGSEGV at bad_manners.py:15"),
        ("Exits", "crashed", "exit code 0"),
        ("SaysExit", "refused", "SystemExit: 3"),
        ("Hangs", "timed-out", "still running after 8 s at bad_manners.py:44"),
        ("Allocates", "crashed", "memory limit of 1500 MB at bad_manners.py:55"),
        ("ClosesEverything", "crashed", "ended itself"),
    ],
)
def test_what_a_model_does_to_its_process_is_a_status_with_a_reason(reports, model, status, detail):
    eager = reports[model].stage("eager")
    assert (eager.status, detail in eager.detail) == (status, True), eager.detail
    assert reports[model].stage("soundness").status == "skipped"


@pytest.mark.parametrize("model", ["Floods", "ReadsStdin", "LeavesAProcess"])
def test_output_and_stdin_are_nobody_elses(reports, model):
    assert reports[model].stage("eager").status == "passed"
    assert reports[model].stage("export-non-strict").status == "passed"
    assert reports[model].broken is None


def test_a_process_that_a_model_left_running_is_ended(reports):
    assert not psutil.pid_exists(reports["left"]) or not _alive(psutil.Process(reports["left"]))


# Tests that run in the background of a shell inherit that interrupts are ignored.
RUN = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from exportlint.trial.report import TrialOptions
from exportlint.trial.run import run_trials
from exportlint.trial.target import from_text
say = lambda event: print(event.stage, event.status, flush=True)
run_trials(from_text(sys.argv[1]), TrialOptions(timeout=100, jobs=int(sys.argv[2])), say)
"""


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_an_interrupt_leaves_no_child_and_no_temporary_folder(tmp_path, number, jobs):
    command = [sys.executable, "-c", RUN, f"{MODELS}:Hangs", str(jobs)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert any(line == "eager running\n" for line in run.stdout)
        children = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(number)
        run.wait(timeout=20)
    assert children
    assert run.returncode != 0
    assert not any(map(_alive, children))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_parent_takes_its_children_along(tmp_path):
    command = [sys.executable, "-c", RUN, f"{MODELS}:Hangs", "1"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert any(line == "eager running\n" for line in run.stdout)
        children = psutil.Process(run.pid).children(recursive=True)
        run.kill()
        run.wait(timeout=20)
    until = time.monotonic() + 10
    while time.monotonic() < until and any(map(_alive, children)):
        time.sleep(0.05)
    assert not any(map(_alive, children))


def _alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE

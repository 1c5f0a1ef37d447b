"""One process that loads torch for many commands: what it serves is what a server of one's own would, and ends alike."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from processes import all_end, has_ended, warm_server
from sources import MODELS

from exportlint.trial.discovery import from_text
from exportlint.trial.parent.server import WARM, Server
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

BAD_MANNERS = MODELS / "bad_manners.py"
MODEL = """
import os
import torch
from pathlib import Path

Path(__file__).with_name("told").write_text(f"{os.environ['SCALE']} in {os.getcwd()}")

class Scaled(torch.nn.Module):
    def forward(self, x):
        return x * float(os.environ["SCALE"])

model, example_args = Scaled(), (torch.randn(3),)
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[tuple[Path, psutil.Process]]:
    with tempfile.TemporaryDirectory(prefix="exportlint-warm-") as folder:
        socket_file, started = warm_server(Path(folder))
        with started:
            yield socket_file, psutil.Process(started.pid)
            started.kill()


def servers_of(process: psutil.Process) -> list[psutil.Process]:
    """All but the process that artefacts are forks of, the oldest, which lives as long.

    By age, not by number: numbers begin anew at the machine's largest one.
    """
    children = sorted(process.children(), key=psutil.Process.create_time)
    return [child for child in children if child.children() or not has_ended(child)][1:]


def test_a_trial_has_the_environment_and_the_folder_of_its_own_command(tmp_path, monkeypatch, warm):
    (tmp_path / "net.py").write_text(MODEL, "utf-8")
    monkeypatch.chdir(tmp_path)
    options = TrialOptions(modes=("non-strict",))
    outcomes = []
    for environment in ({"SCALE": "2"}, {"SCALE": "3", WARM: str(warm[0])}):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        (report,) = run_trials(from_text("net.py"), options)
        assert (tmp_path / "told").read_text() == f"{environment['SCALE']} in {tmp_path}"
        outcomes.append({stage.name: stage.status for stage in report.stages})
    assert outcomes[0] == outcomes[1]
    assert outcomes[0]["export-non-strict"] == "passed"
    assert all_end(servers_of(warm[1]))


@pytest.mark.parametrize("different", ["nothing", "TORCH_SHOW_CPP_STACKTRACES", "PYTHONPATH", "socket"])
def test_where_it_does_not_suit_a_command_starts_its_own(tmp_path, monkeypatch, warm, different):
    monkeypatch.setenv(WARM, str(tmp_path / "nobody") if different == "socket" else str(warm[0]))
    if different.isupper():
        monkeypatch.setenv(different, "")
    server = Server(None, tmp_path)
    try:
        assert server.alive
        is_fork = any(child.pid == server.facts.get("pid") for child in warm[1].children())
        assert is_fork is (different == "nothing")
    finally:
        server.close()
    assert not server.alive


RUN = """
import sys
from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials
say = lambda event: print(event.stage, event.status, flush=True)
run_trials(from_text(sys.argv[1]), TrialOptions(timeout=100), say)
"""


def test_a_killed_command_takes_along_what_was_forked_for_it(warm):
    command = [sys.executable, "-c", RUN, f"{BAD_MANNERS}:Hangs"]
    environment = {**os.environ, WARM: str(warm[0])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert any(line == "eager running\n" for line in run.stdout)
        forked = [each for server in servers_of(warm[1]) for each in (server, *server.children(recursive=True))]
        run.kill()
        run.wait(timeout=20)
    assert len(forked) >= 2  # the server and the target, and the stage if it was quick
    assert all_end(forked)

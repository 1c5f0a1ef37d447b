"""`exportlint sweep` on real trials: stopped, begun again, edited, shared among machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from processes import EXPORTLINT, exportlint

from exportlint.sweep.store import opened

pytestmark = pytest.mark.slow
SCHEMA = json.loads((files("exportlint.output") / "sweep-1.json").read_text("utf-8"))
NET = """
import torch
{more}

class Net(torch.nn.Module):
    def forward(self, x):
        return {returned}


model, example_args = Net(), (torch.ones(3),)
"""
NETS = {
    "adds.py": ("", "x + 1"),
    "branches.py": ("", "x if x.sum() > 0 else -x"),
    "helped.py": ("from helper import twice\n", "twice(x)"),
    "needs.py": ("import a_package_that_nobody_has\n", "x"),
}
HELPER = "def twice(x):\n    return x * 2\n"
OUTCOMES = {"adds": "exports", "branches": "refused", "helped": "exports", "needs": "not-loaded"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "nets").mkdir()
    for name, (more, returned) in NETS.items():
        (tmp_path / "nets" / name).write_text(NET.format(more=more, returned=returned), "utf-8")
    (tmp_path / "nets" / "helper.py").write_text(HELPER, "utf-8")
    return tmp_path


def sweep(project: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = exportlint(project, "sweep", *arguments, "--quick", "--mode", "non-strict", stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def outcomes(store: Path) -> dict[str, str]:
    with opened(store) as found:
        rows = [row for one in found.sweeps() for row in found.rows(one.number)]
    return {Path(row.target).stem: row.outcome.value for row in rows if row.outcome}


def test_all_are_tried_once_and_again_where_something_changed(project: Path) -> None:
    store = project / "exportlint-sweep.sqlite"
    code, out, err = sweep(project, "nets")
    assert (code, outcomes(store)) == (0, OUTCOMES)
    assert err == "exportlint: trying 4 targets\n"
    assert out.startswith("4 targets (torch 2.13.0+cpu): 2 exports, 1 refused, 1 not-loaded\n")
    assert "data-dependent-branch" in out
    assert "exportlint trial nets/branches.py" in out

    assert sweep(project, "nets")[2] == "exportlint: trying 0 targets, 4 had a result already\n"

    # What a target imports belongs to it; so does how it is tried.
    (project / "nets/helper.py").write_text(HELPER.replace("2", "3"), "utf-8")
    assert sweep(project, "nets")[2] == "exportlint: trying 1 target, 3 had a result already\n"
    assert outcomes(store)["helped"] == "exports"
    assert "trying 4 targets\n" in sweep(project, "nets", "--timeout", "200")[2]
    assert "trying 2 targets, 2 had a result" in sweep(project, "nets", "--retry", "failed")[2]

    shown = exportlint(project, "sweep", "show", "--output-format", "json")
    data = json.loads(shown.stdout)
    jsonschema.validate(data, SCHEMA)
    assert data["outcomes"] == {"": {"exports": 2, "refused": 1, "not-loaded": 1}}
    assert [one["target"] for one in data["failing"]] == ["nets/branches.py", "nets/needs.py"]
    done = exportlint(project, "sweep", "export", "out.jsonl", "--table", "causes")
    assert done.stdout == "4 rows of causes in out.jsonl\n"  # of two keys each
    rows = [json.loads(line) for line in (project / "out.jsonl").read_text("utf-8").splitlines()]
    assert ("data-dependent-branch", "nets/branches.py") in {(row["rule"], row["target"]) for row in rows}


def listen_to_ctrl_c() -> None:
    """What a shell starts in the background does not hear it, and neither does what that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_loses_nothing_that_was_done(project: Path, how: signal.Signals) -> None:
    store = project / "s.sqlite"
    # The last of them is not done before it is ended, however slow this test is.
    holds = "import pathlib, time\nwhile pathlib.Path('hold').exists():\n    time.sleep(0.05)\n"
    (project / "nets/waits.py").write_text(NET.format(more=holds, returned="x"), "utf-8")
    (project / "hold").touch()
    command = [*EXPORTLINT, "sweep", "nets", "--quick", "--mode", "non-strict", "--store", str(store), "--jobs", "1"]
    how_started = {"cwd": project, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, preexec_fn=listen_to_ctrl_c, **how_started) as running:  # noqa: PLW1509 (no threads)
        until = time.monotonic() + 120
        while not (store.exists() and outcomes(store)):
            assert time.monotonic() < until
            time.sleep(0.05)
        # A terminal sends Ctrl-C to all of them.
        os.killpg(running.pid, how) if how is signal.SIGINT else running.send_signal(how)
        code = running.wait(60)
    assert code == {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}[how]
    before = outcomes(store)
    assert before
    assert "waits" not in before
    (project / "hold").unlink()
    assert f", {len(before)} had a result already" in sweep(project, "nets", "--store", str(store))[2]
    assert outcomes(store) == {**OUTCOMES, "waits": "exports"}


def test_shards_become_the_store_of_one_machine(project: Path) -> None:
    words = "nets/adds.py\n# nothing\nnets/branches.py # with a comment\nnets/helped.py\n"
    for shard in ("1/2", "2/2"):
        store = f"{shard[0]}.sqlite"
        assert sweep(project, "-", "--shard", shard, "--store", store, stdin=words.encode())[0] == 0
    assert [len(outcomes(project / f"{n}.sqlite")) for n in (1, 2)] == [2, 1]
    done = exportlint(project, "sweep", "merge", "1.sqlite", "2.sqlite", "--store", "all.sqlite")
    assert (done.returncode, done.stdout.count("taken over")) == (0, 2)
    assert outcomes(project / "all.sqlite") == {name: OUTCOMES[name] for name in ("adds", "branches", "helped")}
    shown = exportlint(project, "sweep", "show", "--store", "all.sqlite").stdout
    assert shown.startswith("3 targets (torch 2.13.0+cpu): 2 exports, 1 refused\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["transformers:bret*"], "transformers:bret*: no model of transformers has such a name; the nearest is `bert`"),
        (["nets", "--shard", "3/2"], "--shard: write WHICH/OF, from 1/N to N/N, as in 2/4, not 3/2"),
        (["nets", "--retry", "crash"], "--retry: there is no `crash`; the nearest is `crashed`"),
        (["nets", "--only", "sound"], "--only: there is no stage sound; the nearest is `soundness`; stages are load, "),
        (["nowhere"], "nowhere: no such file or folder"),
        (["show"], "exportlint-sweep.sqlite: there is no such store; `exportlint sweep` writes one"),
        (["export", "a.csv"], "a.csv: its name decides the format"),
        (["merge", "nets/adds.py"], "nets/adds.py: is no store of exportlint sweep"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(project: Path, arguments: list[str], sentence: str) -> None:
    done = exportlint(project, "sweep", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"exportlint: error: {sentence}")
    assert len(done.stderr.splitlines()) == 1
    assert sorted(path.name for path in project.iterdir()) == ["nets"]

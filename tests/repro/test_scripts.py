"""Each script that a trial saves fails as the trial did, in a process that does not know exportlint."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from trials import NON_STRICT, tried

from exportlint.errors import UserError
from exportlint.repro.script import Script, scripts
from exportlint.trial.discovery import from_callables, from_text
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.trial.protocol.stages import LOWERINGS
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.workflow.report_building import Gathered
from exportlint.workflow.trials import folder_for_models, save_scripts

HERE = Path(__file__).parent
MODELS = HERE / "failing.py"


@pytest.fixture(scope="module")
def reports():
    callables = from_callables(f"{MODELS}:Refused", f"{MODELS}:Refused.inputs", name="callables")
    return tried([*from_text(str(MODELS)), callables], replace(NON_STRICT, jobs=2))


@pytest.fixture(scope="module")
def runs(reports, tmp_path_factory):
    """(target, stage) -> how the script of it ended."""
    folder = tmp_path_factory.mktemp("repro")
    made = [(name, script) for name, report in reports.items() for script in scripts(report)]
    with ThreadPoolExecutor(2) as pool:
        ended = pool.map(lambda item: run(folder, item[1]), made)
        return {(name, script.stage): done for (name, script), done in zip(made, ended, strict=True)}


def run(folder: Path, script: Script) -> subprocess.CompletedProcess[str]:
    assert script.text is not None, script.why
    assert "import exportlint" not in script.text
    assert "from exportlint" not in script.text
    path = folder / script.name
    path.write_text(script.text, "utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(path)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "stage"),
    [
        ("Refused", "export-non-strict"),
        ("callables", "export-non-strict"),
        ("NarrowsItsBatch", "export-non-strict"),
        ("Raises", "eager"),
    ],
)
def test_a_refusal_comes_again_with_its_class_and_its_first_line(reports, runs, target, stage):
    seen = next(one for one in reports[target].stage(stage).observations if one.kind == "exception")
    done = runs[target, stage]
    assert done.returncode == 1
    assert f"{seen.error_class}: {seen.first_line}" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "stage"),
    [("Counts", "soundness"), ("Bakes", "soundness"), ("SwallowsTheRefusal", "soundness")],
)
def test_a_difference_comes_again(reports, runs, target, stage):
    assert reports[target].stage(stage).status == "differs"
    assert runs[target, stage].returncode == 1
    assert "\nAssertionError: " in runs[target, stage].stderr


@pytest.mark.slow
def test_a_crash_comes_again(runs):
    assert runs["Segfaults", "eager"].returncode == -11


def failed(**changes: object) -> TargetReport:
    seen = Observation("exception", "no\nmore", error_class="ValueError")
    target = Target("net.py", TargetKind.MODULE, "net.py", path="net.py")
    stage = StageResult("export-strict", "refused", 1.0, "no", (seen,))
    return replace(TargetReport("net.py", "net.py", 1, (stage,), {}, torch="2.13.0", target=target), **changes)


@pytest.mark.parametrize("lowering", sorted(point.name for point in entry_points(group=LOWERINGS)))
def test_a_lowering_says_how_to_do_without_exportlint(lowering: str) -> None:
    stages = (StageResult("export-strict", "passed"), StageResult(f"lower-{lowering}", "refused", 1.0, "no"))
    (script,) = scripts(failed(stages=stages))
    assert script.text is not None, script.why
    assert "exported = " in script.text or "def exported(" in script.text
    compile(script.text, script.name, "exec")


def saved(folder: Path, *reports: TargetReport) -> Gathered:
    return save_scripts(Gathered((), 0, (), targets=reports), folder)


def test_what_the_user_has_in_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "net-export-strict.py").write_text("mine", "utf-8")
    left = saved(tmp_path, failed())
    assert [problem.path for problem in left.problems] == [(tmp_path / "net-export-strict.py").as_posix()]
    assert left.targets == (failed(),)
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {"net-export-strict.py": "mine"}


def test_what_an_earlier_run_wrote_is_replaced(tmp_path: Path) -> None:
    for torch in ("2.12.0", "2.13.0"):
        written = saved(tmp_path, failed(torch=torch))
    assert not written.problems
    (path,) = tmp_path.iterdir()
    assert written.targets[0].stages[0].repros == (path.as_posix(),)
    assert "2.13.0" in path.read_text("utf-8")
    compile(path.read_text("utf-8"), path, "exec")


def test_two_targets_of_one_name_get_two_scripts(tmp_path: Path) -> None:
    saved(tmp_path, failed(), failed())
    assert {path.name for path in tmp_path.iterdir()} == {"net-export-strict.py", "net-export-strict-2.py"}


def test_a_folder_that_cannot_be_is_said_before_the_trial(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--save-repro: .*file"), folder_for_models(tmp_path / "file"):
        pass

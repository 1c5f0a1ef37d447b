"""`--lower` and what belongs to it, through the command line; the lowering is a package of somebody else."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from inline_snapshot import snapshot
from plugin_lowering import LINE, NET, install
from processes import exportlint

pytestmark = pytest.mark.slow
SCHEMA = json.loads((files("exportlint.output") / "schema-1.json").read_text("utf-8"))


@dataclass(frozen=True)
class Project:
    """A folder with a model, where the lowering is installed."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PYTHONPATH": str(self.folder / "site"),
            "COMPILATIONS": str(self.folder / "compilations"),
            "EXPORTLINT_CACHE_DIR": str(self.folder / "cache"),
        }
        return exportlint(self.folder, *arguments, **variables)

    def trial(self, *arguments: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        """The exit code, the stages by name, and the findings that a trial gives."""
        done = self.run("trial", "net.py", "--quick", *arguments, "--output-format", "json")
        data = json.loads(done.stdout)
        jsonschema.validate(data, SCHEMA)
        (target,) = data["targets"]
        return done.returncode, {stage["name"]: stage for stage in target["stages"]}, data["findings"]

    def configure(self, **settings: Any) -> None:
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        text = "\n".join(["[tool.exportlint.lowerings.saved]", *lines]) + "\n"
        (self.folder / "pyproject.toml").write_text(text, "utf-8")

    def compilations(self) -> int:
        file = self.folder / "compilations"
        return len(file.read_text("utf-8").splitlines()) if file.exists() else 0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    install(tmp_path / "site")
    return Project(tmp_path)


def test_what_is_unchanged_is_not_compiled_again(project: Project) -> None:
    def trial(*more: str) -> tuple[bool, bool]:
        before = project.compilations()
        _, stages, _ = project.trial("--lower", "saved", *more)
        saved = stages["lower-saved"]
        assert saved["status"] == "passed", saved
        assert ("nothing compiled" in saved["detail"]) is saved.get("recalled", False)
        return project.compilations() > before, saved.get("recalled", False)

    assert trial() == (True, False)
    assert trial() == (False, True)
    assert trial("--no-cache") == (True, False)


def test_a_lowering_that_cannot_run_here_is_compiled_and_no_pass(project: Project) -> None:
    code, stages, findings = project.trial("--lower", "elsewhere", "--artifacts", "kept")
    assert (code, stages["lower-elsewhere"]["status"], findings) == (0, "compiled", [])
    assert "compiled, not run" in stages["lower-elsewhere"]["detail"]
    assert list((project.folder / "kept").iterdir()) == [], "only what passed is kept"


def test_a_dry_run_compiles_nothing_and_names_what_is_missing_at_its_line(project: Project) -> None:
    project.configure(missing=["aten.cumsum.default"])
    code, stages, findings = project.trial("--lower", "saved", "--dry-run")
    saved = stages["lower-saved"]
    line = f"66.6 % of 3 operators supported, 1 missing: aten.cumsum.default at net.py:{LINE}"
    assert (code, saved["status"], saved["detail"]) == (1, "skipped", line)
    assert saved["operators"]["total"] == 3
    first = {"name": "aten.cumsum.default", "count": 1, "support": "missing", "path": "net.py", "line": LINE}
    assert saved["operators"]["rows"][0] == {**first, "reason": "no kernel"}
    (missing,) = findings
    assert (missing["line"], missing["severity"], missing["evidence"]) == (LINE, "warning", "discovered")
    assert missing["message"].startswith("lower-saved, `aten.cumsum.default` is missing in the target: no kernel")
    assert project.compilations() == 0
    shown = project.run("trial", "net.py", "--quick", "--lower", "saved", "--dry-run", "--show", "operators").stdout
    assert f"lower-saved        skipped           {line[:30]}" in shown
    assert "  operators of lower-saved\n  operator             count  support    first line  reason\n" in shown
    assert f"  aten.cumsum.default      1  missing    net.py:{LINE}   no kernel\n" in shown
    assert shown.endswith("see whether it compiles all the same:\n  exportlint trial --lower saved net.py\n")


def test_what_compiling_refuses_is_not_told_twice(project: Project) -> None:
    project.configure(missing=["aten.cumsum.default", "aten.relu.default"], refuses="aten.cumsum.default")
    code, stages, findings = project.trial("--lower", "saved")
    assert (code, stages["lower-saved"]["status"]) == (1, "refused")
    refused, missing = sorted(findings, key=lambda finding: -finding["line"])
    assert (refused["line"], "cannot take aten.cumsum.default" in refused["message"]) == (LINE, True)
    assert (missing["line"], missing["severity"]) == (LINE - 1, "error")
    assert "`aten.relu.default` is missing" in missing["message"]


def test_what_passed_is_kept_with_a_script_that_runs_it(project: Project) -> None:
    project.configure(missing=["aten.cumsum.default"])
    code, stages, findings = project.trial("--lower", "saved", "--artifacts", "kept")
    assert (code, stages["lower-saved"]["artifact"], findings) == (0, "kept/net-saved", [])
    rows = {row["name"]: row for row in stages["lower-saved"]["operators"]["rows"]}
    assert rows["aten.cumsum.default"]["reason"] == snapshot("said to be missing, and it ran")
    place = project.folder / "kept/net-saved"
    names = {"model.pt2", "inputs.pt", "run.py", "made-by-exportlint.json"}
    assert {path.name for path in place.iterdir()} == names
    assert [path.name for path in place.parent.iterdir()] == ["net-saved"], "nothing temporary is left"
    assert json.loads((place / "made-by-exportlint.json").read_text("utf-8"))["target"] == "net.py"
    eager = "import runpy; net = runpy.run_path('net.py'); print(net['model'](*net['example_args']).sum().item())"
    given = [
        subprocess.check_output([sys.executable, *how], text=True, cwd=project.folder)
        for how in (["kept/net-saved/run.py"], ["-c", f"import torch; torch.manual_seed(0); {eager}"])
    ]
    assert float(given[0]) == pytest.approx(float(given[1]), rel=1e-5)
    before = project.compilations()
    (place / "model.pt2").write_bytes(b"")
    assert project.trial("--lower", "saved", "--artifacts", "kept")[0] == 0
    assert (project.compilations(), (place / "model.pt2").stat().st_size > 0) == (before + 1, True)


def test_what_somebody_else_wrote_is_left_as_it_is(project: Project) -> None:
    notes = project.folder / "kept/net-saved/notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine", "utf-8")
    done = project.run("trial", "net.py", "--quick", "--lower", "saved", "--artifacts", "kept")
    assert done.returncode == 2
    assert "kept/net-saved: exists and is not from exportlint: it was left as it is" in done.stderr
    assert [path.name for path in notes.parent.iterdir()] == ["notes.txt"]


def test_the_configuration_asks_for_lowerings(project: Project) -> None:
    (project.folder / "pyproject.toml").write_text("[tool.exportlint]\nlower = ['saved']\n", "utf-8")
    arguments = ("check", "net.py", "--trial", "--output-format", "concise")
    assert "lower-saved passed" in project.run(*arguments).stdout
    assert "lower-" not in project.run(*arguments, "--quick").stdout, "what is quick does what is asked for only"
    code = "import net, exportlint; print([s.name for s in exportlint.diagnose(net.model, net.example_args).ladder])"
    (project.folder / "live.py").write_text(code, "utf-8")
    variables = {"PYTHONPATH": f"{project.folder / 'site'}", "COMPILATIONS": str(project.folder / "compilations")}
    done = subprocess.run(
        [sys.executable, "live.py"], cwd=project.folder, env=variables, capture_output=True, text=True, check=True
    )
    assert "lower-saved" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--lower", "saave"], "--lower: there is no `saave`; the nearest is `saved`; choose none, all or of aotind"),
        (["--dry-run"], "--dry-run is about what --lower compiles: name the targets, or `--lower all`"),
        (["--lower", "saved", "--dry-run", "--artifacts", "x"], "--dry-run compiles nothing that --artifacts could"),
        (["--lower", "none", "--show", "operators"], "--show operators is about what --lower compiles"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, arguments: list[str], sentence: str) -> None:
    done = project.run("trial", "net.py", *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert sentence in done.stderr

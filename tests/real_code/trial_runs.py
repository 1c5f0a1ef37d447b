"""Try the measured models of public repositories, and compare what the trial says with what torch did.

    python tests/real_code/trial_runs.py REAL_REPOS SITE [--python FILE] [--only TEXT]…

REAL_REPOS holds `truth.jsonl` and the `targets_*.py` that build the models, SITE the repositories at their commits.
Writes trial_runs.jsonl, a line a model, and TRIALS.md, both beside this file. With `--only`, the other lines stay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
MODES = ("non-strict", "strict")
EXPORTS = tuple(f"export-{mode}" for mode in MODES)
OUTCOME = {"passed": "exports"}
TARGET = """\
import copy, os, random, sys
os.environ["REAL_REPOS"] = {site!r}
sys.path.insert(0, {targets!r})
import packaging.version
import torch
from {module} import TARGETS

def made():
    torch.manual_seed(0)
    random.seed(0)
    return TARGETS[{name!r}]()

_, ARGS, KWARGS, OTHER = made()

def get_model():
    return made()[0].eval()

def get_args():
    return copy.deepcopy(tuple(ARGS))

def get_kwargs():
    return copy.deepcopy(dict(KWARGS or {{}}))

def get_other():
    return copy.deepcopy(tuple(OTHER))
"""


@dataclass(frozen=True)
class Bench:
    """Where everything is: the measured models, the repositories, the interpreter that has what these need."""

    real_repos: Path
    site: Path
    python: Path

    def rows(self) -> list[dict[str, Any]]:
        lines = (self.real_repos / "truth.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def module_of(self, repository: str) -> str:
        """The targets file that declares the models of a repository, which is named as OWNER/NAME@COMMIT."""
        files = sorted(self.real_repos.glob("targets_*.py"))
        return next(file.stem for file in files if repository in file.read_text("utf-8"))

    def tried(self, row: dict[str, Any]) -> dict[str, Any]:
        """The line of trial_runs.jsonl for a line of truth.jsonl."""
        name = f"{row['library']}@{row['version']}#{row['model']}"
        module = self.module_of(f"{row['library']}@{row['version']}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "target.py")
            text = TARGET.format(site=str(self.site), targets=str(self.real_repos), module=module, name=name)
            file.write_text(text, "utf-8")
            others = _has_others(self, file)
            began = time.monotonic()
            report = self.trial(file, others=others)
            return {"name": name, "wall": round(time.monotonic() - began, 1), **judged(row, report)}

    def trial(self, file: Path, *, others: bool) -> dict[str, Any]:
        parts = {"--model": "get_model", "--args": "get_args", "--kwargs": "get_kwargs"}
        parts |= {"--other-args": "get_other"} if others else {}
        given = [word for key, value in parts.items() for word in (key, f"{file}:{value}")]
        command = [sys.executable, "-P", "-m", "exportlint", "trial", "--lower", "none", "--mode", "both"]
        command += ["--python", str(self.python), "--output-format", "json", *given]
        # Some repositories install what they miss when they are imported.
        environment = {**os.environ, "PIP_NO_INDEX": "1"}
        done = subprocess.run(command, cwd=self.site, capture_output=True, text=True, check=False, env=environment)
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            return {"broken": done.stderr[-400:]}
        return found


def _has_others(bench: Bench, file: Path) -> bool:
    code = f"import sys; sys.path.insert(0, {str(file.parent)!r}); import target; sys.exit(target.OTHER is None)"
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    done = subprocess.run([bench.python, "-c", code], cwd=bench.site, capture_output=True, check=False, env=environment)
    return done.returncode == 0


def judged(row: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """What the trial said of a model beside what torch did with it."""
    if "broken" in report or not report.get("targets"):
        return {"broken": report.get("broken", "no target")}
    stages = {stage["name"]: stage for stage in report["targets"][0]["stages"]}
    modes = {mode: _mode(mode, row, report, stages) for mode in MODES if row[mode]}
    fine = all(row[mode] and row[mode]["outcome"] == "exports" for mode in MODES)
    loud = [one for one in report["findings"] if one["severity"] in ("error", "warning")]
    return {
        "modes": modes,
        "invented": [[one["path"], one["line"], one["rule"], one["message"][:160]] for one in loud] if fine else [],
        "seconds": {name: stage["seconds"] for name, stage in stages.items()},
        "findings": len(report["findings"]),
    }


def _mode(mode: str, row: dict[str, Any], report: dict[str, Any], stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    status = stages[f"export-{mode}"]["status"]
    said = _outcome(mode, status, report)
    wanted = row[mode]["outcome"]
    first = next(
        (one for one in report["findings"] if one["effect"].get(mode) == "refused" and one["stage"] in EXPORTS), None
    )
    place = [first["path"], first["line"]] if first else None
    truth = [row[mode].get("path"), row[mode].get("line")] if wanted == "refused" else None
    advice = {"advice": first["fix"]["description"], "tried": first["fix"]["tried"]} if first and first["fix"] else {}
    return {"said": said, "measured": wanted, "place": place, "torch's": truth, **advice}


def _outcome(mode: str, status: str, report: dict[str, Any]) -> str:
    """A program that only soundness found to differ does so in the mode of the finding."""
    shown = [one for one in report["findings"] if one["evidence"] in ("confirmed", "discovered")]
    differ = [one for one in shown if one["effect"].get(mode) == "differs" and not _about_the_model(one)]
    return "differs" if status == "passed" and differ else OUTCOME.get(status, status)


def _about_the_model(finding: dict[str, Any]) -> bool:
    """Is the program right, and the model what the export broke, which the measurement of torch did not look at?"""
    return "the export changed the model itself" in finding["message"] or "the export left a" in finding["message"]


@click.command()
@click.argument("real_repos", type=click.Path(path_type=Path, exists=True))
@click.argument("site", type=click.Path(path_type=Path, exists=True))
@click.option("--python", type=click.Path(path_type=Path), default=Path(sys.executable))
@click.option("--only", multiple=True)
@click.option("--jobs", default=len(os.sched_getaffinity(0)))
@click.option("--out", type=click.Path(path_type=Path), default=HERE / "trial_runs.jsonl")
def main(real_repos: Path, site: Path, python: Path, only: tuple[str, ...], jobs: int, out: Path) -> None:
    bench = Bench(real_repos.absolute(), site.absolute(), python.absolute())
    kept = {one["name"]: one for one in map(json.loads, out.read_text("utf-8").splitlines())} if out.exists() else {}
    rows = [row for row in bench.rows() if not only or any(text in json.dumps(row) for text in only)]
    with ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(bench.tried, rows):
            kept[one["name"]] = one
            said = {mode: m["said"] for mode, m in one.get("modes", {}).items()}
            print(one["name"], one["wall"], said, flush=True)  # noqa: T201 - the progress of a script
            out.write_text("".join(json.dumps(line) + "\n" for line in kept.values()), "utf-8")


if __name__ == "__main__":
    main()

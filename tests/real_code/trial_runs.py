"""Try the measured models of public repositories, and compare what the trial says with what torch did.

    python tests/real_code/trial_runs.py REAL_REPOS SITE [--python FILE] [--only TEXT]… [--times]

REAL_REPOS holds `truth.jsonl` and the `targets_*.py` that build the models, SITE the repositories at their commits.
Writes trial_runs.jsonl, a line a model, and TRIALS.md, both beside this file. With `--only`, the other lines stay.

`advice_edits.json` holds, by model, the edits that the trial's advice asks for, made by hand: each a file, the old text
and the new. The model is tried once more with them; advice that the trial verified by itself needs none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from trial_page import write_page

HERE = Path(__file__).resolve().parent
EDITS = HERE / "advice_edits.json"
MODES = ("non-strict", "strict")
EXPORTS = tuple(f"export-{mode}" for mode in MODES)
OUTCOME = {"passed": "exports"}
ABOUT_THE_MODEL = ("the export changed the model itself", "the export left a", "breaks the model itself")
# Some repositories install what they miss when they are imported.
ALONE = {**os.environ, "PIP_NO_INDEX": "1"}
TARGET = """\
import contextlib, copy, os, random, sys
os.environ["REAL_REPOS"] = {site!r}
sys.path[:0] = [{targets!r}, os.path.dirname({targets!r})]
import packaging.version
import torch
with contextlib.suppress(ImportError):
    import torchvision_cpu  # operators that torchvision misses beside a torch without CUDA
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

# The same two exports without exportlint, beside which its times stand.
RAW = """\
import json, sys, time
began = time.monotonic()
import torch
marks = []
sys.path.insert(0, {folder!r})
import target
target.get_model()
marks.append(time.monotonic() - began)
for strict in {modes}:
    model, args, kwargs = target.get_model(), target.get_args(), target.get_kwargs()
    began = time.monotonic()
    try:
        torch.export.export(model, args, kwargs or None, strict=strict)
    except Exception:
        pass
    marks.append(time.monotonic() - began)
print("\\n" + json.dumps([[round(mark, 2) for mark in marks], target.OTHER is not None]))
"""


@dataclass(frozen=True)
class Bench:
    """Where everything is: the measured models, the repositories, the interpreter that has what these need.

    `times`: measure how long the exports take without exportlint, too.
    """

    real_repos: Path
    site: Path
    python: Path
    times: bool

    def rows(self) -> list[dict[str, Any]]:
        lines = (self.real_repos / "truth.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def module_of(self, repository: str) -> str:
        """The targets file that declares the models of a repository, which is named as OWNER/NAME@COMMIT."""
        files = sorted(self.real_repos.glob("targets_*.py"))
        return next(file.stem for file in files if repository in file.read_text("utf-8"))

    def tried(self, row: dict[str, Any], edits: list[list[str]] | None = None) -> dict[str, Any]:
        """The line of trial_runs.jsonl for a line of truth.jsonl. `edits`: with these made in the repository first."""
        name = f"{row['library']}@{row['version']}#{row['model']}"
        module = self.module_of(f"{row['library']}@{row['version']}")
        with tempfile.TemporaryDirectory() as folder:
            site = edited(self.site, Path(folder), edits) if edits else self.site
            file = Path(folder, "target.py")
            text = TARGET.format(site=str(site), targets=str(self.real_repos), module=module, name=name)
            file.write_text(text, "utf-8")
            raw, others = self.raw(Path(folder))
            began = time.monotonic()
            first, report = self.trial(file, others=others, quick=bool(edits))
            wall = {"wall": round(time.monotonic() - began, 1), "first": first}
            return {"name": name, **wall, "raw": raw, **judged(row, report)}

    def trial(self, file: Path, *, others: bool, quick: bool) -> tuple[float | None, dict[str, Any]]:
        """After how many seconds both exports had ended, and the report."""
        parts = {"--model": "get_model", "--args": "get_args", "--kwargs": "get_kwargs"}
        parts |= {"--other-args": "get_other"} if others else {}
        given = [word for key, value in parts.items() for word in (key, f"{file}:{value}")]
        command = [sys.executable, "-P", "-m", "exportlint", "trial", "--lower", "none", "--mode", "both"]
        command += ["--python", str(self.python), "--output-format", "json", *(["--quick"] if quick else []), *given]
        began, ended, told = time.monotonic(), None, ""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            with subprocess.Popen(
                command, cwd=self.site, stdout=output, stderr=subprocess.PIPE, text=True, env=ALONE
            ) as run:
                for line in run.stderr or ():
                    told = line
                    if ": export-" in line:
                        ended = round(time.monotonic() - began, 1)
            output.seek(0)
            text = output.read()
        try:
            return ended, json.loads(text)
        except ValueError:
            return ended, {"broken": told[-400:]}

    def raw(self, folder: Path) -> tuple[list[float], bool]:
        """Without exportlint: seconds until torch and the target are imported and the model is made, and of each
        export by itself; and whether the target names other inputs beside its sample."""
        code = RAW.format(folder=str(folder), modes=(False, True) if self.times else ())
        command = [self.python, "-c", code]
        done = subprocess.run(command, cwd=self.site, capture_output=True, text=True, check=False, env=ALONE)
        last = done.stdout.splitlines()[-1:]
        seconds, others = json.loads(last[0]) if last and last[0].startswith("[[") else ([], False)
        return seconds if self.times else [], others


def edited(site: Path, folder: Path, edits: list[list[str]]) -> Path:
    """A folder with all repositories, in which the edited one is a copy."""
    (other := folder / "site").mkdir()
    for repository in site.iterdir():
        (other / repository.name).symlink_to(repository)
    for name in {file.partition("/")[0] for file, _old, _new in edits}:
        (other / name).unlink()
        shutil.copytree(site / name, other / name, ignore=shutil.ignore_patterns(".git", "*.png", "*.jpg"))
    for file, old, new in edits:
        text = (other / file).read_text("utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{file}: {old!r} is there {text.count(old)} times")
        (other / file).write_text(text.replace(old, new), "utf-8")
    return other


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
        "invented": [_brief(one) for one in loud if not _about_the_model(one)] if fine else [],
        "model broken": [_brief(one) for one in loud if _about_the_model(one)] if fine else [],
        "seconds": {name: stage["seconds"] for name, stage in stages.items()},
        "findings": len(report["findings"]),
    }


def _brief(finding: dict[str, Any]) -> list[Any]:
    return [finding["path"], finding["line"], finding["rule"], finding["message"][:160]]


def _mode(mode: str, row: dict[str, Any], report: dict[str, Any], stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    status = stages[f"export-{mode}"]["status"]
    said = _outcome(mode, status, report)
    wanted = row[mode]["outcome"]
    refusals = [one for one in report["findings"] if one["effect"].get(mode) == "refused" and one["stage"] in EXPORTS]
    first = next((one for one in refusals if one["stage"] == f"export-{mode}"), next(iter(refusals), None))
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
    return any(words in finding["message"] for words in ABOUT_THE_MODEL)


@click.command()
@click.argument("real_repos", type=click.Path(path_type=Path, exists=True))
@click.argument("site", type=click.Path(path_type=Path, exists=True))
@click.option("--python", type=click.Path(path_type=Path), default=Path(sys.executable))
@click.option("--only", multiple=True)
@click.option("--jobs", default=len(os.sched_getaffinity(0)))
@click.option("--times", is_flag=True, help="Also export without exportlint, beside which the times stand.")
@click.option("--out", type=click.Path(path_type=Path), default=HERE / "trial_runs.jsonl")
def main(
    real_repos: Path, site: Path, python: Path, only: tuple[str, ...], jobs: int, out: Path, *, times: bool
) -> None:
    bench = Bench(real_repos.absolute(), site.absolute(), python.absolute(), times)
    edits = json.loads(EDITS.read_text("utf-8"))
    kept = {one["name"]: one for one in map(json.loads, out.read_text("utf-8").splitlines())} if out.exists() else {}
    rows = [row for row in bench.rows() if not only or any(text in json.dumps(row) for text in only)]

    def measured(row: dict[str, Any]) -> dict[str, Any]:
        one = bench.tried(row)
        applied = edits.get(one["name"])
        return {**one, "edited": bench.tried(row, applied)["modes"]} if applied else one

    with ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(measured, rows):
            kept[one["name"]] = one
            said = {mode: m["said"] for mode, m in one.get("modes", {}).items()}
            print(one["name"], one["wall"], said, flush=True)  # noqa: T201 - the progress of a script
            out.write_text("".join(json.dumps(line) + "\n" for line in kept.values()), "utf-8")
    if out.parent == HERE:
        write_page()


if __name__ == "__main__":
    main()

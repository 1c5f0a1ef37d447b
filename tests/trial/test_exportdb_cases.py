"""torch's own ExportDB files run unchanged, and the trial's verdict is torch's, case by case."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from exportlint.files import SourceFile
from exportlint.finding import Severity
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, check
from exportlint.trial.discovery import discover
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

pytestmark = pytest.mark.slow

EXAMPLES = Path(find_spec("torch").origin).parent / "_export" / "db" / "examples"

# Independent of exportlint: one interpreter asks torch about every case it lists, in a fork for each.
ORACLE = """
import json, os, sys, warnings
import torch
from torch._export.db.examples import all_examples
warnings.simplefilter("ignore")
torch.set_num_threads(1)
for strict in (False, True):  # so that the forks need not import what an export imports
    torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),), strict=strict)
for name, case in sorted(all_examples().items()):
    for strict in (False, True):
        sys.stdout.flush()
        if os.fork():
            os.wait()
            continue
        try:
            inputs = case.example_args, case.example_kwargs
            torch.export.export(case.model, *inputs, dynamic_shapes=case.dynamic_shapes, strict=strict)
            reported = "exported"
        except BaseException as exc:
            reported = type(exc).__name__
        print("\\n@" + json.dumps([name, strict, reported]), flush=True)
        os._exit(0)
"""


@pytest.fixture(scope="module")
def reported_by_torch():
    run = subprocess.run([sys.executable, "-c", ORACLE], capture_output=True, text=True, check=True)
    rows = [json.loads(line[1:]) for line in run.stdout.splitlines() if line.startswith("@")]
    return {(name, "strict" if strict else "non-strict"): reported for name, strict, reported in rows}


@pytest.fixture(scope="module")
def reports():
    found = run_trials(discover([EXAMPLES]), TrialOptions(timeout=60, jobs=2, quick=True))
    return {Path(report.name).stem: report for report in found}


def test_every_case_is_found_and_loads(reports, reported_by_torch):
    assert {name for name, _ in reported_by_torch} == set(reports)
    assert {name: report.broken for name, report in reports.items() if report.broken} == {}


def test_each_export_says_what_torch_says(reports, reported_by_torch):
    ours = {}
    for name, mode in reported_by_torch:
        stage = reports[name].stage(f"export-{mode}")
        raised = next((seen.error_class for seen in stage.observations if seen.kind == "exception"), None)
        ours[name, mode] = raised.rpartition(".")[2] if stage.status == "refused" else "exported"
    assert ours == reported_by_torch


def test_the_static_pass_reports_no_error_on_what_torch_exports(reported_by_torch):
    rules = tuple(all_rules().values())
    for mode in ("non-strict", "strict"):
        fine = [
            name for (name, tried), reported in reported_by_torch.items() if tried == mode and reported == "exported"
        ]
        files = [SourceFile(EXAMPLES / f"{name}.py", name) for name in sorted(fine)]
        report = check(files, rules, StaticOptions(modes=(mode,)))
        assert [(f.path, f.line, f.rule) for f in report.findings if f.severity is Severity.ERROR] == []
        assert report.files == len(fine) > 20

"""What a report says to do next, and that the command names the target as the shell needs it."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from exportlint.finding import Edit, Evidence, Finding, Fix, Severity
from exportlint.output.report import Report
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.workflow.trials import next_step

NET = Target("net.py", TargetKind.MODULE, "net.py")
PASSED = TargetReport("net.py", "net.py", 1, (StageResult("export-non-strict", "passed", 1.0),), {}, target=NET)
REFUSED = Finding(
    "a-rule", "net.py", 3, 1, 3, 5, Severity.ERROR, "no", Evidence.CONFIRMED, {}, "net.py", "export-non-strict"
)


def command(*findings: Finding, target: TargetReport = PASSED) -> str | None:
    step = next_step(Report("2.13.0", "non-strict", 1, findings, targets=(target,)))
    return step and step.command


def test_the_most_decisive_failure_comes_first() -> None:
    later = replace(REFUSED, rule="other-rule", severity=Severity.WARNING)
    assert command(later, REFUSED) == "exportlint explain a-rule"


def test_what_has_a_rewrite_is_to_be_mended() -> None:
    mendable = replace(REFUSED, fix=Fix("write it so", edits=(Edit("net.py", (3, 1), (3, 5), "mended"),)))
    assert command(mendable) == "exportlint fix net.py"
    assert command(replace(mendable, fix=Fix("write it so"))) == "exportlint explain a-rule"
    assert command(mendable, target=replace(PASSED, target=None)) == "exportlint explain a-rule", "nobody can name it"


def test_a_failure_that_no_rule_knows_is_taken_out_into_a_script() -> None:
    failed = replace(PASSED, stages=(StageResult("export-non-strict", "refused", 1.0),))
    unknown = replace(REFUSED, rule="trial-export-non-strict")
    assert command(unknown, target=failed) == "exportlint trial --save-repro repro net.py"


@pytest.mark.parametrize("status", ["differs", "passed"])
def test_no_script_is_promised_of_what_only_a_trial_can_show(status: str) -> None:
    swapped = replace(PASSED, stages=(*PASSED.stages, StageResult("swap-decomposition", status, 1.0)))
    assert (
        command(replace(REFUSED, rule="trial-swap-decomposition", stage="swap-decomposition"), target=swapped) is None
    )


def test_a_lowering_that_fails_is_asked_for_again() -> None:
    lowered = replace(PASSED, stages=(*PASSED.stages, StageResult("lower-executorch", "refused", 1.0)))
    failed = replace(REFUSED, rule="trial-lower-executorch", stage="lower-executorch")
    assert command(failed, target=lowered) == "exportlint trial --lower executorch --save-repro repro net.py"


def test_what_did_not_load_has_said_what_to_do() -> None:
    assert command(replace(REFUSED, rule="trial-load", stage="load")) == command()


def test_what_exports_is_compiled_next_and_then_its_sizes_are_freed() -> None:
    assert str(command()).startswith("exportlint trial --lower ")
    assert command(replace(REFUSED, severity=Severity.NOTE)) == command()
    lowered = replace(PASSED, stages=(*PASSED.stages, StageResult("lower-somewhere", "passed", 1.0)))
    assert command(target=lowered) == "exportlint trial --dynamic auto net.py"
    assert command(target=replace(lowered, dynamic_shapes="{'x': {0: Dim('batch')}}")) is None


def test_no_target_no_advice() -> None:
    assert next_step(Report("2.13.0", "non-strict", 1, (replace(REFUSED, target=None),))) is None


def test_arguments_survive_a_shell() -> None:
    tried = Target("t", TargetKind.CALLABLES, "my models/net.py:Net", args="net.py:inputs", other_args="net.py:other")
    words = ["--model", "my models/net.py:Net", "--args", "net.py:inputs", "--other-args", "net.py:other"]
    assert shlex.split(tried.command_line) == words
    script = Target("t", TargetKind.SCRIPT, "run it.py", arguments=("--size", "a b"))
    assert shlex.split(script.command_line) == ["run it.py", "--", "--size", "a b"]

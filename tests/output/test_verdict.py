"""What a trial showed, in one sentence above its ladder."""

from __future__ import annotations

import pytest

from exportlint.finding import Evidence, Finding, Severity
from exportlint.output.verdict import verdict
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport

RAN = (StageResult("load", "passed"), StageResult("eager", "passed"))
BOTH = (StageResult("export-non-strict", "passed"), StageResult("export-strict", "passed"))
COMPARED = StageResult("soundness", "passed")
OTHER_VALUES = Observation("difference", details={"check": "output", "mode": "strict"})


def refused(line: int, **effect: str) -> Finding:
    modes = {mode.replace("_", "-"): outcome for mode, outcome in effect.items()}
    evidence = Evidence.CONFIRMED
    return Finding("a-rule", "net.py", line, 1, line, 9, Severity.ERROR, "no", evidence, effect=modes, target="net.py")


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        pytest.param((*RAN, *BOTH, COMPARED), "exports and agrees with eager in either mode", id="all is well"),
        pytest.param((*RAN, *BOTH), "exports in either mode", id="nothing was compared"),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "differs", observations=(OTHER_VALUES,))),
            "exports and agrees with eager in non-strict mode; exports and differs from eager in strict mode",
            id="one mode differs",
        ),
        pytest.param(
            (*RAN, BOTH[0], StageResult("export-strict", "refused"), COMPARED),
            "exports and agrees with eager in non-strict mode; is refused at 2 lines in strict mode",
            id="one mode is refused",
        ),
        pytest.param(
            (*RAN, BOTH[0], StageResult("export-strict", "crashed"), COMPARED),
            "exports and agrees with eager in non-strict mode; crashes the export in strict mode",
            id="one mode crashes",
        ),
        pytest.param(
            (*RAN, *BOTH, COMPARED, StageResult("save-load", "refused"), StageResult("lower-aotinductor", "passed")),
            "exports and agrees with eager in either mode; cannot be saved; runs in aotinductor",
            id="what comes after the export",
        ),
        pytest.param((StageResult("load", "refused", detail="no module"),), "does not load: no module", id="no target"),
        pytest.param((RAN[0], StageResult("eager", "crashed")), "does not run in eager", id="eager crashes"),
        pytest.param((StageResult("script", "passed"),), "", id="a script is no model"),
    ],
)
def test_the_verdict_of_a_target(stages: tuple[StageResult, ...], sentence: str) -> None:
    found = [refused(3, strict="refused"), refused(5, strict="refused"), refused(9, non_strict="differs")]
    assert verdict(TargetReport("net.py", "net.py", 1, stages, {}), found) == sentence

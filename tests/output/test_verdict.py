"""What a trial showed, in one sentence above its ladder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.finding import Evidence, Finding, Severity
from exportlint.output.verdict import verdict
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport

if TYPE_CHECKING:
    from pathlib import Path

RAN = (StageResult("load", "passed"), StageResult("eager", "passed"))
BOTH = (StageResult("export-non-strict", "passed"), StageResult("export-strict", "passed"))
COMPARED = StageResult("soundness", "passed")
NEW_ENTRY = Observation("difference", details={"check": "input-effect", "mode": "strict", "what": "eager-only"})
OTHER_VALUES = Observation("difference", details={"check": "output", "mode": "strict"})


UNSTEADY = Observation("note", details={"note": "eager-unstable"})
LEFT_IN_MODEL = Observation(
    "difference", details={"check": "fake-tensor-left", "where": "model", "name": "mask", "mode": "non-strict"}
)
OTHER_LENGTH = Observation(
    "difference", "Guard failed: x.size()[0] == 3", details={"check": "raises", "mode": "strict"}
)
UNDECLARED = Observation("difference", details={"check": "static-dim", "mode": "non-strict"})
WRONG_KERNEL = Observation("note", details={"note": "fake-kernel", "operator": "shop::cut", "sample": True})
OTHER_SIZES = Observation("difference", details={"check": "sizes"})


def refused(line: int, **details: str) -> Observation:
    return Observation("exception", "no", details=details).at([Frame("net.py", line, "forward", "")])


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        pytest.param(
            (*RAN, *BOTH, COMPARED), snapshot("exports and agrees with eager in either mode"), id="all is well"
        ),
        pytest.param((*RAN, *BOTH), snapshot("exports in either mode"), id="nothing was compared"),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "differs", observations=(OTHER_VALUES,))),
            snapshot("exports and agrees with eager in non-strict mode; exports and differs from eager in strict mode"),
            id="one mode differs",
        ),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "differs", observations=(NEW_ENTRY,))),
            snapshot(
                "exports and agrees with eager in non-strict mode; exports and agrees with eager in its outputs, not in "
                "what it does to its arguments in strict mode"
            ),
            id="eager adds an entry to a dict that it is given",
        ),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "differs", observations=(LEFT_IN_MODEL,))),
            snapshot(
                "exports and agrees with eager, and breaks the model itself in non-strict mode; exports and agrees with "
                "eager in strict mode"
            ),
            id="the program is right, and eager no longer works",
        ),
        pytest.param(
            (
                *RAN,
                BOTH[0],
                StageResult("export-strict", "refused", observations=(refused(3),)),
                StageResult("further", "refused", observations=(refused(3, mode="strict"), refused(5, mode="strict"))),
                COMPARED,
            ),
            snapshot("exports and agrees with eager in non-strict mode; is refused at 2 lines in strict mode"),
            id="one mode is refused",
        ),
        pytest.param(
            (
                *RAN,
                StageResult("export-strict", "refused"),
                StageResult("further", "refused", data={"stopped": True}, observations=(refused(3, mode="strict"),)),
            ),
            snapshot("is refused at 1 line or more in strict mode"),
            id="torch was stopped while it looked for more",
        ),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "passed", observations=(UNSTEADY,))),
            snapshot("exports in either mode"),
            id="eager does not repeat itself",
        ),
        pytest.param(
            (*RAN, *BOTH, COMPARED, StageResult("dynamic-shapes", "differs", observations=(OTHER_SIZES,))),
            snapshot("exports in either mode; not for all declared sizes"),
            id="other sizes differ",
        ),
        pytest.param(
            (*RAN, BOTH[0], StageResult("export-strict", "crashed"), COMPARED),
            snapshot("exports and agrees with eager in non-strict mode; crashes the export in strict mode"),
            id="one mode crashes",
        ),
        pytest.param(
            (*RAN, *BOTH, COMPARED, StageResult("save-load", "refused"), StageResult("lower-aotinductor", "passed")),
            snapshot("exports and agrees with eager in either mode; cannot be saved; runs in aotinductor"),
            id="what comes after the export",
        ),
        pytest.param(
            (StageResult("load", "passed", data={"wrapped": True}), RAN[1], *BOTH, COMPARED),
            snapshot("once wrapped in a module, exports and agrees with eager in either mode"),
            id="a method or function, which torch.export does not take",
        ),
        pytest.param(
            (
                *RAN,
                *BOTH,
                StageResult("soundness", "differs", observations=(OTHER_LENGTH,)),
                StageResult("dynamic-shapes", "differs", observations=(UNDECLARED,)),
            ),
            snapshot("exports and agrees with eager in either mode; takes no other sizes than the sample's"),
            id="the other inputs have other sizes, and nothing is declared",
        ),
        pytest.param(
            (*RAN, *BOTH, StageResult("soundness", "differs", observations=(WRONG_KERNEL,))),
            snapshot("exports and agrees with eager in either mode; the fake kernel of shop::cut is wrong"),
            id="the tracer was told something wrong",
        ),
        pytest.param(
            (
                *RAN,
                *BOTH,
                COMPARED,
                StageResult("lower-tvm", "compiled"),
                StageResult("lower-executorch", "passed"),
                StageResult("lower-openvino", "crashed"),
            ),
            snapshot(
                "exports and agrees with eager in either mode; runs in executorch; compiled for tvm, not run here; "
                "fails in openvino"
            ),
            id="what is only compiled does not run",
        ),
        pytest.param(
            (StageResult("load", "refused", detail="no module"),), snapshot("does not load: no module"), id="no target"
        ),
        pytest.param((RAN[0], StageResult("eager", "crashed")), snapshot("does not run in eager"), id="eager crashes"),
        pytest.param((StageResult("script", "passed"),), "", id="a script is no model"),
    ],
)
def test_the_verdict_of_a_target(stages: tuple[StageResult, ...], sentence: str) -> None:
    assert verdict(TargetReport("net.py", "net.py", 1, stages, {})) == sentence


IN_TRAINING = Observation("note", details={"note": "training-mode", "modules": ["drop"], "mode": "non-strict"})


def test_what_stands_below_is_part_of_the_verdict(tmp_path: Path) -> None:
    net = tmp_path / "net.py"
    net.write_text("try:\n    step()\nexcept Exception:\n    pass\nother()\n", "utf-8")
    stages = (*RAN, *BOTH, COMPARED)
    target = TargetReport("net.py", str(net), 1, stages, {str(net): frozenset({1, 2})})

    def suspected(line: int, **effect: str) -> Finding:
        return Finding(
            "a-rule",
            str(net),
            line,
            1,
            line,
            9,
            Severity.ERROR,
            "",
            effect={m.replace("_", "-"): e for m, e in effect.items()},
        )

    told = verdict(target, [suspected(2, non_strict="differs", strict="exports")])
    assert told.startswith(
        "exports and agrees with eager as far as it was tried in non-strict mode; exports and agrees"
    )
    assert told.endswith(f"{net}:2")
    # Nothing was raised in eager, so the handler never ran; tracing may raise what it catches.
    assert f"{net}:3" in verdict(target, [suspected(3, strict="differs")])
    for elsewhere in (suspected(5, strict="differs"), suspected(2, strict="refused")):
        assert verdict(target, [elsewhere]) == "exports and agrees with eager in either mode"


def test_a_model_in_training_is_not_told_to_agree_where_that_is_wrong() -> None:
    stages = (*RAN, *BOTH, StageResult("soundness", "passed", observations=(IN_TRAINING,)))
    target = TargetReport("net.py", "net.py", 1, stages, {})
    wrong = Finding(
        "a-rule", "net.py", 1, 1, 1, 2, Severity.ERROR, "", Evidence.CONFIRMED, target="net.py", stage="soundness"
    )
    assert verdict(target, [wrong]) == "exports with training switched on in either mode"
    assert verdict(target, [replace(wrong, severity=Severity.NOTE)]) == "exports and agrees with eager in either mode"

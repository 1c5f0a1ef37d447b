"""What a trial showed, in one sentence above its ladder."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from exportlint.output.verdict import verdict
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport

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

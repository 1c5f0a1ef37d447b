"""Which stages run after what happened so far, and what the others say; no process is started."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from inline_snapshot import snapshot

from exportlint.trial.ladder import LadderRun, Stop
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.result import Event, KeptModel, StageResult, TargetReport
from exportlint.trial.protocol.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exportlint.trial.protocol.stages import Stage

NET = Target("net.py", TargetKind.MODULE, "net.py", path="net.py", line=3)
PASSED = StageResult("", "passed")
REFUSED = StageResult("", "refused", observations=(Observation("exception", "no"),))
DIFFERS = StageResult("", "differs", data={"exported": True}, detail="values differ")


@dataclass
class Recorded:
    """Answers each stage with what the test gives for its name, else with a pass; and keeps what it was asked."""

    answers: dict[str, StageResult] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)

    def load(self) -> StageResult:
        return self._answer("load")

    def fresh(self, stage: Stage, **options: Any) -> StageResult:
        return self._answer(stage.name, **options)

    def export(self, stage: Stage) -> StageResult:
        return self._answer(stage.name, StageResult("", "passed", data={"exported": True}))

    def following(self, stage: Stage, mode: str, **options: Any) -> StageResult:
        asked = f"soundness {mode}" if stage.name == "soundness" else stage.name
        return self._answer(asked, mode=mode, **options)

    def elsewhere(self, stage: Stage, files: Sequence[Path], **options: Any) -> StageResult | None:
        return self._answer(stage.name, **options) if files else None

    def kept_model(self, folder: Path) -> KeptModel:
        return KeptModel(folder / "kept.pt")

    def _answer(self, name: str, usual: StageResult = PASSED, **options: Any) -> StageResult:
        self.asked[name] = options
        answer = self.answers.get(name, usual)
        return StageResult(name, answer.status, 0.0, answer.detail, answer.observations, answer.data)


def ladder_run(
    answers: dict[str, StageResult], options: TrialOptions | None = None, target: Target = NET, **lowerings: str
) -> tuple[TargetReport, dict[str, dict[str, Any]]]:
    runner = Recorded(answers)
    report = LadderRun(runner, target, options or TrialOptions(), lowerings).report()
    return report, runner.asked


def skipped(report: TargetReport) -> dict[str, str | None]:
    return {stage.name: stage.detail for stage in report.stages if stage.status == "skipped"}


DEFAULT = "nothing is declared dynamic; `--dynamic auto` proposes what could be"
UNCOMPARED = "eager raised: nothing to compare with"
EXPORTS = ("export-non-strict", "export-strict")
MORE_REFUSALS = ("draft", "further", "submodules", "remedies")
WITH_PROGRAM = ("dynamic-shapes", "decompose", "save-load")


def because(why: str, *stages: str) -> dict[str, str]:
    return dict.fromkeys(stages, why)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        pytest.param(
            {}, because("nothing failed", *MORE_REFUSALS) | because(DEFAULT, "dynamic-shapes"), id="everything passes"
        ),
        pytest.param(
            {"load": REFUSED},
            because(
                "the target did not load",
                *("eager", "explain", *EXPORTS, *MORE_REFUSALS, "soundness", *WITH_PROGRAM),
            ),
            id="the target does not load",
        ),
        pytest.param(
            {"eager": StageResult("", "crashed")},
            because("eager crashed", "explain", *EXPORTS, *MORE_REFUSALS, "soundness", *WITH_PROGRAM),
            id="eager ends its process, and tracing would run the same code",
        ),
        pytest.param(
            {"eager": REFUSED, "export-non-strict": REFUSED, "export-strict": REFUSED},
            because("eager raised", "explain") | because(UNCOMPARED, *MORE_REFUSALS, "soundness", *WITH_PROGRAM),
            id="eager raises, and the exports are tried all the same",
        ),
        pytest.param(
            {"export-non-strict": REFUSED, "export-strict": REFUSED},
            because("no export passed", *WITH_PROGRAM),
            id="both modes refuse: what they leave is compared",
        ),
        pytest.param(
            {"export-non-strict": DIFFERS, "export-strict": DIFFERS},
            because("nothing was refused", "further", "submodules", "remedies")
            | because("no export passed", *WITH_PROGRAM),
            id="both programs compute something else",
        ),
        pytest.param(
            {"export-strict": REFUSED},
            because("draft_export is non-strict, and that passed", "draft") | because(DEFAULT, "dynamic-shapes"),
            id="one mode refuses",
        ),
    ],
)
def test_what_cannot_say_anything_new_is_skipped_with_the_reason(
    answers: dict[str, StageResult], says: dict[str, str]
) -> None:
    report, asked = ladder_run(answers)
    assert skipped(report) == says
    assert not asked.keys() & says.keys(), "what is skipped does not run"


def test_each_stage_is_asked_about_the_modes_that_concern_it() -> None:
    _, asked = ladder_run({"export-non-strict": REFUSED, "export-strict": DIFFERS})
    assert asked["further"] == {"modes": ["non-strict"], "cpu_seconds": 8}
    assert asked["second-export"] == {"mode": "strict"}
    assert asked["soundness strict"] == {"mode": "strict", "twice": True}
    assert asked["soundness"] == {"tolerant": True}
    _, asked = ladder_run({"export-non-strict": DIFFERS})
    assert asked["second-export"] == {"mode": "non-strict"}
    assert asked["soundness non-strict"] == {"mode": "non-strict", "twice": True}
    assert asked["soundness strict"] == {"mode": "strict", "twice": False}
    assert "soundness" not in asked
    assert asked["decompose"] == {"mode": "strict"}, "what follows goes on from the export that passed"


@pytest.mark.parametrize(
    ("load", "dynamic", "asked"),
    [
        (
            {"declared_shapes": "{0: Dim.AUTO}"},
            None,
            {"mode": "non-strict", "auto": False, "refused": False, "memory_mb": 16000},
        ),
        ({"other_inputs": True}, None, {"mode": "non-strict", "auto": False, "refused": False, "memory_mb": 16000}),
        ({}, "auto", {"mode": "non-strict", "auto": True, "refused": False, "memory_mb": 16000}),
        ({}, None, None),
    ],
)
def test_sizes_are_tried_where_they_are_declared_or_asked_for(
    load: dict[str, Any], dynamic: str | None, asked: dict[str, Any] | None
) -> None:
    _, what = ladder_run({"load": StageResult("", "passed", data=load)}, TrialOptions(dynamic=dynamic))
    assert what.get("dynamic-shapes") == asked


def test_a_refused_declaration_is_looked_into_without_a_program() -> None:
    violated = StageResult("", "refused", observations=(Observation("exception", "Constraints violated (batch)"),))
    load = StageResult("", "passed", data={"declared_shapes": "{}"})
    _, asked = ladder_run({"load": load, "export-non-strict": violated, "export-strict": violated})
    assert asked["dynamic-shapes"] == {"mode": "non-strict", "auto": False, "refused": True, "memory_mb": 16000}


def test_submodules_are_searched_only_where_torch_names_no_line() -> None:
    placed = Observation("exception", "no").at([Frame("/net.py", 3, "forward", "if x:")])
    report, asked = ladder_run({"export-strict": StageResult("", "refused", observations=(placed,))})
    assert skipped(report)["submodules"] == snapshot("torch names the line of each refusal")
    assert "submodules" not in asked
    _, asked = ladder_run({"export-strict": REFUSED})
    assert asked["submodules"] == {"modes": ["strict"]}


def test_what_may_help_is_tried_in_each_mode_that_refuses() -> None:
    about_grad = Observation("exception", "torch.autograd.grad is not supported")
    about_values = Observation("exception", "no").at(
        [Frame("/site-packages/torch/distributions/normal.py", 50, "__init__", "")]
    )
    answers = {
        "export-non-strict": StageResult("", "refused", observations=(about_values,)),
        "export-strict": StageResult("", "refused", observations=(about_grad,)),
    }
    _, asked = ladder_run(answers)
    assert asked["remedies"] == {
        "refused": {"non-strict": ["no-validation", "no-grad", "eval"], "strict": ["no-grad", "eval"]}
    }
    _, asked = ladder_run({"export-strict": answers["export-strict"]})
    assert asked["remedies"] == {"refused": {"strict": ["no-grad"]}}, "the other mode takes the model"


def test_a_run_that_is_stopped_keeps_what_it_knows() -> None:
    stop = Stop()
    stop_at = "export-strict"

    def listen(event: Event) -> None:
        if event.stage == stop_at and event.status == "running":
            stop.by(signal.SIGINT)

    report = LadderRun(Recorded({}), NET, TrialOptions(), {}, listen, stop=stop).report()
    assert [stage.status for stage in report.stages[:3]] == ["passed", "passed", "passed"]
    assert skipped(report)["export-strict"] == snapshot("the run was stopped by Ctrl-C meanwhile")
    assert skipped(report)["soundness"] == snapshot("the run was stopped by Ctrl-C")


def test_modes_and_lowerings_are_those_that_are_asked_for() -> None:
    report, asked = ladder_run({}, TrialOptions(modes=("strict",)), executorch="a.module")
    names = [stage.name for stage in report.stages]
    assert "export-non-strict" not in names
    assert names[-1] == "lower-executorch"
    assert asked["lower-executorch"] == {"mode": "strict", "lowering": "a.module"}


@pytest.mark.parametrize(
    ("kind", "data", "answer", "kept"),
    [
        (TargetKind.OBJECTS, {}, REFUSED, True),
        (TargetKind.OBJECTS, {}, StageResult("", "passed"), False),
        (TargetKind.ZOO, {"code": ["import timm", "model", "args", "kwargs"]}, REFUSED, False),
        (TargetKind.MODULE, {}, REFUSED, False),
    ],
)
def test_a_model_that_no_code_names_is_kept_where_something_failed(
    tmp_path: Path, kind: TargetKind, data: dict[str, Any], answer: StageResult, *, kept: bool
) -> None:
    answers = {"load": StageResult("", "passed", data=data), "export-non-strict": answer}
    report, _ = ladder_run(answers, TrialOptions(kept_models=tmp_path), Target("t", kind, "t"))
    assert (report.kept_model is not None) is kept


def test_every_stage_begins_and_ends_with_an_event() -> None:
    events: list[tuple[str, str]] = []
    answers = {"load": REFUSED}
    LadderRun(
        Recorded(answers), NET, TrialOptions(), {}, lambda event: events.append((event.stage, event.status))
    ).report()
    assert events[:3] == [("load", "running"), ("load", "refused"), ("eager", "skipped")]


def test_a_quick_run_ends_with_the_exports() -> None:
    report, asked = ladder_run({}, TrialOptions(quick=True))
    assert [stage.name for stage in report.stages] == ["load", "eager", *EXPORTS]
    assert list(asked) == ["load", "eager", *EXPORTS]

"""What torch.compile does with real models: breaks, recompilations, other results; beside what Dynamo itself says."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch
from sources import ROOT
from trials import found_in, tried

from exportlint.finding import Severity
from exportlint.output.verdict import verdict
from exportlint.trial.findings.compilation import compilation_of
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.purposes import COMPILE

if TYPE_CHECKING:
    from exportlint.trial.protocol.compilation import CompilationReport
    from exportlint.trial.protocol.result import TargetReport

pytestmark = pytest.mark.slow

MODELS = ROOT / "tests/trial/models/compiled.py"
OPTIONS = TrialOptions(purpose=COMPILE, timeout=120, keep=True, backend="eager")


@cache
def reports() -> dict[str, TargetReport]:
    """Each with what torch.compile does."""
    found = tried(MODELS, OPTIONS)
    return {name: replace(one, compilation=compilation_of(one, ROOT)) for name, one in found.items()}


def compilation(name: str) -> CompilationReport:
    return reports()[name].compilation


def marks(name: str) -> list[str]:
    """The comments of the lines at which the graph breaks, in the order in which they were met."""
    lines = (linecache.getline(str(MODELS), one.line or 0) for one in compilation(name).graph_breaks)
    return [line.partition("  # ")[2].strip() for line in lines]


def test_every_break_is_told_once_at_its_line_in_order() -> None:
    assert marks("Says") == ["break: says", "break: branch"]
    says, branch = compilation("Says").graph_breaks
    assert (says.kind, says.id, says.function) == ("foreign", "GB0059", "_told")
    assert says.times > 1
    assert (branch.kind, branch.id, branch.rule, branch.times) == ("break", "GB0170", "data-dependent-branch", 1)
    assert [re.sub(r".*/", "", frame) for frame in says.frames][-1].endswith(" in _told")


def test_a_function_that_dynamo_gives_up_is_told_from_a_break() -> None:
    (skipped,) = compilation("BreaksInLoop").graph_breaks
    assert (skipped.kind, skipped.id) == ("skipped", "GB0025")
    (found,) = found_in(reports()["BreaksInLoop"], ROOT, "breaks")
    assert found.message.startswith(
        "torch.compile cannot go on after this line, and leaves the whole function to Python"
    )
    assert "Failed to handle" not in found.message


def test_a_disabled_function_is_told_from_a_break() -> None:
    assert [one.kind for one in compilation("KeptOut").graph_breaks] == ["disabled"]


def test_a_break_that_only_other_values_reach_is_found() -> None:
    assert dict.fromkeys(marks("OtherSide")) == dict.fromkeys(["break", "met on other values"])


def test_each_of_several_other_inputs_is_looked_at_for_breaks() -> None:
    assert marks("OneBreakEach") == ["break: first", "break: second", "break: third"]


@pytest.mark.parametrize("name", ["Says", "BreaksInLoop", "KeptOut", "OneGraph"])
def test_no_line_is_missing_that_explain_has(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(compile(MODELS.read_text("utf-8"), str(MODELS), "exec"), namespace)  # noqa: S102 - our own models
    cls = namespace[name]
    explained = torch._dynamo.explain(cls())(*cls.inputs())  # type: ignore[operator, attr-defined]  # of a namespace
    stacks = [
        [frame.lineno for frame in one.user_stack if frame.filename == str(MODELS)] for one in explained.break_reasons
    ]
    wanted = {lines[-1] for lines in stacks if lines}
    assert wanted <= {one.line for one in compilation(name).graph_breaks}


def test_the_graphs_between_have_operators_and_a_share_of_the_time() -> None:
    found = compilation("Says")
    assert found.order[0] == ("break", 0)  # nothing is computed before the first print
    assert [graph.operators for graph in found.graphs] == [1, 2, 1, 1]
    assert all(graph.share is not None and 0 < graph.share < 1 for graph in found.graphs)
    (whole,) = compilation("OneGraph").graphs
    assert (whole.inputs, whole.outputs) == (3, 1)


@pytest.mark.parametrize(
    ("name", "mark", "mend"),
    [
        ("CountsCalls", "again", "keep `calls` as a buffer, `self.register_buffer('calls', torch.tensor(…))`"),
        ("SizeInTable", "size", "this line makes a plain number of the size"),
        ("UnrollsSteps", "number", "give it as a tensor, or compile a function for each value that there is"),
        ("OtherWord", "word", "each value has a graph of its own"),
        ("OtherDtype", "dtype", "give all calls tensors of one kind"),
        ("CountsInObject", "object", "keep `step` as a tensor, as this trial did"),
        ("CountsInFile", "global", "keep `CALLS` as a tensor, as this trial did"),
        ("Buckets", "bucket", "this line makes a plain number of the size"),
        ("Halves", "halves", "this line makes a plain number of the size"),
        ("FreesInSteps", "freed", "give all calls tensors of one kind"),
        ("KeepsHistory", "history", "keep it as a buffer of a fixed size"),
        ("MoreLevels", "levels", "give it a fixed length, or one tensor in place of the list"),
        ("Squares", "rows", "this line makes a plain number of the size"),
        ("RoundsRate", "rate", "give it as a tensor, or compile a function for each value that there is"),
    ],
)
def test_what_compiles_again_stands_at_its_line_with_what_ends_it(name: str, mark: str, mend: str) -> None:
    (found,) = compilation(name).recompiles
    assert linecache.getline(str(MODELS), found.line or 0).strip().endswith(f"# {mark}")
    assert (found.mend or "").startswith(mend)
    assert found.mend_tried == ("as this trial did" in mend or name == "CountsCalls")
    assert found.over_limit == (name not in ("OtherWord", "OtherDtype", "Buckets", "Halves", "FreesInSteps"))
    (told,) = found_in(reports()[name], ROOT, "recompiles")
    assert told.severity is (Severity.ERROR if found.over_limit else Severity.WARNING)


def test_a_state_of_two_kinds_in_two_modes_is_no_cause() -> None:
    assert not compilation("KeepsLast").recompiles


def test_two_causes_of_which_torch_names_one_at_a_time_are_both_told_and_mended_together() -> None:
    found = compilation("CountsTwice").recompiles
    lines = [linecache.getline(str(MODELS), one.line or 0).partition("  # ")[2].strip() for one in found]
    assert lines == ["first", "second"]
    for one, name in zip(found, ("calls", "rounds"), strict=True):
        assert one.mend_tried
        assert f"keep `{name}` as a buffer" in (one.mend or "")
        assert "together with what ends the others" in (one.mend or "")


def test_a_model_that_runs_without_gradients_only_is_tried_so() -> None:
    report = reports()["OnlyWithoutGradients"]
    assert marks("OnlyWithoutGradients") == ["break"]
    eager = report.stage("eager")
    assert eager is not None
    assert "runs under `torch.no_grad()` only" in (eager.detail or "")
    assert all(result.passed for result in report.stages)


@pytest.mark.parametrize("name", ["OneGraph", "CountsCallsInBuffer", "OnlyWhereCompiled", "KeptOut", "Levels"])
def test_a_first_other_size_or_number_is_no_recompilation_to_tell_of(name: str) -> None:
    assert compilation(name).recompiles == ()


def test_a_compiled_model_that_differs_is_an_error() -> None:
    report = reports()["OnlyWhereCompiled"]
    (found,) = found_in(report, ROOT, "agreement")
    assert found.severity is Severity.ERROR
    assert found.message.startswith("the compiled model gives other values than eager: values differ by up to 1")
    assert verdict(report) == "compiles into one graph and differs from eager"


def test_operators_that_run_in_python_without_a_word_of_dynamos_are_told_at_the_function() -> None:
    (one,) = compilation("LeftWithoutReason").graph_breaks
    assert (one.kind, one.id, one.function) == ("skipped", None, "forward")
    assert one.reason == "Dynamo makes no graph of the function, and gives no reason"
    assert verdict(reports()["LeftWithoutReason"]) == "compiles into no graph, broken at 1 line and agrees with eager"
    assert compilation("HandsOn").graph_breaks == ()
    assert verdict(reports()["HandsOn"]) == "torch.compile finds nothing to compile and agrees with eager"


def test_a_difference_on_the_last_of_several_other_inputs_is_found() -> None:
    (found,) = found_in(reports()["WrongOnTheThird"], ROOT, "agreement")
    assert found.message.startswith("the compiled model gives other values than eager on other inputs than the sample")


def test_what_the_author_leaves_out_where_torch_compiles_is_no_difference() -> None:
    report = reports()["QuietWhereCompiled"]
    assert found_in(report, ROOT) == []
    assert verdict(report) == "compiles into one graph and agrees with eager"


def test_what_eager_says_otherwise_in_each_run_is_no_difference() -> None:
    """A clock that is printed: the break is told, and no other words."""
    assert found_in(reports()["SaysTheTime"], ROOT, "agreement") == []


def test_the_verdict_says_what_is_broken_and_what_compiles_again() -> None:
    assert verdict(reports()["Says"]) == "compiles into 4 graphs, broken at 2 lines and agrees with eager"
    assert verdict(reports()["CountsCalls"]) == (
        "compiles into one graph and agrees with eager; compiles again until Dynamo gives up, and runs in Python from "
        "then on"
    )


def test_the_cost_is_measured_beside_eager() -> None:
    cost = compilation("OneGraph").cost
    assert cost is not None
    assert cost["backend"] == "eager"
    assert cost["ratio"] == pytest.approx(cost["compiled_ms"] / cost["eager_ms"], abs=0.01)
    assert cost["spread"][0][0] <= cost["eager_ms"] <= cost["spread"][0][1]

"""Advice follows the line that torch refuses, and what the trial saw help comes first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnxruntime
import pytest
import torch
from inline_snapshot import snapshot

from exportlint.finding import Severity
from exportlint.trial.findings.deduplicate import with_remedy
from exportlint.trial.findings.trial_finding import TrialFinding
from exportlint.trial.findings.wording.torch_messages import Words, advised
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.trial.protocol.stages import stage_named
from exportlint.trial.protocol.torch_messages import refusal

if TYPE_CHECKING:
    from pathlib import Path

GUARD = "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1))."
OF_A_SIZE = "Could not guard on data-dependent expression u0 > 3 (unhinted: u0 > 3).  (Size-like symbols: u0)"
SOURCE = """\
assert x.sum() > 0
if (x < 0).any():
    raise ValueError
if x.sum() > 0:
    x = x * 2
n = 3 if len(kept) > 3 else 1
y = x.numpy()
y = helper(x)
"""


@pytest.mark.parametrize(
    ("line", "text", "known", "says"),
    [
        pytest.param(1, GUARD, "use where", "torch._assert_async(test)", id="an assertion"),
        pytest.param(2, GUARD, "use where", "torch._assert_async(test)", id="an if that only raises"),
        pytest.param(4, GUARD, "use where", "use where", id="an if that computes: what is known of the words"),
        pytest.param(6, OF_A_SIZE, "use where", "`x.shape[0]` for `len(x)`", id="a length"),
        pytest.param(6, GUARD, "use where", "use where", id="a value beside a length"),
        pytest.param(7, ".numpy() is not supported for tensor subclasses.", None, "torch functions", id="NumPy"),
        pytest.param(8, "nobody knows", None, "torch.library.custom_op", id="a cause that nobody knows"),
        pytest.param(None, "nobody knows", None, "the parts of the model one by one", id="not even a line"),
    ],
)
def test_the_refused_line_decides(tmp_path: Path, line: int | None, text: str, known: str | None, says: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE, "utf-8")
    seen = Observation("exception", text)
    if line:
        seen = seen.at([Frame(str(file), line, "forward", SOURCE.splitlines()[line - 1].strip())])
    suggestion = advised(Words("refused", known), seen).suggestion
    assert suggestion is not None
    assert says in suggestion


def test_distributions_check_their_arguments() -> None:
    frame = Frame("/x/site-packages/torch/distributions/normal.py", 60, "__init__", "super().__init__()")
    seen = Observation("exception", GUARD).at([frame])
    assert advised(Words("refused", "use where"), seen).suggestion == snapshot(
        "build the distribution with `validate_args=False`"
    )


REFUSED = TrialFinding(
    "refused", None, "net.py", 6, "x", Severity.ERROR, Words("no", "edit it"), "t", stage_named("export-strict")
)
SOUND = StageResult("soundness", "passed")


def report(*stages: StageResult) -> TargetReport:
    return TargetReport("t", None, None, stages, {})


def remedy(name: str, mode: str) -> StageResult:
    return StageResult(
        "remedies",
        "passed",
        observations=(Observation("note", details={"note": "remedy", "remedy": name, "mode": mode}),),
    )


@pytest.mark.parametrize(
    ("effect", "stages", "says"),
    [
        pytest.param(
            {"strict": "refused"},
            (StageResult("export-non-strict", "passed"), SOUND),
            "export with `strict=False`, the default, as this trial did",
            id="the other mode exports and agrees",
        ),
        pytest.param(
            {"strict": "refused"},
            (StageResult("export-non-strict", "differs"), SOUND),
            "",
            id="the other mode is wrong",
        ),
        pytest.param(
            {"strict": "refused"}, (StageResult("export-non-strict", "passed"),), "", id="the other was not compared"
        ),
        pytest.param(
            {"non-strict": "refused", "strict": "refused"},
            (remedy("no-grad", "strict"),),
            "export under `torch.no_grad()`, as this trial did: it then exports and agrees with eager on the sample in "
            "strict mode",
            id="something helped",
        ),
        pytest.param({"non-strict": "refused"}, (remedy("no-grad", "strict"),), "", id="it helped elsewhere"),
        pytest.param(
            {"non-strict": "differs"},
            (StageResult("export-strict", "passed"), SOUND),
            "export with `strict=True`, as this trial did: it exports and agrees with eager",
            id="only the other mode's program computes the same",
        ),
    ],
)
def test_what_was_seen_to_help_comes_first(effect: dict[str, str], stages: tuple[StageResult, ...], says: str) -> None:
    found = with_remedy(replace(REFUSED, effect=effect), report(*stages))
    fix = found.finding().fix
    assert fix is not None
    assert found.remedy.startswith(says)
    assert bool(found.remedy) == bool(says)
    assert (fix.tried == "verified") == bool(says)
    assert fix.description.endswith("edit it")


def test_only_the_refusal_that_ends_an_export_is_said_to_be_helped() -> None:
    later = replace(REFUSED, stage=stage_named("further"), effect={"strict": "refused"})
    assert with_remedy(later, report(StageResult("export-non-strict", "passed"), SOUND)) == later


class Dropped(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p = 0.2
        return x * (torch.rand_like(x) >= p) / (1 - p)


def test_a_dropout_that_is_written_out_is_drawn_anew_by_onnx_runtime(tmp_path: Path) -> None:
    """What `drawn-once` advises."""
    torch.onnx.export(Dropped().eval(), (torch.ones(8, 8),), tmp_path / "dropped.onnx", verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "dropped.onnx")
    given = {session.get_inputs()[0].name: torch.ones(8, 8).numpy()}
    first, second = (session.run(None, given)[0] for _ in range(2))
    assert set(first.flat) == {0.0, 1.25}
    assert (first != second).any()


@pytest.mark.parametrize(("backend", "differentiates"), [("aot_eager", False), ("eager", True)])
def test_a_compiled_function_is_differentiated_twice_with_the_backend_eager(
    backend: str, *, differentiates: bool
) -> None:
    """What is advised where torch says that it has no second derivative."""
    cubed = torch.compile(lambda x: (x**3).sum(), backend=backend)
    x = torch.ones(3, requires_grad=True)
    (once,) = torch.autograd.grad(cubed(x), x, create_graph=True)
    if differentiates:
        assert torch.autograd.grad(once.sum(), x)[0].tolist() == [6.0, 6.0, 6.0]
        return
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad(once.sum(), x)
    told = refusal(str(caught.value))
    assert told is not None
    assert told.kind == "double-backward"


def grown(x: torch.Tensor) -> torch.Tensor:
    state = torch.zeros_like(x[0])
    for i in range(x.size(0)):
        state = 0.9 * state + x[i]
    return state


@pytest.mark.parametrize("scripted", [False, True])
def test_a_trace_keeps_the_loop_of_a_scripted_function(*, scripted: bool) -> None:
    """What is advised for a loop that a trace goes round as often as for the sample."""
    inside = torch.jit.script(grown) if scripted else grown
    traced = torch.jit.trace(lambda x: inside(x), torch.ones(3, 2), check_trace=False)  # noqa: PLW0108 - a trace of a scripted function is that itself
    assert torch.allclose(traced(torch.ones(6, 2)), grown(torch.ones(6, 2))) is scripted


class Segments(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] > 16:
            x = x.reshape(x.shape[0], -1, 16).mean(2)
        return x.sum(1)


@pytest.mark.parametrize("scripted", [False, True])
def test_a_file_of_the_old_exporter_keeps_both_branches_of_a_scripted_model(tmp_path: Path, *, scripted: bool) -> None:
    """What is advised for a branch on a size of which a trace keeps the sample's way."""
    model, file = Segments().eval(), str(tmp_path / "segments.onnx")
    exported = torch.jit.script(model) if scripted else model
    axes = {"x": {1: "frames"}}
    torch.onnx.export(exported, (torch.ones(2, 64),), file, input_names=["x"], dynamic_axes=axes, dynamo=False)
    session, short = onnxruntime.InferenceSession(file), torch.ones(2, 8)
    if not scripted:
        with pytest.raises(Exception, match="Reshape"):
            session.run(None, {"x": short.numpy()})
        return
    assert session.run(None, {"x": short.numpy()})[0].tolist() == model(short).tolist()


class Window(torch.nn.Module):
    def forward(self, window: dict[str, torch.Tensor]) -> torch.Tensor:
        return window["past"] * 2


@pytest.mark.parametrize("as_tuple", [False, True])
def test_a_dict_that_forward_takes_is_given_to_onnx_in_a_tuple_with_no_names(tmp_path: Path, *, as_tuple: bool) -> None:
    """What is advised where `args` is a dict, whose keys the exporter takes for names of arguments."""
    window = {"past": torch.ones(1, 8)}
    file = str(tmp_path / "window.onnx")
    if not as_tuple:
        with pytest.raises(KeyError):
            torch.onnx.export(Window().eval(), window, file)
        return
    torch.onnx.export(Window().eval(), (window, {}), file)
    session = onnxruntime.InferenceSession(file)
    (given,) = session.get_inputs()
    assert session.run(None, {given.name: window["past"].numpy()})[0].tolist() == [[2.0] * 8]

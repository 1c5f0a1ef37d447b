"""Every sentence of a trial is made once, from fields: a table of what was seen, and what is reported of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inline_snapshot import snapshot

from exportlint.finding import Severity
from exportlint.trial.findings.classify import StageContext, classify
from exportlint.trial.findings.wording.finding_messages import (
    difference_words,
    effect_in_words,
    exception_words,
    note_words,
    stage_detail,
)
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult
from exportlint.trial.protocol.stages import stage_named

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {"what": "values", "max_error": 0.25, "output": "", "input_set": 0, "call": 0}


def difference(check: str, **details: Any) -> Observation:
    return Observation("difference", details={"check": check, **details})


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (
            difference("output", **VALUES),
            snapshot("the exported program gives other values than eager: values differ by up to 0.25"),
        ),
        (
            difference("output", **{**VALUES, "input_set": 1, "output": "scores[0]"}),
            snapshot(
                "the exported program gives other values than eager on other inputs than the sample: scores[0]: values differ by up to 0.25"
            ),
        ),
        (
            difference("state", **{**VALUES, "what": "value", "ours": "2", "theirs": "1"}),
            snapshot("the second call of the exported program differs from eager's: eager 2, exported 1"),
        ),
        (
            difference("input-effect", what="eager-only", output="[0][0]['_Rij']", ours="float32[3]"),
            snapshot("only eager puts a value into its argument 0['_Rij']"),
        ),
        (
            difference("input-effect", **{**VALUES, "what": "shape", "ours": "[3]", "theirs": "[2]"}),
            snapshot("the program leaves its arguments otherwise than eager: shape: eager [3], exported [2]"),
        ),
        (
            difference("output", **{**VALUES, "what": "eager-only", "ours": "None"}),
            snapshot("the exported program gives other values than eager: only eager returns a value (None)"),
        ),
        (
            difference("stdout", ours="here\n", theirs=""),
            snapshot("eager printed 'here\\n', the exported program ''"),
        ),
        (difference("log", ours=2, theirs=0), snapshot("eager logged 2 times, the exported program 0")),
        (
            difference("files", ours=1, theirs=0, events=["open"]),
            snapshot("eager reaches outside once (open), the exported program 0 times"),
        ),
        (
            difference("baked", operator="aten.mul.Tensor", ours=1.5, theirs=2.5),
            snapshot(
                "a value of the moment of the export is fixed in the program: traced once it is 1.5, traced again 2.5 (an argument of aten.mul.Tensor)"
            ),
        ),
        (
            difference("baked", constant="seed", ours="[0.5, 2]", theirs="[0.7, 2]"),
            snapshot(
                "a value of the moment of the export is fixed in the program: traced once it is [0.5, 2], traced again [0.7, 2] (the constant 'seed')"
            ),
        ),
        (
            difference("baked", constant="seed", ours="[0, …]", theirs="[0, …]"),
            snapshot(
                "a value of the moment of the export is fixed in the program: the constant 'seed' has other values in every export"
            ),
        ),
        (
            difference("fake-tensor-left", where="model", name="cache"),
            snapshot("the export left a FakeTensor in the model's attribute 'cache': eager is broken from now on"),
        ),
        (
            difference("eager-after-export", **{**VALUES, "what": "value", "ours": "1", "theirs": "2"}),
            snapshot(
                "the export changed the model itself: eager after the export is not eager before: eager 1, then 2"
            ),
        ),
        (
            difference("output", **VALUES, divergence={"why": "operation", "name": "mul"}),
            snapshot(
                "the exported program gives other values than eager: values differ by up to 0.25; `mul` is the first operation whose result the program does not have"
            ),
        ),
        (
            difference("aliasing", output="scores", ours=2, theirs=1, mode="strict"),
            snapshot("aliasing: output scores, ours 2, theirs 1"),
        ),
        (
            difference("output", **VALUES, tolerant=True),
            snapshot(
                "the exported program gives other values than eager: values differ by up to 0.25, as a trace shows that went on after the refusals"
            ),
        ),
    ],
)
def test_a_difference_is_one_sentence(seen: Observation, message: str) -> None:
    assert difference_words(stage_named("soundness"), seen).message == message


def test_a_check_or_a_note_that_nobody_has_words_for_is_reported_by_its_fields(tmp_path: Path) -> None:
    where = StageContext("model.py", stage_named("soundness"), tmp_path)
    note = Observation("note", details={"note": "aliasing", "output": "scores"})
    found = [one for seen in (note, difference("aliasing", output="scores")) for one in classify(where, seen)]
    assert [(one.family, one.severity, one.words.message) for one in found] == [
        ("aliasing", Severity.NOTE, "aliasing: output scores"),
        ("aliasing", Severity.ERROR, "aliasing: output scores"),
    ]


def test_what_the_line_changes_is_named() -> None:
    seen = difference("state", **VALUES)
    words = difference_words(stage_named("soundness"), seen, "calls")
    assert words.message.endswith("; this line changes `calls`")
    assert "register_buffer" in str(words.suggestion)


def test_a_lowering_says_its_name_and_what_differs() -> None:
    again = {**VALUES, "step": "compare", "call": 1, "inputs": "sample again"}
    lost = {"cause": "forgets", "buffers": ["count"]}
    words = difference_words(stage_named("lower-executorch"), difference("state", **again, **lost))
    assert words.message == (
        snapshot(
            "lower-executorch, compare: the output of the second call, after an equal first one: values differ by up to 0.25; what a call writes to the buffer `count` is lost before the next one"
        )
    )
    assert words.suggestion == snapshot("give the state to the model as an input and return it")


def test_a_guard_that_a_target_dropped_is_a_note(tmp_path: Path) -> None:
    where = StageContext("model.py", stage_named("lower-aotinductor"), tmp_path)
    details = {"note": "dropped-guard", "argument": "n", "value": "2", "other": "3"}
    (found,) = classify(where, Observation("note", "Guard failed: n == 2", details=details))
    assert found.severity is Severity.NOTE
    assert found.words.message.startswith(
        "lower-aotinductor, the argument `n` is fixed at 2: the exported program refuses 3 (Guard failed"
    )
    assert found.words.suggestion == snapshot("lower one program for each value that callers give")


@pytest.mark.parametrize(
    ("stage", "seen", "known", "message", "suggestion"),
    [
        (
            "export-strict",
            Observation("exception", "the process was ended by SIGSEGV", details={"ended": "crashed"}),
            False,
            snapshot("export-strict crashed: the process was ended by SIGSEGV"),
            None,
        ),
        (
            "soundness",
            Observation("exception", "still running after 5 s", details={"ended": "timed-out"}),
            False,
            snapshot("soundness timed out: still running after 5 s"),
            None,
        ),
        (
            "eager",
            Observation("exception", "size mismatch", "builtins.RuntimeError"),
            False,
            snapshot("eager itself raises: RuntimeError: size mismatch"),
            snapshot("give example inputs that the model accepts"),
        ),
        (
            "eager",
            Observation("exception", "module 'torch.func' has no attribute 'each'", "AttributeError"),
            False,
            snapshot("eager itself raises: this torch has no `torch.func.each`"),
            snapshot("write it with what the installed torch has, or install the one that it was written for"),
        ),
        (
            "eager",
            Observation("exception", "expected a number, got tensor([[ True, False],\n        [False, True]]) here"),
            True,
            snapshot("eager itself raises: expected a number, got tensor(…) here"),
            None,
        ),
        (
            "eager",
            Observation("exception", "Expected pred to be bool or single-element tensor, but got tensor([True, True])"),
            True,
            snapshot("eager itself raises: `torch.cond` chooses by one element, and its predicate has several"),
            snapshot("give it one, as in `(x > 0).all()`; to choose for each element, use `torch.where`"),
        ),
        (
            "eager",
            Observation("exception", "size mismatch"),
            True,
            snapshot("eager itself raises: size mismatch"),
            None,
        ),
        (
            "draft",
            Observation("exception", details={"draft": "GUARD_ADDED", "subject": "Eq(s0, 3)"}),
            False,
            snapshot("the code goes on only where `Eq(s0, 3)`"),
            None,
        ),
        (
            "lower-aotinductor",
            Observation("exception", "a long story", details={"summary": "compile: no such operator"}),
            False,
            snapshot("lower-aotinductor, compile: no such operator"),
            None,
        ),
    ],
)
def test_what_was_raised_or_ended_a_stage(
    stage: str, seen: Observation, known: bool, message: str, suggestion: str | None
) -> None:
    words = exception_words(stage_named(stage), seen, known=known)
    assert (words.message, words.suggestion) == (message, suggestion)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"note": "unused-input", "input": "mask"}, snapshot("the exported program never uses its input 'mask'")),
        ({"note": "training-mode", "modules": ["norm", "drop"]}, snapshot("exported in training mode: norm, drop")),
        (
            {"note": "training-mode", "modules": list("abcdefg")},
            snapshot("exported in training mode: a, b, c, d, e and 2 more"),
        ),
        (
            {"note": "steering-input", "steers": "several", "value": "True"},
            snapshot("the argument `several` decides this branch, and its value `True` is fixed in the program"),
        ),
        (
            {"note": "non-core", "operator": "aten.linalg_svd"},
            snapshot("`aten.linalg_svd` is not in the Core ATen operator set: a backend for devices may not have it"),
        ),
    ],
)
def test_a_note_is_one_sentence(details: dict[str, Any], message: str) -> None:
    assert note_words(Observation("note", details=details)).message == message


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        ({"non-strict": "refused", "strict": "refused"}, snapshot("refused in either mode")),
        (
            {"non-strict": "refused", "strict": "exports"},
            snapshot("refused in non-strict mode, exports and agrees with eager in strict mode"),
        ),
        ({"strict": "differs"}, snapshot("differs in strict mode")),
    ],
)
def test_what_the_modes_did(effect: dict[str, str], words: str) -> None:
    assert effect_in_words(effect) == words


def result(name: str, status: str, *seen: Observation) -> StageResult:
    return StageResult(name, status, detail=None, observations=seen)


RAISED = Observation("exception", "\nno idea\nand more", "torch.Oops").at([Frame("/m/net.py", 3, "f", "")])
DIVERGING = difference("output", **VALUES, mode="strict", divergence={"why": "branch"})


@pytest.mark.parametrize(
    ("stage", "detail"),
    [
        (result("export-strict", "refused", RAISED), ("no idea", "torch.Oops")),
        (result("export-strict", "differs", RAISED, DIVERGING), (snapshot("values differ by up to 0.25"), None)),
        (
            result("soundness", "differs", DIVERGING),
            (snapshot("strict: values differ by up to 0.25; eager and the trace diverge here"), None),
        ),
        (
            result(
                "soundness",
                "differs",
                difference("baked", constant="k", ours="1", theirs="2", mode="non-strict", tolerant=True),
            ),
            (
                snapshot("without what is refused: traced once it is 1, traced again 2 (the constant 'k')"),
                None,
            ),
        ),
        (result("export-strict", "passed"), ("", None)),
    ],
)
def test_a_stage_has_one_line(stage: StageResult, detail: tuple[str, str | None]) -> None:
    assert stage_detail(stage) == detail

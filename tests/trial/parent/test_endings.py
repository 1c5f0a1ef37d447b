"""However the process of a stage ends, the stage has a status, one line, and what was seen until then."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from exportlint.trial.parent.connection import Overrun, Reply
from exportlint.trial.parent.stage_runner import died, process_missing, result_of
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import exit_in_words

STACK = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00 (most recent call first):\n"
    '  File "/m/net.py", line 7 in forward\n'
)
SEEN = {"observation": Observation("note", details={"note": "inputs-changed"}).to_dict()}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "the process ended itself with exit code 0"),
        (5, "the process ended itself with exit code 5"),
        (-11, "the process was ended by SIGSEGV"),
        (-9, "the process was ended by SIGKILL"),
        (-200, "the process was ended by signal 200"),
    ],
)
def test_an_exit_code_in_words(code: int, words: str) -> None:
    assert exit_in_words(code) == words
    assert exit_in_words(code, "the script") == words.replace("the process", "the script")


@pytest.mark.parametrize(
    ("reply", "status", "detail", "ended"),
    [
        (
            {"exit_code": -11, "stack": STACK},
            "crashed",
            snapshot("the process was ended by SIGSEGV at net.py:7"),
            "crashed",
        ),
        ({"exit_code": 0}, "crashed", snapshot("the process ended itself with exit code 0"), "crashed"),
        ({}, "crashed", "the process is gone", "crashed"),
        (
            {"overrun": Overrun("timed-out", "still running after 5 s"), "exit_code": -9, "stack": STACK},
            "timed-out",
            snapshot("still running after 5 s at net.py:7"),
            "timed-out",
        ),
        (
            {"overrun": Overrun("crashed", "more than the memory limit of 1500 MB")},
            "crashed",
            snapshot("more than the memory limit of 1500 MB"),
            "crashed",
        ),
    ],
)
def test_a_process_that_ended_without_an_answer(reply: dict[str, Any], status: str, detail: str, ended: str) -> None:
    left = Reply(messages=[SEEN, {"exported": True}], seconds=1.5, output="last words", **reply)
    result = result_of("eager", left)
    assert (result.name, result.status, result.detail, result.seconds) == ("eager", status, detail, 1.5)
    noted, end = result.observations
    assert noted.details["note"] == "inputs-changed", "what was seen until then is kept"
    assert (end.kind, end.details) == ("exception", {"ended": ended, "output": "last words"})
    assert result.data == {"exported": True}
    assert result == died(
        "eager", Reply(messages=[SEEN, {"exported": True}], seconds=1.5, output="last words", **reply)
    )


def test_an_answer_is_the_result() -> None:
    answer = {"status": "passed", "detail": "two\n words", "data": {"bytes": 3}}
    result = result_of("decompose", Reply(messages=[SEEN, answer], exit_code=0))
    assert (result.status, result.detail, result.data) == ("passed", "two words", {"bytes": 3})
    assert len(result.observations) == 1


def test_an_answer_that_is_left_to_be_worded_stays_so() -> None:
    assert result_of("soundness", Reply(messages=[{"status": "differs", "detail": None}])).detail is None


def test_a_stage_that_says_it_crashed_without_an_exception_gets_one() -> None:
    result = result_of("soundness", Reply(messages=[{"status": "crashed", "detail": "a fork ended"}], stack=STACK))
    assert result.detail == snapshot("a fork ended at net.py:7")
    assert [seen.details["ended"] for seen in result.observations] == ["crashed"]


def test_nobody_there() -> None:
    assert (process_missing("load").status, process_missing("load").detail) == (
        "crashed",
        snapshot("the target's process is gone"),
    )

"""What a function tells on its way out of a fork arrives, also when a limit stops it."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from exportlint.trial.child.server.forks import in_fork, told_in_fork

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def ends(tell: Callable[[Any], None]) -> str:
    tell("one")
    tell({"two": 2})
    return "done"


def raises(tell: Callable[[Any], None]) -> None:
    tell("one")
    raise ValueError("no")


def dies(tell: Callable[[Any], None]) -> None:
    tell("one")
    os._exit(3)


def spins(tell: Callable[[Any], None]) -> None:
    tell("one")
    while True:
        pass


def sleeps(tell: Callable[[Any], None]) -> None:
    """Longer than the limit, and not on a processor: another stage may have it meanwhile."""
    time.sleep(1.5)
    tell("one")


@pytest.mark.parametrize(
    ("function", "parts", "stopped"),
    [
        (ends, ["one", {"two": 2}], False),
        (raises, ["one"], False),
        (dies, ["one"], False),
        (spins, ["one"], True),
        (sleeps, ["one"], False),
    ],
)
def test_what_was_told_arrives(function: Any, parts: list[Any], *, stopped: bool, tmp_path: Path) -> None:
    told = told_in_fork(function, tmp_path, cpu_seconds=1)
    assert (told.parts, told.stopped) == (parts, stopped)
    assert told.result.ok == (function in (ends, sleeps))


class Session:
    """As one of a runtime whose threads a fork does not have: to end it there is to wait for ever."""

    def __init__(self, ended: Path) -> None:
        self.itself, self._ended = self, ended

    def __del__(self) -> None:
        self._ended.write_text("", "utf-8")


def test_what_the_parent_left_behind_is_not_taken_apart_in_a_fork(tmp_path: Path) -> None:
    ended = tmp_path / "ended"

    def collect() -> bool:
        gc.collect()
        return ended.exists()

    gc.disable()
    try:
        Session(ended)
        assert in_fork(collect, tmp_path).value is False
        gc.collect()
        assert ended.exists(), "the parent's own collection ends it"
    finally:
        gc.enable()

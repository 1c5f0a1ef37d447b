"""Source that several threads parse at the same time."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from exportlint.trial.protocol.syntax_tree import syntax_tree

DEEP = "\n".join(
    f"def f{n}(x):\n  if x:\n    for a in x:\n      while a:\n        try:\n          y = [[[[(({n},),)]]]]\n        except E: pass"
    for n in range(120)
)


class Circle:
    def __init__(self) -> None:
        self.self = self

    def __del__(self) -> None:
        """Python code, at which another thread may go on."""


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads change, and garbage is collected, as often as can be."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


@pytest.mark.usefixtures("restless")
def test_threads_that_parse_at_the_same_time_each_get_their_tree() -> None:
    # With ast.parse, Python 3.11.2 raises SystemError in some of these.
    wrong: list[BaseException] = []

    def parse() -> None:
        for _ in range(12):
            try:
                assert len(syntax_tree(DEEP).body) == 120
            except (SystemError, AssertionError) as error:
                wrong.append(error)
            [Circle() for _ in range(50)]

    threads = [threading.Thread(target=parse) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong

"""Show the matrix on stderr while it fills: as a table on a terminal, else a line for each stage that ends."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from exportlint.output.lowerings.matrix import Matrix, MatrixRow
from exportlint.trial.protocol.outcomes import RUNNING, SKIPPED
from exportlint.workflow.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from exportlint.trial.protocol.result import Event


@contextmanager
def live_matrix(empty: Matrix, names: Sequence[str]) -> Iterator[Callable[[Event], None]]:
    """What is yielded is told of every event. The table goes away at the end."""
    filling = _Filling(empty, names)
    if not sys.stderr.isatty():
        yield filling.say
        return
    from rich.console import Console  # noqa: PLC0415 (50 ms that other commands do not need)
    from rich.live import Live  # noqa: PLC0415
    from rich.theme import Theme  # noqa: PLC0415

    from exportlint.output.console import STYLES  # noqa: PLC0415

    console = Console(stderr=True, theme=Theme(STYLES), highlight=False)
    with Live(filling.shown(console.width), console=console, transient=True, refresh_per_second=4) as live:
        yield lambda event: filling.show(event, live)


class _Filling:
    """The statuses so far."""

    def __init__(self, empty: Matrix, names: Sequence[str]) -> None:
        self._empty = empty
        self._statuses: dict[str, dict[str, str]] = {name: {} for name in names}
        self._lock = threading.Lock()

    def say(self, event: Event) -> None:
        """A line for a stage that ended."""
        if event.status not in (RUNNING, SKIPPED) and event.stage in self._empty.stages:
            say(f"{event.target}: {event.stage} {event.status}, {event.seconds:.1f} s")

    def show(self, event: Event, live: Live) -> None:
        """Into the table."""
        with self._lock:
            self._statuses.setdefault(event.target, {})[event.stage] = event.status
            live.update(self.shown(live.console.width))

    def shown(self, width: int) -> RenderableType:
        from rich.console import Group  # noqa: PLC0415 (as above)

        from exportlint.output.lowerings.matrix_table import matrix_tables  # noqa: PLC0415 (as above)

        rows = tuple(MatrixRow(name, dict(statuses), {}) for name, statuses in self._statuses.items())
        matrix = Matrix(self._empty.torch, self._empty.stages, rows)
        return Group(*matrix_tables(matrix, width))

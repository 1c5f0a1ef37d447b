"""Whether somebody asked a run to end before it was done."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass
class Stop:
    """Set by a signal handler, and read by the ladders, which then skip what they have not begun.

    signal_number   of the first signal that came; None while nobody asked
    """

    signal_number: int | None = None

    def by(self, number: int) -> None:
        """Ask to end; the first signal counts."""
        self.signal_number = self.signal_number or number

    @property
    def reason(self) -> str | None:
        """Why stages are skipped; None while nobody asked."""
        if self.signal_number is None:
            return None
        by = "Ctrl-C" if self.signal_number == signal.SIGINT else signal.Signals(self.signal_number).name
        return f"the run was stopped by {by}"

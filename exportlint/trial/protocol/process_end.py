"""How a process ended, in words."""

from __future__ import annotations

import signal

GONE = "the process is gone"


def exit_in_words(code: int, who: str = "the process") -> str:
    """An exit code as a sentence; the code is as `os.waitstatus_to_exitcode` gives it, negative for a signal."""
    if code >= 0:
        return f"{who} ended itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{who} was ended by {name}"

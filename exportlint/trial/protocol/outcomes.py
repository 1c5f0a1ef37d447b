"""The words for what happened: modes, the statuses of stages, the outcomes of an export, how a process ended."""

from __future__ import annotations

import enum

NON_STRICT, STRICT = "non-strict", "strict"
MODES = (NON_STRICT, STRICT)

PASSED, COMPILED, REFUSED, DIFFERS, CRASHED, TIMED_OUT, SKIPPED = (
    "passed",
    "compiled",  # of a lowering whose artefact cannot run on this machine; never to be taken for a pass
    "refused",
    "differs",
    "crashed",
    "timed-out",
    "skipped",
)
RUNNING = "running"  # of a stage that has not ended; events say it, results never
FAILED = (REFUSED, DIFFERS, CRASHED, TIMED_OUT)

# The worst word wins where a stage looks at several things.
_RANK = (PASSED, COMPILED, SKIPPED, DIFFERS, REFUSED, TIMED_OUT, CRASHED)


class Outcome(str, enum.Enum):
    """What a torch version really did with a model in a mode: the words of truth files and of a finding's effect."""

    EXPORTS = "exports"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"


class Compiled(str, enum.Enum):
    """What torch.compile really did with a model: the words of truth files and of a finding's effect, the gravest
    first."""

    RAISES = "raises"
    DIFFERS = "differs"
    BREAKS = "breaks"
    RECOMPILES = "recompiles"
    ONE_GRAPH = "one graph"


# What the status of a stage that exports says of the model.
OUTCOME_OF = {
    PASSED: Outcome.EXPORTS,
    DIFFERS: Outcome.DIFFERS,
    REFUSED: Outcome.REFUSED,
    CRASHED: Outcome.CRASHED,
    TIMED_OUT: Outcome.TIMED_OUT,
}


def worst(statuses: list[str]) -> str:
    """The gravest of the statuses; passed for none."""
    return max(statuses, key=_RANK.index, default=PASSED)


GONE = "the process is gone"


def exit_in_words(code: int, who: str = "the process") -> str:
    """An exit code as a sentence; the code is as `os.waitstatus_to_exitcode` gives it, negative for a signal."""
    if code >= 0:
        return f"{who} ended itself with exit code {code}"
    import signal  # noqa: PLC0415 (once a process was ended by one)

    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{who} was ended by {name}"

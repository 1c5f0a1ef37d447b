"""What of a trial shows which harm. A suspicion is cleared only where all that shows its harm was run.

A kind is "export", "decompose" or "save" (that step would be refused), the name of a check (see
`exportlint.trial.protocol.observation`), "own-inputs", or one of `UNSEEN`, which no check shows yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


EXPORT, DECOMPOSE, SAVE, SIZES = "export", "decompose", "save", "sizes"
# What the stage of sizes shows: where other sizes ran and agreed, and where declared dims were judged.
SHOWN_BY_OTHER_SIZES = (SIZES, "static-dim")
SHOWN_BY_DECLARED = ("frozen-dim", "narrowed-dim")
# The line of the suspicion ran another number of times than with the sample, and the program agreed.
OTHER_LENGTH = "other-length"
# A script gives a program a size that it was not exported for.
OTHER_SIZE = "other-size"
# Inputs that the target names beside its sample: other numbers, words or flags, which are never made up.
OWN_INPUTS = "own-inputs"
# Checks of harm that the values of the same calls do not show; a rule names the one that shows its own.
BESIDE_VALUES = frozenset({"other-process", "gradients"})
# What shows in other surroundings than those of a trial.
UNSEEN = frozenset({"other-device", "other-environment"})


def shown_by(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What showed the harm of a measured case in one mode; nothing where torch does it right.

    >>> shown_by({"outcome": "differs", "check": "state"})
    ('state',)
    >>> shown_by({"outcome": "exports", "then": {"save": "refused"}})
    ('save',)
    """
    match record["outcome"]:
        case Outcome.EXPORTS.value:
            return tuple(record.get("then", ()))
        case Outcome.DIFFERS.value:
            return (str(record.get("check", "unknown")),)
    return (EXPORT,)

"""What a model is judged for: torch.export, torch.compile, or both."""

from __future__ import annotations

EXPORT, COMPILE, BOTH = "export", "compile", "both"
PURPOSES = (EXPORT, COMPILE, BOTH)


def serves(stage: str, asked: str) -> bool:
    """Is a stage of that purpose wanted where `asked` is what somebody judges for?

    >>> serves("compile", "export"), serves("compile", "both"), serves("both", "compile")
    (False, True, True)
    """
    return stage == asked or BOTH in (stage, asked)

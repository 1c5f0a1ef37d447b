"""Text of any length as one line."""

from __future__ import annotations

import re

_TENSOR = re.compile(r"\btensor\((?:[^()]|\([^()]*\))*\)")


def without_tensors(text: str) -> str:
    """The text without the values of tensors, which may fill many lines.

    >>> without_tensors("got tensor([[True],\\n  [False]], device=torch.device(0)) here")
    'got tensor(…) here'
    """
    return _TENSOR.sub("tensor(…)", text)


def short(text: str) -> str:
    """One line of at most 200 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004 - see above

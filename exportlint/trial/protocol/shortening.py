"""Text of any length as one line."""

from __future__ import annotations

import re


def short(text: str) -> str:
    """One line of at most 200 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004 - see above

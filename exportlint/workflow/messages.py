"""Say something to the person, on stderr, beside the report."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line to the person, beside the report."""
    print(f"exportlint: {text}", file=sys.stderr)  # noqa: T201

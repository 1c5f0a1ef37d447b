"""Print messages for the person on stderr, beside the report."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print a message for the person, beside the report."""
    print(f"exportlint: {text}", file=sys.stderr)  # noqa: T201

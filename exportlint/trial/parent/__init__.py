"""The processes of a trial from outside: requests and limits in, results out. No torch here."""

from __future__ import annotations

from exportlint.errors import UserError


class TrialUnavailable(UserError):  # noqa: N818 - names a situation
    """No trial can run here at all: torch is missing, or the interpreter does not start. The text says what to do."""

"""The error of a machine on which no trial can run."""

from __future__ import annotations

from exportlint.errors import UserError


class TrialUnavailable(UserError):  # noqa: N818 - names a situation
    """No trial can run here at all: torch is missing, or the interpreter does not start. The text says what to do."""

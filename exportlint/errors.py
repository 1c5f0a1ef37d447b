"""Errors that are sentences for the person who asked for something that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class UserError(Exception):
    """Bad input. The text is one sentence: what, where, what to do. It is printed as it stands, exit code 2.

    >>> raise UserError("nothing is called `dta`; the nearest is `data`")
    Traceback (most recent call last):
    exportlint.errors.UserError: nothing is called `dta`; the nearest is `data`
    """


def nearest(word: str, known: Iterable[str], closeness: float = 0.6) -> str:
    """The end of a sentence that names the valid word nearest to `word`; empty when none is near."""
    import difflib  # noqa: PLC0415 (only for a wrong word)

    near = difflib.get_close_matches(word, tuple(known), 1, closeness)
    return f"; the nearest is `{near[0]}`" if near else ""

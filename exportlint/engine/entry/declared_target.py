"""A model with example inputs that the project's configuration names: plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeclaredTarget:
    """Each part is FILE_OR_MODULE:NAME of something that is called without arguments; files are absolute paths."""

    model: str
    args: str
    kwargs: str | None = None

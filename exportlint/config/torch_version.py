"""Choose the measured torch version that is used for the one that was asked for."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.registry import TESTED_TORCH, measured_versions, version_key

if TYPE_CHECKING:
    from collections.abc import Sequence


def default_version() -> str | None:
    """The one for the torch that is installed beside exportlint, as a trial would have it; without one the tested."""
    try:
        return measured_version(version("torch"))[0]
    except PackageNotFoundError:
        return measured_version(TESTED_TORCH)[0]


def measured_version(asked: str) -> tuple[str | None, tuple[str, ...]]:
    """The torch version whose measurements are used, and remarks for the user about the choice."""
    measured = measured_versions()
    if not re.fullmatch(r"\d+(\.\d+)+\S*", asked):
        raise UserError(f"torch version `{asked}`: write it as in 2.13 or 2.13.0; measured are {', '.join(measured)}")
    return at_most(asked, measured)


def at_most(asked: str, measured: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    wanted = version_key(asked)
    older = [version for version in measured if version_key(version)[: len(wanted)] <= wanted]
    used = older[-1] if older else next(iter(measured), None)
    if used is None or version_key(used)[: len(wanted)] == wanted:
        return used, ()
    which = "the nearest that is not newer" if older else "the oldest that was measured"
    return used, (f"torch {asked} was not measured; the measurements of {used} are used, {which}",)

"""Ask git: its arguments in, what it prints out; or one sentence why not."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def git(
    arguments: Sequence[str],
    folder: Path,
    *,
    what: str,
    given: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What git prints when it is run in the folder, with its line ends; bytes that are no UTF-8 are escaped.

    arguments    as on its command line, never through a shell; what a user typed comes after `--end-of-options`
    what         the sentence for the user where git refuses; git's own first line is added
    given        what it reads from stdin
    environment  variables beside those of this process

    Raises UserError where git is not there, or refuses.

    >>> from pathlib import Path
    >>> git(["rev-parse", "--is-inside-work-tree"], Path(), what="there is no git repository")  # doctest: +SKIP
    'true\\n'
    """
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607 - the git that the user's shell finds
            cwd=folder,
            # It is read while the user works: no lock is taken for it.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", **(environment or {})},
            input=None if given is None else given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UserError("git is not installed, which reads patches and revisions") from error
    if done.returncode:
        said = next(iter(done.stderr.decode("utf-8", "replace").strip().splitlines()), "")
        said = said.removeprefix("error: ").removeprefix("fatal: ")
        raise UserError(f"{what}{f': {said}' if said else ''}")
    return done.stdout.decode("utf-8", "surrogateescape")


def known_commit(revision: str, folder: Path) -> str:
    """The id of the commit that a revision names. Raises UserError where there is none."""
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    return git(asked, folder, what=f"git knows no revision `{revision}`").strip()

"""What a person does with a model of the founding texts: check its file, or try it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`say("trial", source, "--dynamic", "auto")`: what the command prints of a file `net.py` with that source.

    In place of a source it takes a file, that other commands have written.
    """

    def run(command: str, source: str | Path, *options: str) -> str:
        if isinstance(source, str):
            file = tmp_path_factory.mktemp("founding") / "net.py"
            file.write_text(source, "utf-8")
        else:
            file = source
        done = exportlint(file.parent, command, file.name, *options, COLUMNS="160")
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run

"""The measured truth on disk: a file for each rule and torch version, so that measuring one rule changes no other's.

`fixtures/truth/<stem of the rule>/torch-<version>.json` holds

    torch, python, platform   what was measured, and where
    exported                  Bad or Good class -> mode -> what torch did with it
    compiled                  Bad or Good class -> what torch.compile did with it
    lowered                   Bad or Good class -> target of deployment -> what it did there
    repaired                  Bad class -> mode -> what became of it after its rewrites

Only `exportlint truth` writes it.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def folder_of(fixture: Path) -> Path:
    """Where the truth of a fixture lies: beside it, in a folder of its stem."""
    return fixture.parent / "truth" / fixture.stem


def file_of(folder: Path, torch: str) -> Path:
    return folder / f"torch-{torch}.json"


def versions(folder: Path) -> set[str]:
    """The torch versions that a rule was measured in."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 (of every rule, in every run)
    except OSError:
        return set()
    return {
        name[len("torch-") : -len(".json")] for name in names if name.startswith("torch-") and name.endswith(".json")
    }


def read(folder: Path, torch: str) -> dict[str, Any]:
    """What is stored of a rule for a torch version; empty where nothing is."""
    path = file_of(folder, torch)
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return content


@contextlib.contextmanager
def changed(folder: Path, torch: str) -> Iterator[dict[str, Any]]:
    """What is stored, to be changed in the block, and replaced as a whole after it; where the block raises, it stays.

    Whoever else changes it waits.
    """
    import fcntl  # noqa: PLC0415 - only measuring writes, and it needs fork(); reading works on every system

    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        content = {"torch": torch, **read(folder, torch)}
        yield content
        _replace(file_of(folder, torch), content)
    finally:
        os.close(lock)


def _replace(path: Path, content: dict[str, Any]) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    part.replace(path)

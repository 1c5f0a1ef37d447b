"""Store the history of some Python files of a git repository as test data, which needs neither git nor a network.

    python tests/real_histories/store.py GIT_DIR NAME [PATH ...]

Writes NAME.json.xz beside this file: a list with [commit, {path: text, or null where the commit removes it}] for each
commit that changes one of the files, the oldest first. One version of a file is much like the next one, so that all of
them together take little more than one when they are compressed.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def history(git_dir: str, paths: list[str]) -> list[tuple[str, dict[str, str | None]]]:
    """What each commit changes; branches one after the other, as if each had been made on top of what came before."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", f"--git-dir={git_dir}", *arguments], capture_output=True, check=True)
        return done.stdout.decode()

    wanted = paths or ["*.py"]
    found: list[tuple[str, dict[str, str | None]]] = []
    before: dict[str, str] = {}
    for commit in git("log", "--reverse", "--topo-order", "--no-merges", "--format=%H", "--", *wanted).split():
        lines = git("ls-tree", "-r", commit, *paths).splitlines()
        blobs = {line.split("\t")[1]: line.split()[2] for line in lines if line.endswith(".py")}
        changed: dict[str, str | None] = {path: None for path in before if path not in blobs}
        changed |= {path: git("cat-file", "blob", blob) for path, blob in blobs.items() if before.get(path) != blob}
        before = blobs
        if changed:
            found.append((commit, changed))
    return found


def stored(name: str) -> list[tuple[str, dict[str, str | None]]]:
    """A history that lies here."""
    with lzma.open(HERE / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        return [(commit, changed) for commit, changed in json.load(file)]


if __name__ == "__main__":
    _, from_where, called, *these = sys.argv
    with lzma.open(HERE / f"{called}.json.xz", "wt", encoding="utf-8", preset=9) as out:
        json.dump(history(from_where, these), out, ensure_ascii=False)

"""A seed of hashes is found that gives the sets of a file another order, and none is looked for without need."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from exportlint.trial.parent.hash_seed import VARIABLE, hash_seed, other_hash_seed, reorders_every_set

if TYPE_CHECKING:
    from pathlib import Path


def printed(source: str, seed: str) -> str:
    command = [sys.executable, "-c", f"{source}\nprint(list(names))"]
    environment = {**os.environ, VARIABLE: seed}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


# Two strings alone: every second seed orders them alike.
@pytest.mark.parametrize(
    "source", ['names = {"red", "green"}', 'names = set(["a", "b"])', 'names = frozenset(("left", "right"))']
)
def test_the_other_seed_orders_the_set_otherwise(tmp_path: Path, source: str) -> None:
    (tmp_path / "net.py").write_text(source, "utf-8")
    other = other_hash_seed([tmp_path / "net.py"], None)
    assert other is not None
    assert printed(source, other) != printed(source, hash_seed())


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        ('NAMES = {"red", "green"}', True),
        ("NAMES = set(names)", False),
        ("NAMES = {name for name in names}", False),
        ('NAMES = {"red", other}', False),
        ('NAMES = {"red"}', False),
    ],
)
def test_only_sets_of_known_strings_are_sure_to_be_reordered(tmp_path: Path, source: str, *, certain: bool) -> None:
    (tmp_path / "net.py").write_text(source, "utf-8")
    seed = other_hash_seed([tmp_path / "net.py"], None)
    assert seed is not None
    assert reorders_every_set([tmp_path / "net.py"], seed, None) is certain


@pytest.mark.parametrize("source", ['names = ["red", "green"]', "names = (", 'offset = "set"'])
def test_a_file_without_a_set_asks_for_no_other_process(tmp_path: Path, source: str) -> None:
    (tmp_path / "net.py").write_text(source, "utf-8")
    assert other_hash_seed([tmp_path / "net.py", tmp_path / "gone.py"], None) is None


def test_the_seed_of_the_environment_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    assert hash_seed() == "7"
    monkeypatch.setenv(VARIABLE, "random")
    assert hash_seed() == "0"

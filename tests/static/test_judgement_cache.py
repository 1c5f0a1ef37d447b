"""A judgement is remembered only as long as nothing that decides it has changed: files, rules, and our own code."""

from __future__ import annotations

import json
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from packages import imports, modules
from processes import exportlint
from sources import ROOT

from exportlint.static.judgement_cache import deciding_files

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x.data * 2\n"


def reached_from(start: str) -> set[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name in modules() and name not in reached:
            reached.add(name)
            todo += imports(name)
    return reached


def test_every_module_that_judging_reaches_is_part_of_the_key() -> None:
    deciding = set(deciding_files())
    left_out = {name for name in reached_from("exportlint.static.check_file") if modules()[name] not in deciding}
    assert left_out == set()
    assert modules()["exportlint.engine.interpreter.engine"] in deciding, "files of sub-folders too"
    assert ROOT / "exportlint/reference/reference.json" in deciding, "and data that decides which pages are linked"


@pytest.mark.parametrize(
    ("file", "text", "other"),
    [
        # Where a value comes from is no longer reported,
        ("engine/values/abstract_value.py", "(Step(text, line, path), *self.trail)[:4]", "()"),
        # nor what the code does.
        ("rule/base.py", "trail = _trail(because, self.code.module.path)", "trail = 'edited'"),
    ],
)
def test_an_edited_engine_serves_no_stale_judgement(tmp_path: Path, file: str, text: str, other: str) -> None:
    """A copy of exportlint, run twice with one cache, and edited in between."""
    shutil.copytree(ROOT / "exportlint", tmp_path / "site/exportlint", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "net.py").write_text(MODEL, "utf-8")
    before = messages(tmp_path)
    assert before == messages(tmp_path)
    assert len(before) == remembered(tmp_path) == 1
    edited = tmp_path / "site/exportlint" / file
    source = edited.read_text("utf-8")
    assert text in source
    edited.write_text(source.replace(text, other), "utf-8")
    assert messages(tmp_path) != before


def messages(folder: Path) -> list[str]:
    variables = {"PYTHONPATH": str(folder / "site"), "EXPORTLINT_CACHE_DIR": str(folder / "cache")}
    done = exportlint(folder, "net.py", "--output-format", "json", **variables)
    return [finding["message"] for finding in json.loads(done.stdout)["findings"]]


def remembered(folder: Path) -> int:
    with sqlite3.connect(folder / "cache/judgements.sqlite") as database:
        return int(database.execute("SELECT count(*) FROM judgements").fetchone()[0])

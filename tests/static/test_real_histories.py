"""Commits that people made: a process that lives, and one that has the cache, say after each what a fresh one says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_histories.store import stored

from exportlint.files import SourceFile
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, StaticPass, check

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.static.static_pass import StaticReport


@pytest.mark.parametrize(
    ("name", "most", "wanted"),
    [
        # Without rewrites a judgement rests on the least; with the first one it is what `exportlint check` keeps.
        ("pytorch_dnc", 45, Wanted.NONE),
        ("torchdiffeq", 60, Wanted.FIRST),
    ],
)
def test_each_commit_gives_what_a_fresh_process_gives(tmp_path: Path, name: str, most: int, wanted: Wanted) -> None:
    """And most of the files are not judged again for it."""
    rules = list(all_rules().values())
    fresh = StaticOptions(modes=("non-strict", "strict"), rewrites=wanted)
    kept = StaticOptions(modes=("non-strict", "strict"), rewrites=wanted, cache=tmp_path / "cache")
    living = StaticPass(rules, fresh)
    project = tmp_path / "project"
    judged: dict[str, int] = {"fresh": 0, "living": 0, "kept": 0}
    reports = set()

    def counted(by: str, done: int) -> None:
        judged[by] += done > 0

    for commit, changed in stored(name)[:most]:
        make(project, changed)
        files = [SourceFile(path, path.relative_to(project).as_posix()) for path in sorted(project.rglob("*.py"))]
        found = check(files, rules, fresh, lambda done, _: counted("fresh", done))
        assert repr(living.check(files, lambda done, _: counted("living", done))) == repr(found), commit
        assert repr(check(files, rules, kept, lambda done, _: counted("kept", done))) == repr(found), commit
        reports.add(without_lines(found))
    assert judged["living"] == judged["kept"] < judged["fresh"] * 0.6
    assert len(reports) > 5, "there is something to find, and it is not always the same"


def make(project: Path, changed: dict[str, str | None]) -> None:
    """Do to the files what the commit does."""
    for name, text in changed.items():
        path = project / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def without_lines(report: StaticReport) -> tuple[tuple[str, str, str], ...]:
    return tuple((one.path, one.rule, one.message) for one in report.findings)

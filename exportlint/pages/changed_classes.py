"""The classes of a rule's fixture with which one torch version does something else than another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.static.version_judge import ChangedCases
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.registry import RuleInfo
    from exportlint.static.version_judge import VersionPair
    from exportlint.version_change import Change


@dataclass(frozen=True, slots=True)
class ChangedClass:
    """`does`: what either version does with it. `path`: of the fixture, relative where it is below the working
    directory."""

    rule: str
    name: str
    caption: str
    does: str
    path: str
    line: int
    change: Change


def changed_classes(rule: RuleInfo, versions: VersionPair) -> Iterator[ChangedClass]:
    """In the order of the file; what was measured of a class that is not there any more is left out."""
    judge = ChangedCases(rule, versions)
    here = os.path.relpath(rule.fixture)
    path = rule.fixture.as_posix() if here.startswith("..") else here.replace(os.sep, "/")
    for one in read_fixture(rule.fixture).classes:
        if change := judge.change(one.name):
            caption = one.caption.partition("\n")[0].rstrip(".")
            yield ChangedClass(rule.name, one.name, caption, judge.sentence(one.name), path, one.line, change)

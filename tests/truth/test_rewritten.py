"""What is stored of a repair is found again wherever the rules are installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from exportlint.registry import TESTED_TORCH, all_rules
from exportlint.truth.rewritten import rewritten_classes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("rule", ["side-effect-in-forward", "unregistered-pytree"])
def test_a_repair_is_the_same_in_a_package_of_any_name(rule: str, tmp_path: Path) -> None:
    """The names of operators, and under which a class is registered: both are taken from where the file stands."""
    fixture = all_rules()[rule].fixture
    folder = tmp_path / "a_package_of_a_rather_long_name" / "inner"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    elsewhere = shutil.copy(fixture, folder / fixture.name)
    here = {one.cls.name: one.digest for one in rewritten_classes(fixture, TESTED_TORCH)}
    assert any(here.values())
    assert here == {one.cls.name: one.digest for one in rewritten_classes(elsewhere, TESTED_TORCH)}

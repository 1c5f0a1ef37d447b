"""The pages that are made from rules, fixtures and truth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from sources import ROOT

from exportlint.errors import UserError
from exportlint.pages.catalogue import (
    compiled,
    folders_table,
    measured,
    outcome,
    pages,
    rules_page,
    stages_table,
    with_table,
)
from exportlint.registry import TESTED_TORCH, all_rules
from exportlint.trial.protocol.outcomes import Compiled
from exportlint.trial.protocol.stages import LADDER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", [path for path, _ in pages(ROOT)], ids=lambda path: path.name)
def test_the_pages_are_fresh(path: Path) -> None:
    assert path.read_text("utf-8") == dict(pages(ROOT))[path], "run `python -m exportlint.pages.catalogue`"


def test_a_table_replaces_what_stood_between_its_markers() -> None:
    text = with_table("before\n<!-- it -->\nold\n<!-- /it -->\nafter\n", "it", "new")
    assert text == "before\n<!-- it -->\nnew\n<!-- /it -->\nafter\n"
    assert with_table(text, "it", "new") == text
    with pytest.raises(UserError, match="add them"):
        with_table("no markers", "it", "new")


def test_every_rule_has_a_row_with_what_the_torch_that_people_install_does() -> None:
    text, _, others = rules_page().partition("## Other versions")
    assert f"torch {TESTED_TORCH}, strict" in text
    assert f"torch {TESTED_TORCH}" not in others
    for name in all_rules():
        assert f"| [{name}]({name.replace('-', '_')}.py) " in text


def test_what_torch_compile_does_stands_beside_the_modes_of_export_where_it_was_measured() -> None:
    text, _, others = rules_page().partition("## Other versions")
    (heads,) = [line for line in text.splitlines() if line.startswith("| rule") and "after repair" in line]
    assert [head.strip() for head in heads.split("|")[3:6]] == [
        f"torch {TESTED_TORCH}, non-strict",
        f"torch {TESTED_TORCH}, strict",
        f"torch {TESTED_TORCH}, `torch.compile`",
    ]
    (row,) = [line for line in text.splitlines() if line.startswith("| [data-dependent-branch]")]
    assert row.split("|")[5].strip() == compiled(all_rules()["data-dependent-branch"], TESTED_TORCH)
    (older,) = [line for line in others.splitlines() if line.startswith("| rule")]
    assert [head.split()[1].strip(",") for head in older.split("|") if "`torch.compile`" in head] == ["2.10.0", "2.6.0"]
    assert all(f"`{outcome.value}`" in text for outcome in Compiled), "each word is explained above the table"


def test_every_stage_and_every_folder_has_a_row() -> None:
    assert all(f"| `{stage.name}` " in stages_table() for stage in LADDER)
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "exportlint").rglob("__init__.py")}
    assert all(f"| `{folder}/` " in folders_table() for folder in folders)


def test_an_export_that_fails_in_a_later_step_is_no_success() -> None:
    assert outcome({"outcome": "exports", "then": {"decompose": "crashed"}}) == "fails later"
    assert outcome({"outcome": "exports"}) == "exports"


def test_of_torch_compile_the_models_that_fail_are_counted() -> None:
    for info in all_rules().values():
        for version, classes in info.compiled().items():
            bad = [one["outcome"] for name, one in classes.items() if name.startswith("Bad")]
            text = compiled(info, version)
            counted = {
                part.rpartition(" ")[0]: int(part.rpartition(" ")[2]) for part in text.split(", ") if ", " in text
            }
            assert counted == Counter(bad) if counted else {text} == (set(bad) or {""})


def test_measured_counts_the_models_that_fail() -> None:
    for info in all_rules().values():
        for version, classes in info.truth().items():
            bad = [name for name in classes if name.startswith("Bad")]
            text = measured(info, version, "strict")
            numbers = [int(part.rpartition(" ")[2]) for part in text.split(", ")] if ", " in text else []
            assert not numbers or sum(numbers) == len(bad)

"""The pages that are made from rules, fixtures and truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from exportlint.catalogue import END, START, measured, outcome, pages, with_table
from exportlint.errors import UserError
from exportlint.registry import all_rules

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["rules/README.md", "README.md"])
def test_the_pages_are_fresh(name: str) -> None:
    texts = {path.relative_to(ROOT).as_posix(): text for path, text in pages(ROOT)}
    assert (ROOT / name).read_text("utf-8") == texts[name], "run `python -m exportlint.catalogue`"


def test_the_table_replaces_what_stood_between_the_markers() -> None:
    text = with_table(f"before\n{START}\nold\n{END}\nafter\n")
    assert text.startswith(f"before\n{START}\n| rule")
    assert text.endswith(f"|\n{END}\nafter\n")
    assert with_table(text) == text
    with pytest.raises(UserError, match="add them"):
        with_table("no markers")


def test_every_rule_has_a_row_with_what_was_measured() -> None:
    text = with_table(f"{START}{END}")
    for name in all_rules():
        assert f"| [{name}](rules/{name.replace('-', '_')}.py) " in text


def test_an_export_that_fails_in_a_later_step_is_no_success() -> None:
    assert outcome({"outcome": "exports", "then": {"decompose": "crashed"}}) == "fails later"
    assert outcome({"outcome": "exports"}) == "exports"


def test_measured_counts_the_models_that_fail() -> None:
    for info in all_rules().values():
        for version, classes in info.truth().items():
            bad = [name for name in classes if name.startswith("Bad")]
            text = measured(info, version, "strict")
            numbers = [int(part.rpartition(" ")[2]) for part in text.split(", ")] if ", " in text else []
            assert not numbers or sum(numbers) == len(bad)

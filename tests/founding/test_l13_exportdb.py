"""ExportDB is the reference, which one wants to search where there is no network."""

from __future__ import annotations

import pytest
from processes import exportlint


def explained(word: str) -> str:
    done = exportlint(None, "explain", word)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.clause("`exportlint explain cond_predicate` works offline")
def test_a_case_is_shown_with_its_source_and_its_page() -> None:
    page = explained("cond_predicate")
    assert page.startswith("ExportDB case cond_predicate")
    assert "class CondPredicate(torch.nn.Module):" in page
    assert "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-predicate" in page


@pytest.mark.clause("a tag")
def test_a_tag_lists_its_cases() -> None:
    page = explained("torch.cond")
    assert "cond_predicate" in page
    assert "cond_operands" in page


@pytest.mark.clause("a graph-break id")
def test_a_graph_break_id_is_explained() -> None:
    page = explained("GB0170")
    assert page.startswith("Graph break GB0170: Data-dependent branching")
    assert "Rules of exportlint: data-dependent-branch" in page


def test_a_word_that_nothing_has_names_the_nearest() -> None:
    done = exportlint(None, "explain", "cond_predicat")
    assert done.returncode == 2
    assert "cond_predicate" in done.stderr

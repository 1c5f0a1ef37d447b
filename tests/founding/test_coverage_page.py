"""docs/coverage.md says what the tests beside this one show."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import coverage_page


def test_the_page_is_what_the_tests_show() -> None:
    assert coverage_page.PAGE.read_text("utf-8") == coverage_page.page(coverage_page.rows())


def test_every_row_has_a_situation_and_a_clause() -> None:
    assert [row.file.name for row in coverage_page.rows() if not row.situation or not row.clauses] == []

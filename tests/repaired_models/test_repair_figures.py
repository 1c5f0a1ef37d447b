"""The figures of docs/repair.md are those that were measured."""

import importlib.util
import sys
from pathlib import Path

from exportlint.pages.catalogue import with_table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
spec = importlib.util.spec_from_file_location("repair_figures", HERE / "repair_figures.py")
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)


def test_the_page_says_what_was_measured():
    page = figures.PAGE.read_text("utf-8")
    assert with_table(page, "repairs", figures.text()) == page, "run tests/repaired_models/repair_figures.py"

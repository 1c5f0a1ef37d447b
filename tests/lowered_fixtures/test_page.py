"""The page of lowered fixtures says what was measured, and how much was not."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
spec = importlib.util.spec_from_file_location("lowered_fixtures_page", HERE / "page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


def test_the_page_is_made_from_what_was_measured():
    assert page.PAGE.read_text("utf-8") == page.text()


def test_every_class_that_torch_exports_was_lowered_to_every_target():
    wanted = {(info.name, found.name, one) for info, found, _ in page.exported() for one in page.LOWERINGS}
    assert wanted == set(page.current()), "run measure.py, then page.py"


def test_what_fails_says_why():
    failed = [row for row in page.current().values() if row["status"] not in ("passed", "skipped")]
    assert all(row["findings"] or row["detail"] for row in failed)

"""The pages about libraries are what the measured sweeps say, and nothing else lies where they are written."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import library_pages
import pytest

SCHEMA = json.loads((files("exportlint.output") / "sweep-1.json").read_text("utf-8"))
SWEEPS = sorted(path for path in library_pages.HERE.glob("*.json") if "-" not in path.stem)


def test_no_page_is_stale() -> None:
    expected = library_pages.written()
    there = [*library_pages.DOCS.glob("librar*.md"), *library_pages.DOCS.glob("pictures/*/*.svg")]
    found = {path.relative_to(library_pages.DOCS).as_posix(): path.read_text("utf-8") for path in there}
    assert sorted(found) == sorted(expected)
    stale = [name for name, text in expected.items() if name.endswith(".md") and found[name] != text]
    assert stale == [], "python tests/libraries/library_pages.py"


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_what_was_measured_is_of_the_torch_that_truth_is_stored_for(path: Path) -> None:
    data = json.loads(path.read_text("utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert data["torch"].partition("+")[0] == "2.13.0"
    # Every target was tried: a page of half a sweep would mislead.
    assert "waiting" not in {word for counts in data["outcomes"].values() for word in counts}

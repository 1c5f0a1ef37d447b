"""ExportDB and the graph-break registry as `exportlint` knows them, without importing torch."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from exportlint.reference import lookup, stored
from exportlint.reference.torch_sources import read_torch

TORCH = Path(next(iter(find_spec("torch").submodule_search_locations)))


def test_the_stored_copy_is_what_the_measured_torch_says():
    found = read_torch(TORCH)
    if found.torch.partition("+")[0] != stored.stored().torch.partition("+")[0]:
        pytest.skip(f"torch {found.torch} is installed, the copy is of {stored.stored().torch}")
    assert stored.stored() == found, "stale: run python -m exportlint.reference.stored"


def test_every_entry_has_something_to_read():
    copy = stored.stored()
    assert len(copy.cases) == 36
    assert len(copy.graph_breaks) == 517
    assert [case.name for case in copy.cases.values() if not case.summary] == []
    assert [gap.id for gap in copy.graph_breaks.values() if not gap.title] == []


def test_a_case_has_its_label_its_tags_and_its_source():
    case = lookup.exportdb_case("dynamic-shape-round")
    assert case == lookup.exportdb_case("dynamic_shape_round")
    assert not case.supported
    assert case.tags == ("python.builtin", "torch.dynamic-shape")
    assert "class DynamicShapeRound" in case.source


def test_a_tag_is_found_with_and_without_its_family():
    names = [case.name for case in lookup.cases_by_tag("torch.cond")]
    assert "cond_predicate" in names
    assert names == [case.name for case in lookup.cases_by_tag("cond")]


def test_wordings_that_are_source_code_give_way_to_older_text():
    gap = lookup.graph_break("gb0170")
    assert gap.title == "Data-dependent branching"
    assert gap.explanation.startswith("Detected data-dependent branching")
    assert any("torch.cond" in hint for hint in gap.hints)
    assert lookup.graph_break("GB0179").title == "copy.deepcopy()"


@pytest.mark.parametrize("name", ["dynamic_shapes_validation", "unknown_python_type"])
def test_cases_that_torch_invents_get_no_link(name):
    assert lookup.link_for_case(name) is None


def test_links_lead_to_the_pages_of_what_exists():
    assert lookup.link_for_case("cond_predicate").url.endswith("exportdb/index.html#cond-predicate")
    assert lookup.link_for_graph_break("GB0170").url.endswith("/gb/gb0170.html")
    assert lookup.link_for_graph_break("GB0999") is None


def test_torch_is_read_but_not_imported():
    code = (
        "import sys; from exportlint.reference import stored; assert stored.installed(); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_without_torch_the_copy_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "find_spec", lambda _name: None)
    stored.installed.cache_clear()
    assert stored.installed() is None
    assert lookup.link_for_case("cond_predicate") is not None
    stored.installed.cache_clear()

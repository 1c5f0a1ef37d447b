"""What `explain` tells of torch.compile: of each model of a rule, and of the models that break under an id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.pages.compiled_models import breaking, in_words
from exportlint.pages.explanation import explain
from exportlint.registry import TESTED_TORCH, all_rules
from exportlint.trial.protocol.outcomes import Compiled
from exportlint.truth.fixture import Fixture, read_fixture

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

MODEL = """\
class BadIf:
    def forward(self, x):
        if x.sum() > 0:  # error: a-rule
            return x
        return self.helper(x)
"""


@pytest.fixture
def fixture(tmp_path: Path) -> Fixture:
    path = tmp_path / "a_rule.py"
    path.write_text(MODEL, "utf-8")
    return read_fixture(path)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"outcome": "one graph"}, "one graph"),
        (
            {"outcome": "breaks", "graph_breaks": [[3, "GB0170", "break"]]},
            "breaks at line 3, `if x.sum() > 0:` (GB0170)",
        ),
        (
            {"outcome": "breaks", "graph_breaks": [[3, "GB0170", "break"], [3, "GB8335", "skipped"]]},
            "breaks at line 3, `if x.sum() > 0:` (GB0170; GB8335, which leaves the function to Python)",
        ),
        (
            {"outcome": "breaks", "graph_breaks": [[3, None, "break"], [5, "GB0007", "foreign"]]},
            (
                "breaks at line 3, `if x.sum() > 0:`; "
                "breaks at line 5, `return self.helper(x)` (GB0007, a call that Dynamo does not follow)"
            ),
        ),
        (
            {"outcome": "breaks", "graph_breaks": [[None, "GB0099", "disabled"]]},
            "breaks at a line of another file (GB0099, a function that is kept out of the graph)",
        ),
        (
            {"outcome": "recompiles", "recompiles": [[3, "size"]]},
            "recompiles for each size, at line 3, `if x.sum() > 0:`",
        ),
        (
            {"outcome": "raises", "check": "raises", "error": "no such thing", "line": 5},
            "raises at line 5, `return self.helper(x)`: no such thing",
        ),
        (
            {"outcome": "differs", "check": "output", "error": "other numbers", "line": None},
            "differs: other numbers",
        ),
    ],
)
def test_a_record_is_said_with_its_line_and_its_ids(record: dict[str, Any], words: str, fixture: Fixture) -> None:
    assert in_words(record, fixture) == words


def test_every_record_has_words() -> None:
    for info in all_rules().values():
        fixture = read_fixture(info.fixture)
        for record in info.compiled().get(TESTED_TORCH, {}).values():
            assert in_words(record, fixture).startswith(record["outcome"])


def test_each_model_of_a_rule_stands_with_what_export_and_torch_compile_do() -> None:
    lines = explain("data-dependent-branch").splitlines()
    at = lines.index("  BadIf: An `if` on a reduction of the input.")
    assert lines[at + 1].startswith("    export: refused; torch.compile: breaks at line ")
    assert lines[at + 1].endswith("`if x.sum() > 0:` (GB0170)")
    at = lines.index("  GoodWhere: Both sides computed, the values selected.")
    assert lines[at + 1] == "    export: exports; torch.compile: one graph"
    assert "What torch.compile did with them (see --for compile):" in lines


def test_a_graph_break_leads_to_rule_fixture_and_what_is_one_graph() -> None:
    page = explain("GB0124")
    assert "Rules of exportlint: tensor-as-python-number, " in page
    first = breaking("GB0124")[0]
    assert first.good is not None
    assert f"such as {first.bad.name} in tensor_as_python_number.py, line {first.line}: `" in page
    assert f"the nearest that is one graph: {first.good.name}, line {first.good.line}: " in page
    assert f"class {first.bad.name}(nn.Module):" in page
    assert f"class {first.good.name}(nn.Module):" in page
    assert "`exportlint explain tensor-as-python-number` shows them." in page


def test_what_is_shown_instead_was_measured_to_be_one_graph() -> None:
    ids = {
        str(gb_id)
        for info in all_rules().values()
        for record in info.compiled().get(TESTED_TORCH, {}).values()
        for _, gb_id, _ in record.get("graph_breaks", ())
    }
    shown = [one for gb_id in ids for one in breaking(gb_id)]
    assert shown
    for one in shown:
        records = one.info.compiled()[TESTED_TORCH]
        assert one.gb_id in {gb_id for _, gb_id, _ in records[one.bad.name]["graph_breaks"]}
        assert one.good is None or records[one.good.name]["outcome"] == Compiled.ONE_GRAPH.value


def test_an_id_that_no_model_breaks_under_has_its_page() -> None:
    page = explain("GB0040")
    assert "cond-misuse" in page
    assert "that torch.compile breaks so" not in page


def test_of_rules_about_targets_of_deployment_nothing_is_said_under_an_id() -> None:
    assert [one.info.name for one in breaking("GB0036") if one.info.cls.lowerings] == []

"""Dims declared dynamic: which became constants or narrower and where, which other sizes go wrong, what to declare."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from sources import MODELS
from trials import NON_STRICT, found_in, tried

from exportlint.finding import Severity
from exportlint.trial.findings.merge import merge

pytestmark = pytest.mark.slow

FILE = MODELS / "sizes.py"


@pytest.fixture(scope="module")
def reports():
    return tried(FILE)


def found(report, stage="dynamic-shapes"):
    """The source line and the finding, of each that the stage gave."""
    return [(one.line_text.strip(), one) for one in found_in(report, FILE.parent, stage)]


@pytest.mark.parametrize(
    ("model", "line", "says"),
    [
        ("Frozen", "rows = int(x.shape[0])", "dim 0 of `x`, declared dynamic as `Dim.AUTO`, became the constant 3"),
        ("Narrowed", "if x.shape[0] <= 16:", "declared dynamic (2 or more), can only be from 2 to 16"),
        ("OneSideStaticAuto", "return x * mask.unsqueeze(-1)", "dim 1 of `mask` (static) must be equal at this line"),
    ],
)
def test_a_dim_that_torch_took_away_without_a_word_is_an_error_at_its_line(reports, model, line, says):
    assert reports[model].stage("export-non-strict").passed
    ((source, finding),) = found(reports[model])
    assert (source, finding.severity, finding.name) == (line, Severity.ERROR, "dynamic-shape-frozen")
    assert says in finding.message


def test_a_limit_that_eager_has_too_is_a_fact_and_no_fault(reports):
    stage = reports["OwnLimit"].stage("dynamic-shapes")
    assert (stage.status, stage.observations) == ("passed", ())
    assert "# length, dim 1 of `x`: from 2 to 32" in reports["OwnLimit"].dynamic_shapes
    assert "`return x + self.table[: x.shape[1]]`" in reports["OwnLimit"].dynamic_shapes


@pytest.mark.parametrize(
    ("model", "line", "says"),
    [
        (
            "Unequal",
            "return x @ y",
            "(declared dynamic as `inner`) and dim 0 of `y` (`other`) must be equal",
        ),
        (
            "OneSideStatic",
            "return x * mask.unsqueeze(-1)",
            "dim 1 of `x` (declared dynamic as `seq`) and dim 1 of `mask` (static) must be equal at this line",
        ),
        (
            "NarrowedNamed",
            "if x.shape[0] <= 16:",
            "declared dynamic (from 2 to 64), can only be from 2 to 16",
        ),
        ("OutOfRange", "class OutOfRange(nn.Module):", "dim 0 of `x` is 3, declared dynamic as `batch` from 4 to 8"),
    ],
)
def test_a_refused_declaration_is_a_sentence_at_the_line_that_breaks_it(reports, model, line, says):
    ((source, finding),) = found(reports[model], "export-non-strict")
    assert source == line
    assert says in finding.message


def test_what_torch_demands_instead_can_be_pasted(reports):
    assert reports["Unequal"].stage("dynamic-shapes").status == "passed"  # it was exported with, and run
    assert reports["Unequal"].dynamic_shapes.partition("import Dim\n\n")[2] == (
        'rows = Dim("rows", min=1)\n'
        'inner = Dim("inner", min=1, max=64)\n'
        "dynamic_shapes = {\n    'x': {0: rows, 1: inner},\n    'y': {0: inner},\n}"
    )


def test_a_static_dim_that_must_equal_a_declared_one_shares_its_name(reports):
    ((_, finding),) = found(reports["OneSideStatic"], "export-non-strict")
    assert finding.words.suggestion == snapshot("declare dim 1 of `mask` as `seq` too")
    assert reports["OneSideStatic"].dynamic_shapes.partition("import Dim\n\n")[2] == (
        'batch = Dim("batch", min=1, max=64)\n'
        'seq = Dim("seq", min=1, max=64)\n'
        "dynamic_shapes = {\n    'x': {0: batch, 1: seq},\n    'mask': {0: batch, 1: seq},\n}"
    )


def test_a_size_within_the_declared_range_that_goes_wrong_is_found_where_eager_parts(reports):
    ((source, finding),) = found(reports["OneIsSpecial"])
    assert source == "if x.shape[0] == 1:"
    assert "with batch=1, declared dynamic: values differ" in finding.message


FIRST_BATCH = """
import torch


class Meter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {}

    def forward(self, x):
        if "rows" not in self.first:
            self.first["rows"] = x.shape[0]
        return x / self.first["rows"]

    @staticmethod
    def inputs():
        return (torch.ones(3, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: torch.export.Dim("rows", min=2, max=64)}}
"""


def test_what_eager_remembers_of_another_size_is_no_fault_of_this_one(tmp_path):
    (tmp_path / "net.py").write_text(FIRST_BATCH, "utf-8")
    (report,) = tried(f"{tmp_path / 'net.py'}:Meter", NON_STRICT).values()
    seen = [one for one in report.stage("dynamic-shapes").observations if one.kind == "difference"]
    assert {(one.check, one.user) for one in seen} == {("state", None)}
    ((_, finding),) = found(report)
    assert "after calls with other sizes the exported program differs from eager" in finding.message


def test_a_refusal_names_what_read_the_size_in_another_function(reports):
    ((source, finding),) = found(reports["DataSized"], "export-non-strict")
    assert source == "if rows.shape[0] == 0:"
    assert "u0 is read by `return torch.nonzero(x > 0)` (sizes.py:" in finding.message


def test_other_inputs_of_another_batch_say_which_declaration_frees_it(reports):
    (finding,) = merge([], [reports["OtherBatch"]], root=FILE.parent)
    assert "differ from the sample in dim 0 of `video`, and nothing declares that dynamic" in finding.message
    assert "batch = Dim(\"batch\", min=1)\ndynamic_shapes = {\n    'video': {0: batch},\n}" in finding.fix.description


def test_a_proposal_follows_containers_keywords_and_further_arguments():
    (report,) = tried(FILE.with_name("nested.py"), replace(NON_STRICT, dynamic="auto")).values()
    stage = report.stage("dynamic-shapes")
    assert (stage.status, stage.observations) == ("passed", ())
    text = report.dynamic_shapes
    assert "a multiple of 4 (" in text
    assert "is 1, which torch makes a constant: export with a sample of 2 or more" in text
    assert text.partition("import Dim\n\n")[2] == (
        'batch = Dim("batch", min=1)\n'
        '_length = Dim("_length", min=2, max=16)\n'
        "dynamic_shapes = {\n"
        "    'batch': {'tokens': {0: batch, 1: 4 * _length}, 'masks': [{0: batch, 1: 4 * _length}]},\n"
        "    'pair': [{0: batch}, {0: batch}],\n"
        "    'more': ({0: batch},),\n"
        "    'bias': None,\n"
        "}"
    )

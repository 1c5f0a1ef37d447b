"""What is proposed for sizes can be pasted: it exports in a new process, and agrees with eager within its ranges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from sources import MODELS
from torch.export import Dim

from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.proposal import Wish, proposed
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.loading.from_target import load
from exportlint.trial.discovery import from_text
from exportlint.trial.findings.wording.size_messages import shapes_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.dynamic_shapes.proposal import Proposed
    from exportlint.trial.child.loading.loaded import Loaded

pytestmark = pytest.mark.slow

FILE = MODELS / "free_sizes.py"
LOADED: dict[str, Loaded] = {}


def _loaded() -> dict[str, Loaded]:
    if not LOADED:
        targets = from_text(str(FILE))
        LOADED.update({target.name.rpartition(":")[2]: load(target) for target in targets})
    return LOADED


def wish(name: str, others: tuple[Any, ...] | None = None, declared: Mapping[Any, Any] | None = None) -> Wish:
    loaded = _loaded()[name]
    inputs = inputs_of(loaded, 0)
    tensors = input_tensors(loaded.model(), inputs)
    free = {(one.label, dim): None for one in tensors for dim in range(one.value.dim())} | dict(declared or {})
    return Wish(loaded, inputs, "non-strict", free, (others, {}) if others else None)


@pytest.fixture(scope="module")
def proposals() -> dict[str, Proposed]:
    return {name: proposed(wish(name)) for name in _loaded()}


def declared(outcome: Proposed) -> str:
    """The code without its import."""
    assert outcome.code, outcome.facts
    return outcome.code.partition("import Dim\n\n")[2]


def test_what_is_pasted_exports_and_agrees_with_eager_wherever_eager_runs(
    proposals: dict[str, Proposed], tmp_path: Path
) -> None:
    codes = {name: outcome.code for name, outcome in proposals.items() if outcome.code}
    (tmp_path / "codes.json").write_text(json.dumps(codes), "utf-8")
    script = Path(__file__).with_name("run_pasted.py")
    command = [sys.executable, str(script), str(FILE), str(tmp_path / "codes.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout.splitlines()[-1])
    assert {name: one["wrong"] for name, one in ran.items() if one["wrong"]} == {}
    assert {name for name, one in ran.items() if one["right"] < 3} == {"Joined"}  # its sizes hardly ever fit by chance
    assert set(proposals) - set(ran) == {"FixedBatch"}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("PositionTable", "batch = Dim(\"batch\", min=1)\ndynamic_shapes = {\n    'video': {0: batch},\n}"),
        ("FourTimes", "    'wave': {0: batch, 1: 4 * mel_1},\n"),
        ("Hop", "    'wave': {0: batch, 2: 4 * length},\n    'bias': {0: batch, 2: length},\n"),
        ("Shifted", "    'tokens': {0: batch, 1: length + 1},\n"),
        ("Parity", "    'x': {0: batch, 1: 2 * _x_1},\n"),
        ("Pyramid", "    'image': {0: batch, 2: 4 * _height, 3: 4 * _width},\n"),
        ("Bounds", 'x_1 = Dim("x_1", min=4, max=64)\n'),
        ("Tokens", "    'ids': {0: batch, 1: length},\n    'mask': {0: batch, 1: length},\n    'scale': None,\n"),
        ("TimeFirst", "1: batch"),
        ("Heads", "    'x': {0: batch, 1: length},\n"),
        ("Scanned", "    'steps': {0: steps_0, 1: batch, 2: steps_2},\n    'state': {0: batch, 1: steps_2},\n"),
    ],
)
def test_dims_are_named_by_what_they_are_and_declared_by_what_the_code_demands(
    proposals: dict[str, Proposed], name: str, code: str
) -> None:
    assert code in declared(proposals[name])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "PositionTable",
            "# frames/2 × height/4 × width/4 must be 24 (quotients are rounded down) (tests/trial/models/",
        ),
        (
            "PositionTable",
            "+ self.position).mean(1)`), so dims 2, 3 and 4 of `video` stay as in the sample (",
        ),
        ("Product", "batch × rows_1 must be less than 900"),
        ("Total", "query_1 + memory_1 must be at most 60"),
        ("Ordered", "must be"),
        ("Joined", "dim 1 of `mask` is past_1 + new_1"),
        ("Bounds", "x_1, dim 1 of `x`: from 4 to 64"),
        ("Bounds", ": `assert x.shape[1] >= 4`)"),
        ("Bounds", ": `if x.shape[1] > 64:`)"),
        ("FixedBatch", "dim 0 of `x` is always 4"),
    ],
)
def test_what_the_code_demands_is_said_with_its_line(proposals: dict[str, Proposed], name: str, says: str) -> None:
    assert says in shapes_text(proposals[name].found)


def test_what_says_nothing_new_is_not_said(proposals: dict[str, Proposed]) -> None:
    text = shapes_text(proposals["Bounds"].found)
    assert "128" not in text
    assert "> 2" not in text


def test_a_sum_of_two_sizes_is_declared_beside_them(proposals: dict[str, Proposed]) -> None:
    loaded, space = _loaded()["Joined"], {}
    exec(proposals["Joined"].code or "", space)  # noqa: S102 - this is what pasting is
    program = torch.export.export(loaded.model(), loaded.args(), dynamic_shapes=space["dynamic_shapes"]).module()
    given = torch.randn(1, 3, 2), torch.randn(1, 5, 2), torch.rand(1, 8)
    torch.testing.assert_close(program(*given), loaded.eager()(*given))


def largest(outcome: Proposed) -> list[int]:
    """The ends of the ranges that are proposed."""
    return [fact["range"][1] or 0 for fact in outcome.facts if fact["fact"] == "range"]


def test_a_product_limits_both_sizes(proposals: dict[str, Proposed]) -> None:
    rows, columns, *_ = largest(proposals["Product"])
    assert 450 < rows * columns < 900
    assert min(rows, columns) > 10


def test_other_sizes_widen_what_a_limit_leaves() -> None:
    outcome = proposed(wish("Product", others=(torch.randn(4, 200, 8),)))
    assert largest(outcome)[1] >= 200
    assert "the other inputs (rows_1=200) are within these ranges" in shapes_text(outcome.found)


def test_other_sizes_that_the_code_excludes_are_said_with_the_reason() -> None:
    text = shapes_text(proposed(wish("Product", others=(torch.randn(4, 2000, 8),))).found)
    assert "the other inputs are outside of this: dim 1 of `rows` is 2000 there; batch × rows_1 must be less" in text


def test_other_sizes_beyond_a_limit_are_said_with_its_line() -> None:
    text = shapes_text(proposed(wish("Bounds", others=(torch.randn(2, 100, 3),))).found)
    assert "dim 1 of `x` is 100 there; x_1 must be at most 64 (" in text


def test_a_declared_least_size_stays() -> None:
    outcome = proposed(wish("Heads", declared={("x", 0): Dim("rows", min=2, max=64)}))
    assert 'rows = Dim("rows", min=2, max=64)\n' in declared(outcome)

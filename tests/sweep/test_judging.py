"""The static pass judged by what a store holds. The results are written here, the static pass is the real one."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from exportlint.config.settings import CommandLine, load_config
from exportlint.output.sweeps.judgement import JudgedRule, Judgement, as_json, of_json, page_of
from exportlint.output.sweeps.page import as_text
from exportlint.sweep.result import Cause, Planned, SweepResult, SweptOutcome, SweptStage
from exportlint.sweep.store import opened
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.workflow.sweep_judging import judged

SCHEMA = json.loads((files("exportlint.output") / "sweep-judgement-1.json").read_text("utf-8"))
SOURCE = """
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        if x.mean() > 0:
            x = x * 2
        y = x
        y = y.unfold(0, 2, 1)
        y = y + 1
        if x.max() > 0:
            y = -y
        return y
"""
FAILS, ALARM, MISSED, UNKNOWN = (
    next(n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line)
    for text in ("x.sum()", "x.mean()", "unfold", "x.max()")
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(SOURCE, "utf-8")
    return tmp_path


def judgement(options: dict[str, object], soundness: str = "passed") -> Judgement:
    ended = {"export-non-strict": "passed"} | ({"soundness": soundness} if soundness else {})
    stages = tuple(SweptStage(name, status, 1.0, "", None) for name, status in ended.items())
    failing = tuple(
        Cause(rule, "export-non-strict", "error", "net.py", line, f"torch says no to {rule}")
        for rule, line in (("data-dependent-branch", FAILS), ("export-refused", MISSED))
    )
    loading = Cause("trial-load", "load", "error", "net.py", ALARM, "it is not there")
    ran = {"net.py": (FAILS, FAILS + 1, MISSED, UNKNOWN), "elsewhere.py": (1, 2)}
    results = (
        SweepResult("key of a", SweptOutcome.REFUSED, "no", "2026-01-01", 1.0, causes=failing, ran=ran),
        SweepResult(
            "key of b", SweptOutcome.EXPORTS, "", "2026-01-01", 1.0, stages, ran={"net.py": (ALARM, ALARM + 1)}
        ),
        SweepResult("key of c", SweptOutcome.NOT_LOADED, "", "2026-01-01", 1.0, causes=(loading,)),
    )
    planned = [Planned(f"key of {n}", Target(n, TargetKind.ZOO, n), "zoo", "nets") for n in "abc"]
    with opened(Path("store"), create=True) as store:
        store.begin(["zoo:*"], options, "2.13.0", planned)
        for one in results:
            store.add(one)
        return judged(store, store.sweeps()[-1], load_config(["."], CommandLine()), cache=False)


@pytest.mark.usefixtures("here")
def test_each_finding_is_right_false_or_not_known_and_what_nobody_tells_is_named() -> None:
    found = judgement({"modes": ["non-strict"]})
    assert found.rules == (JudgedRule("data-dependent-branch", hits=1, false_alarms=1, unjudged=1),)
    assert [(one.rule, one.targets, one.places, one.example) for one in found.missed] == [
        ("export-refused", 1, (f"net.py:{MISSED}",), "a")
    ]
    assert (found.failing_lines, found.missed_lines, found.fine_lines, found.absent) == (2, 1, 2, ("elsewhere.py",))
    jsonschema.validate(json.loads(as_json(found)), SCHEMA)
    assert page_of(of_json(as_json(found))) == page_of(found)
    assert as_text(page_of(found)).splitlines()[0] == (
        "torch 2.13.0: of 2 lines at which exports fail 1 are told; 1 findings are right, 1 false, on 2 lines that are "
        "known to be fine"
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("options", "soundness"), [({"quick": True}, ""), ({}, ""), ({}, "crashed")])
def test_no_line_is_fine_where_nobody_compared_with_eager(options: dict[str, object], soundness: str) -> None:
    found = judgement({"modes": ["non-strict"], **options}, soundness)
    assert found.rules == (JudgedRule("data-dependent-branch", hits=1, false_alarms=0, unjudged=2),)
    assert "0 lines that are known to be fine" in found.headline
    assert found.headline.endswith("(the sweep compared nothing with eager)") == ("quick" in options)

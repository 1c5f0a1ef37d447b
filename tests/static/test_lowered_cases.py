"""What is said of targets of deployment: of those that somebody ships to alone, and as the stored truth says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import pytest
from inline_snapshot import snapshot
from processes import exportlint

from exportlint.finding import Severity
from exportlint.registry import RuleInfo
from exportlint.rule.base import Rule
from exportlint.rule.suspicion import Case, Instead, Place, Suspicion
from exportlint.static.severity import LoweredCases
from exportlint.workflow.python_api import lint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COUNTER = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(3))

    def forward(self, x):
        self.mean.mul_(0.5)
        return x * self.mean
"""


class _Sorts(Rule):
    lowerings = ("mobile", "server")
    cases: ClassVar = {
        "BadSort": Case("`{code}` sorts", "take `topk`"),
        "BadMix": Case("mixes", Instead("do not", "GoodSort")),
    }


def stored(folder: Path, classes: Mapping[str, Mapping[str, str]]) -> RuleInfo:
    lowered = {name: {on: {"status": status} for on, status in by.items()} for name, by in classes.items()}
    text = json.dumps({"torch": "2.13.0", "lowered": lowered})
    (folder / "torch-2.13.0.json").write_text(text, "utf-8")
    rule = RuleInfo("a-rule", "no_module", folder / "a_rule.py", folder / "fixture.py", folder)
    rule.__dict__["cls"] = _Sorts
    return rule


CLASSES = {
    "BadSort": {"mobile": "refused", "server": "passed"},
    "BadMix": {"mobile": "refused", "server": "differs"},
    "GoodSort": {"mobile": "passed"},
}


@pytest.mark.parametrize(
    ("shipped_to", "case", "lowerings", "severity", "advice"),
    [
        ((), "BadSort", {}, None, ""),
        (("server",), "BadSort", {}, None, ""),
        (("mobile", "server"), "BadSort", {"mobile": "refused"}, Severity.ERROR, "take `topk`"),
        (("server",), "BadMix", {"server": "differs"}, Severity.ERROR, ""),
        (
            ("mobile", "server"),
            "BadMix",
            {"mobile": "refused", "server": "differs"},
            Severity.ERROR,
            "for mobile: do not",
        ),
        (("mobile",), "BadNew", {}, None, ""),
    ],
    ids=["no target", "it passes there", "one of two", "no rewrite runs", "it helps one of two", "not measured"],
)
def test_a_case_is_about_the_targets_that_fail_and_are_shipped_to(
    tmp_path: Path, shipped_to: tuple[str, ...], case: str, lowerings: object, severity: object, advice: str
) -> None:
    cases = LoweredCases(stored(tmp_path, CLASSES), "2.13.0", shipped_to)
    assert (cases.lowerings(case), cases.severity(case)) == (lowerings, severity)
    if severity:
        said = _Sorts.cases[case]
        suspicion = Suspicion("net.py", "a-rule", case, Place(1, 1, 1, 2), said.exported, said.compiled, Severity.ERROR)
        assert cases.suggestion(suspicion) == advice


def test_the_message_says_which_target_does_what(tmp_path: Path) -> None:
    cases = LoweredCases(stored(tmp_path, CLASSES), "2.13.0", ("mobile", "server"))
    assert cases.sentence("BadSort") == snapshot("torch exports it, and mobile refuses it")
    assert cases.sentence("BadMix") == snapshot(
        "torch exports it, and mobile refuses it; server computes something else, silently"
    )


def test_an_older_torch_than_was_measured_is_told_nothing(tmp_path: Path) -> None:
    assert LoweredCases(stored(tmp_path, CLASSES), "2.6.0", ("mobile",)).severity("BadSort") is None


def test_check_speaks_of_the_targets_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(COUNTER, "utf-8")
    assert exportlint(tmp_path, "check", "net.py").returncode == 0
    for named in (["--lower", "executorch"], []):
        done = exportlint(tmp_path, "check", "net.py", "--output-format", "json", *named)
        (found,) = json.loads(done.stdout)["findings"]
        assert (found["line"], found["lowerings"]) == (11, {"executorch": "differs"})
        (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nlower = ["executorch"]\n', "utf-8")
    assert exportlint(tmp_path, "check", "net.py", "--lower", "none").returncode == 0
    wrong = exportlint(tmp_path, "check", "net.py", "--lower", "executorhc")
    assert (wrong.returncode, "executorch" in wrong.stderr) == (2, True)


def test_a_setting_that_keeps_the_state_silences_its_target(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(COUNTER, "utf-8")
    keeps = '[tool.exportlint.lowerings.executorch]\ninitialized_buffers = ["*"]\n'
    (tmp_path / "pyproject.toml").write_text(keeps, "utf-8")
    assert lint(tmp_path / "net.py", lower="executorch") == []
    assert [found.lowerings for found in lint(tmp_path / "net.py", lower="executorch,tvm")] == [{"tvm": "differs"}]


def test_a_comment_about_a_target_is_not_called_needless_where_nobody_ships_to_it(tmp_path: Path) -> None:
    source = COUNTER.replace(
        "mul_(0.5)", "mul_(0.5)  # exportlint: ignore[state-lost-in-lowering] the caller resets it"
    )
    (tmp_path / "net.py").write_text(source, "utf-8")
    assert lint(tmp_path / "net.py") == []
    assert lint(tmp_path / "net.py", lower="executorch") == []


def test_a_path_that_names_a_target_of_another_package_is_checked(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(COUNTER, "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nlower = ["of-a-plugin", "tvm"]\n', "utf-8")
    assert [found.lowerings for found in lint(tmp_path / "net.py")] == [{"tvm": "differs"}]

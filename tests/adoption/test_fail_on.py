"""What makes exit code 1."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

from exportlint.adoption.fail_on import FailOn, read_fail_on
from exportlint.errors import UserError
from exportlint.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from pathlib import Path

BAD = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.data * 2\n"


def fatal(*terms: str) -> set[tuple[str, str]]:
    found = read_fail_on(terms, "--fail-on")
    every = itertools.product(Severity, Evidence)
    findings = [Finding("r", "m.py", 1, 1, 1, 2, severity, "…", evidence) for severity, evidence in every]
    return {(one.severity.value, one.evidence.value) for one in findings if found.includes(one)}


def some(severities: str, evidence: str = "suspected confirmed discovered cleared") -> set[tuple[str, str]]:
    return set(itertools.product(severities.split(), evidence.split()))


def test_the_terms() -> None:
    assert read_fail_on((), "--fail-on") == FailOn()
    assert fatal() == fatal("warning") == fatal("evidence=suspected") == some("error warning")
    assert fatal("error") == some("error")
    assert fatal("note") == fatal("error", "note") == some("error warning note")
    assert fatal("never") == set()
    assert fatal("evidence=confirmed") == some("error warning", "confirmed discovered")
    assert fatal("evidence=confirmed", "note") == some("error warning note", "confirmed discovered")


@pytest.mark.parametrize(
    "terms", [("never", "error"), ("evidence=confirmed", "evidence=suspected"), ("errors",), ("",)]
)
def test_terms_that_say_nothing_together(terms: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=r"^--fail-on: "):
        read_fail_on(terms, "--fail-on")


def test_the_command_line_and_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD, "utf-8")

    def code(*arguments: str) -> int:
        return exportlint(tmp_path, "bad.py", *arguments).returncode

    assert (code(), code("--fail-on", "never"), code("--fail-on", "error")) == (1, 0, 1)
    assert (code("--fail-on", "error,evidence=confirmed"), code("--fail-on", "note", "--exit-zero")) == (0, 0)
    assert (code("--fail-on", "error", "--fail-on", "evidence=confirmed"), code("--fail-on", "eror")) == (0, 2)
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nfail-on = "never"\n', "utf-8")
    assert (code(), code("--fail-on", "error")) == (0, 1)
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nfail-on = ["note", "evidence=confirmed"]\n', "utf-8")
    assert (code(), code("--fail-on", "note")) == (0, 1)
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nfail-on = "sometimes"\n', "utf-8")
    done = exportlint(tmp_path, "bad.py")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "tool.exportlint.fail-on: there is no `sometimes`" in done.stderr
    (tmp_path / "broken.py").write_text("def f(:\n", "utf-8")
    (tmp_path / "pyproject.toml").unlink()
    assert exportlint(tmp_path, "broken.py", "--fail-on", "never").returncode == 2, (
        "what cannot be judged is no finding"
    )

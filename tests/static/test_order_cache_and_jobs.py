"""Whatever the order of the files, what the cache remembers and how many processes judge: the same findings."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static import static_pass
from exportlint.static.static_pass import StaticOptions, check

if TYPE_CHECKING:
    from exportlint.static.static_pass import StaticReport

RULES = tuple(all_rules().values())
# Files that run each other's functions, with values of other kinds, and one that cannot be parsed.
FILES = {
    "helper": "def pick(x):\n    if x.sum() > 0:\n        return x.data\n    return -x\n\n\n"
    "def size(x):\n    return x.shape[0] if x.shape[0] > 2 else 0\n",
    "first": "from torch import nn\nfrom helper import pick, size\n\n\nclass First(nn.Module):\n"
    "    def forward(self, x):\n        return pick(x) * size(x)\n",
    "second": "from torch import nn\nfrom helper import pick\nfrom first import First\n\n\nclass Second(First):\n"
    "    def forward(self, x, limit: int = 3):\n        return super().forward(x) + pick(x.abs())\n",
    "third": "import torch\nfrom second import Second\n\n\nclass Third(torch.nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.inner = Second()\n        self.calls = 0\n\n"
    "    def forward(self, x):\n        self.calls += 1\n        return self.inner(x) * self.calls\n\n\n"
    "torch.export.export(Third(), (torch.ones(3, 2),))\n",
    "broken": "def forward(:\n",
    "plain": "from torch import nn\n\n\nclass Plain(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


def checked(project: Path, names: list[str] | set[str], **options: object) -> StaticReport:
    files = [SourceFile(project / f"{name}.py", f"{name}.py") for name in names]
    return check(files, RULES, StaticOptions(**options))  # type: ignore[arg-type]  # named by the caller


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    order=st.permutations(list(FILES)),
    remembered=st.sets(st.sampled_from(list(FILES))),
    again=st.booleans(),
    jobs=st.sampled_from((1, 1, 1, 2)),
)
def test_the_findings_are_the_same(
    project: Path, order: list[str], remembered: set[str], again: bool, jobs: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as cache:
        patch.setattr(static_pass, "BYTES_WORTH_A_PROCESS", 1)
        checked(project, remembered, cache=Path(cache))
        report = checked(project, order, cache=Path(cache), jobs=jobs)
        if again:
            report = checked(project, order, cache=Path(cache), jobs=jobs)
    assert report == checked(project, list(FILES))
    assert {(finding.path, finding.rule) for finding in report.findings} >= {
        ("helper.py", "data-dependent-branch"),
        ("third.py", "state-on-self"),
    }
    assert [problem.path for problem in report.problems] == ["broken.py"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_text_that_stands_for_a_file_counts_for_those_that_import_it(
    project: Path, jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In every process, whatever is remembered; and nothing of it is remembered for the file itself."""
    monkeypatch.setattr(static_pass, "BYTES_WORTH_A_PROCESS", 1)
    before = checked(project, list(FILES), cache=tmp_path)
    text = "\n\n" + FILES["helper"].replace("x.data", "x.detach()")
    files = [SourceFile(project / f"{name}.py", f"{name}.py", *([text] if name == "helper" else [])) for name in FILES]
    report = check(files, RULES, StaticOptions(cache=tmp_path, jobs=jobs))
    lines = {(one.rule, one.line) for one in report.findings if one.path == "helper.py"}
    assert ("data-dependent-branch", 4) in lines
    assert not any(rule == "data-attribute" or line == 2 for rule, line in lines)
    assert checked(project, list(FILES), cache=tmp_path) == before


def test_rewrites_are_made_of_the_lines_that_are_asked_for(project: Path, tmp_path: Path) -> None:
    """Of a file of which none are named, of all."""
    helper = str((project / "helper.py").resolve())

    def rewritten(**options: object) -> set[tuple[str, int]]:
        found = checked(project, list(FILES), cache=tmp_path, **options).findings
        return {(one.path, one.line) for one in found if one.rewrites}

    everywhere = rewritten()
    assert {("helper.py", 2), ("helper.py", 3)} < everywhere
    assert rewritten(mended_at={helper: frozenset({2, 8})}) == everywhere - {("helper.py", 3)}
    assert rewritten() == everywhere, "what was remembered of fewer is not all"

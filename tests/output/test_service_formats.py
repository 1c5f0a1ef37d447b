"""What code scanning pages, merge requests and CI services are given, read by programs that others wrote."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from markdown_it import MarkdownIt
from processes import exportlint
from sample import BRANCH, CLEAN, DATA, REPORT, SOURCE, TARGET
from sarif.loader import load_sarif_file
from sources import ROOT

from exportlint.edited_source import edited
from exportlint.finding import Applicability, Edit, Finding, Fix, Problem, Severity, TrailStep
from exportlint.output import render
from exportlint.output.markdown import job_summary
from exportlint.output.report import NOTHING_MORE, RenderOptions, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of the OASIS standard, https://github.com/oasis-tcs/sarif-spec.
SARIF_SCHEMA = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8"))
STEPS = (TrailStep("`y`", "src/model.py", 3), TrailStep("`x` of loud", "src/other model.py", 7))
FOLLOWED = replace(BRANCH, trail=STEPS, calls=(TrailStep("`net(x)` in main", "src/model.py", 1),), target=None)


@pytest.fixture(autouse=True)
def _no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def rendered(name: str, report: Report) -> str:
    return render(name, report, RenderOptions())


def only(*findings: Finding, targets: Sequence[Any] = ()) -> Report:
    return replace(REPORT, findings=findings, cleared=(), suppressed=(), problems=(), targets=tuple(targets))


# SARIF.


def sarif(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(rendered("sarif", report))
    jsonschema.validate(data, SARIF_SCHEMA)
    return data


@pytest.mark.parametrize("report", [REPORT, CLEAN, only(FOLLOWED)])
def test_sarif_keeps_the_schema_of_the_standard(report: Report) -> None:
    assert [run["automationDetails"]["id"] for run in sarif(report)["runs"]] == [
        "exportlint/check/",
        *(f"exportlint/{target.name.replace(':', '%3A')}/" for target in report.targets),
    ]


def test_another_program_reads_the_counts_that_the_headline_tells(tmp_path: Path) -> None:
    (tmp_path / "report.sarif").write_text(rendered("sarif", replace(REPORT, also=NOTHING_MORE)), "utf-8")
    read = load_sarif_file(str(tmp_path / "report.sarif")).get_report()
    counts = {severity.value: read.get_issue_count_for_severity(severity.value) for severity in Severity}
    assert counts == {"error": REPORT.count(Severity.ERROR), "warning": 1, "note": 2}
    assert REPORT.count(Severity.ERROR) == 3


def test_sarif_follows_a_value_from_where_it_comes_from_to_where_it_does_harm() -> None:
    (result,) = sarif(only(FOLLOWED))["runs"][0]["results"]
    (flow,) = result["codeFlows"][0]["threadFlows"]
    lines = [one["location"]["physicalLocation"]["region"]["startLine"] for one in flow["locations"]]
    assert lines == [7, 3, BRANCH.line]
    related = [one["message"]["text"] for one in result["relatedLocations"]]
    assert related == ["`y`", "`x` of loud", "`net(x)` in main"]
    places = [one["physicalLocation"]["artifactLocation"]["uri"] for one in result["relatedLocations"]]
    assert places == ["src/model.py", "src/other%20model.py", "src/model.py"]


def test_a_fix_of_sarif_makes_the_edit_of_the_rewrite() -> None:
    both = Fix("other", Applicability.SAFE, (Edit("src/model.py", (5, 13), (5, 23), "x = x.detach()"),))
    (result,) = sarif(only(replace(BRANCH, target=None, rewrites=(*([BRANCH.fix] if BRANCH.fix else []), both))))[
        "runs"
    ][0]["results"]
    text = "\n".join(SOURCE["src/model.py"])
    for fix, said in zip(result["fixes"], (BRANCH.fix, both), strict=True):
        assert said
        (change,) = fix["artifactChanges"]
        made = [
            Edit(
                change["artifactLocation"]["uri"],
                (one["deletedRegion"]["startLine"], one["deletedRegion"]["startColumn"]),
                (one["deletedRegion"]["endLine"], one["deletedRegion"]["endColumn"]),
                one["insertedContent"]["text"],
            )
            for one in change["replacements"]
        ]
        assert edited(text, made) == edited(text, said.edits)


def test_what_was_refuted_and_what_is_suppressed_are_no_failures_of_sarif() -> None:
    results = [one for run in sarif(REPORT)["runs"] for one in run["results"]]
    kinds = {(one["kind"], one["level"]) for one in results if one["properties"]["evidence"] == "cleared"}
    assert kinds == {("pass", "none")}
    assert [one["suppressions"] for one in results if "suppressions" in one] == [[{"kind": "inSource"}]]


def test_what_the_configuration_silences_is_suppressed_outside_of_the_source_in_sarif() -> None:
    report = replace(REPORT, left_out=REPORT.suppressed)
    results = [one for run in sarif(report)["runs"] for one in run["results"]]
    assert [one["suppressions"] for one in results if "suppressions" in one] == [[{"kind": "external"}]]


def test_a_file_that_cannot_be_checked_is_no_success_of_sarif() -> None:
    (run,) = sarif(replace(CLEAN, problems=(Problem("a b.py", 3, "this is not valid Python"),)))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.py"


# GitLab.


def test_gitlab_gets_each_finding_once_with_a_print_of_its_own() -> None:
    issues = json.loads(rendered("gitlab", only(BRANCH, replace(BRANCH, target="another"), DATA)))
    assert [one["severity"] for one in issues] == ["critical", "critical", "major"]
    assert len({one["fingerprint"] for one in issues}) == 3
    assert issues == json.loads(rendered("gitlab", only(BRANCH, replace(BRANCH, target="another"), DATA)))
    for one in issues:  # what GitLab's documentation calls required
        assert {"description", "check_name", "fingerprint", "severity", "location"} == one.keys()
        assert {"path", "lines"} == one["location"].keys()


def test_paths_start_at_the_checkout_of_gitlab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    for name in ("gitlab", "sarif", "junit"):
        assert "sub/src/model.py" in rendered(name, only(DATA))


# JUnit.


def junit(report: Report, folder: Path) -> tuple[ET.Element, int]:
    """The document, and what a reader of it exits with: 1 where something failed."""
    file = folder / "report.xml"
    file.write_text(rendered("junit", report), "utf-8")
    verify = [sys.executable, "-m", "junitparser", "verify", str(file)]
    return _read(file), subprocess.run(verify, check=False).returncode


def _read(file: Path) -> ET.Element:
    return ET.fromstring(file.read_text("utf-8"))  # noqa: S314 - written a moment ago, by what is tested


def test_a_target_is_a_suite_and_a_stage_a_case(tmp_path: Path) -> None:
    root, code = junit(REPORT, tmp_path)
    assert code == 1
    suite = next(one for one in root if one.get("name") == TARGET.name)
    assert {case.get("name") for case in suite.iter("testcase")} >= {stage.name for stage in TARGET.stages}
    told = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert told["load"] == []
    assert told["export-non-strict"] == ["failure"]
    assert told["lower-executorch"] == ["skipped"]
    assert root.get("tests") == str(len(list(root.iter("testcase"))))


def test_notes_fail_nothing_and_a_clean_report_has_a_case_that_passes(tmp_path: Path) -> None:
    root, code = junit(CLEAN, tmp_path)
    assert (len(list(root.iter("testcase"))), code) == (1, 0)
    root, code = junit(only(replace(DATA, severity=Severity.NOTE)), tmp_path)
    assert (len(list(root.iter("system-out"))), code) == (1, 0)


def test_a_mode_that_nobody_chose_fails_no_case(tmp_path: Path) -> None:
    stages = tuple(one for one in TARGET.stages if one.name in ("load", "export-non-strict"))
    report = replace(only(targets=[replace(TARGET, stages=stages)]), mode="strict")
    assert junit(report, tmp_path)[1] == 0
    assert junit(replace(report, mode="both"), tmp_path)[1] == 1


def test_words_that_xml_cannot_hold_are_replaced(tmp_path: Path) -> None:
    root, _ = junit(only(replace(DATA, message="a\x00b\x1b[31m\ud800 <b> ]]>")), tmp_path)
    (failure,) = root.iter("failure")
    assert failure.get("message") == "a\ufffdb\ufffd[31m\ufffd <b> ]]>"


# JSON lines.


def test_json_lines_are_the_contract_of_json() -> None:
    whole = json.loads(rendered("json", REPORT))
    first, *rest = map(json.loads, rendered("json-lines", REPORT).splitlines())
    assert first == {"kind": "report", **{key: whole[key] for key in whole if key not in ("findings", "targets")}}
    kinds = [one.pop("kind") for one in rest]
    assert kinds == ["finding"] * len(whole["findings"]) + ["target"] * len(whole["targets"])
    assert rest == whole["findings"] + whole["targets"]


# Markdown.


def test_a_comment_of_a_pull_request_folds_the_diffs_of_rewrites() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(rendered("markdown", only(BRANCH, targets=[TARGET])))
    assert "details" in "".join(one.content for one in tokens if one.type == "html_block")
    (diff,) = (one.content for one in tokens if one.type == "fence" and one.info == "diff")
    assert "-        if x.sum() > 0:  # 100%, they said" in diff.splitlines()


def test_several_targets_are_a_matrix() -> None:
    other = replace(TARGET, name="other|one", stages=TARGET.stages[:1])
    tokens = MarkdownIt("commonmark").enable("table").parse(rendered("markdown", only(targets=[TARGET, other])))
    cells = [one.content for one in tokens if one.type == "inline"]
    assert cells[cells.index("target") + 1 :][: len(TARGET.stages)] == [stage.name for stage in TARGET.stages]
    assert "`other|one`" in cells


def test_a_large_report_fits_into_a_comment_and_says_what_is_left_out() -> None:
    many = tuple(replace(BRANCH, line=line, message="x" * 400) for line in range(1, 3000))
    text = rendered("markdown", only(*many))
    assert len(text.encode()) < 65_536
    assert "2899 more findings are left out here." in text
    assert len(job_summary(only(*many)).encode()) < 1 << 20
    assert "2499 more findings are left out here." in job_summary(only(*many))


# A real run.


def test_what_is_written_of_real_files_is_read_by_all(tmp_path: Path) -> None:
    for name in ("sarif", "junit", "gitlab", "json-lines", "markdown"):
        file = tmp_path / f"report.{name}"
        exportlint(ROOT, "check", "fixtures/examples", "--output-format", name, "--output-file", str(file))
    report = json.loads((tmp_path / "report.sarif").read_text("utf-8"))
    jsonschema.validate(report, SARIF_SCHEMA)
    (run,) = report["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["state-on-self"]["help"]["markdown"].startswith("**state-on-self**")
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in rules.values())
    assert any("fixes" in result for result in run["results"])
    assert any("codeFlows" in result for result in run["results"])
    counts = len(run["results"])
    assert len(json.loads((tmp_path / "report.gitlab").read_text("utf-8"))) == counts
    assert len(list(_read(tmp_path / "report.junit").iter("testcase"))) == counts

"""What people and programs see."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from inline_snapshot import external_file, snapshot
from sample import BRANCH, CLEAN, DATA, REPORT, TARGET

from exportlint.finding import Finding, Severity
from exportlint.output import FORMATS, HTML, markdown, render
from exportlint.output.markdown import cell
from exportlint.output.report import NOTHING_MORE, RenderOptions, Report
from exportlint.trial.protocol.outcomes import Outcome
from exportlint.trial.protocol.stages import GRAPH, LADDER, SCRIPT, lowering

SNAPSHOTS = Path(__file__).with_name("snapshots")
SCHEMA = json.loads((files("exportlint.output") / "schema-1.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _no_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def assert_snapshot(name: str, text: str) -> None:
    assert text == external_file(SNAPSHOTS / name, format=".txt")


# The page stands in test_html.py: it holds its script, and what that reads is what is compared.
@pytest.mark.parametrize("name", [name for name in FORMATS if name != HTML])
def test_the_sample_report_in_every_format(name: str) -> None:
    text = render(name, REPORT, RenderOptions(width=100, statistics=True))
    assert "\x1b" not in text, "colour only where it is asked for"
    assert_snapshot(f"{name}.txt", text)


def test_full_in_colour() -> None:
    text = render("full", replace(REPORT, findings=(BRANCH,), targets=()), RenderOptions(color=True))
    assert "\x1b[1;31merror" in text
    assert "\x1b" not in render("full", CLEAN, RenderOptions(color=True))


def test_full_shows_the_caret_under_the_construct() -> None:
    lines = render("full", replace(REPORT, findings=(BRANCH,), targets=()), RenderOptions()).splitlines()
    shown = next(i for i, line in enumerate(lines) if "if x.sum() > 0" in line)
    start = lines[shown].index("x.sum()")
    assert lines[shown + 1][start:] == "^" * len("x.sum() > 0")


@pytest.mark.parametrize("width", [20, 60, 200])
def test_full_never_breaks_a_link(width: int) -> None:
    text = render("full", REPORT, RenderOptions(width=width))
    assert all(link.url in text for link in BRANCH.links)


def test_full_says_of_each_target_what_happened_and_then_why() -> None:
    lines = render("full", REPORT, RenderOptions()).splitlines()
    starts = ("target ", "cause ", "error[data-dependent-branch]", "error[trial-", "warning", "Found ", "Next, ")
    order = [start for line in lines for start in starts if line.startswith(start)]
    assert order == [
        "target ", "cause ", "error[data-dependent-branch]", "error[data-dependent-branch]", "cause ", "error[trial-",
        "warning", "Found ", "Next, ",
    ]  # fmt: skip
    assert sum("instead (verified): Compute both sides" in line for line in lines) == 1, (
        "a cause says once what to write instead"
    )


def test_another_torch_than_the_one_judged_by_is_said() -> None:
    for torch, says in (("2.13.0+cpu", "target src/model.py:Net\n"), ("2.15.0", "Net, tried with torch 2.15.0\n")):
        assert says in render("full", replace(REPORT, targets=(replace(TARGET, torch=torch),)), RenderOptions())


@pytest.mark.parametrize("width", [80, 200])
def test_the_ladder_fits_its_width_and_leaves_no_word_out(width: int) -> None:
    text = render("full", REPORT, RenderOptions(width=width))
    ladder = text[: text.index("\n\n")].splitlines()
    assert max(map(len, ladder[2:])) <= width
    words = " ".join(ladder).split()
    for stage in TARGET.stages:
        assert stage.name in " ".join(words)
        assert not set(stage.brief_detail.split()) - {word.strip("()") for word in words}


def test_a_graph_is_shown_line_by_line_of_the_source(tmp_path: Path) -> None:
    here = [str(Path.cwd() / "net.py"), 14]
    graph = {
        "mode": "strict",
        "inputs": [["x", "float32[s0, 3]"]],
        "lifted": [["parameter", "linear.weight", "float32[3, 3]", None], ["constant", "c0", "float32[3]", here]],
        "mutated": [["buffer", "seen", here]],
        "functional": [["aten.add_.Tensor", "aten.add.Tensor", here]],
        "graphs": [
            ["", [[here, "y = torch.cond(p, …)", [["cond", "(float32[s0, 3])", "cond(p, true_graph_0)", False]]]]],
            ["true_graph_0", [[None, "", [["add_", "float32[]", "aten.add_.Tensor(seen, 1)", True]]]]],
        ],
        "outputs": [["getitem", "float32[s0, 3]", ""]],
        "ranges": ["s0: 2 to 64"],
    }
    targets = (replace(TARGET, graph=graph),)
    assert_snapshot("graph.txt", render("full", replace(CLEAN, targets=targets), RenderOptions(width=100)))


@pytest.mark.parametrize("report", [REPORT, CLEAN, replace(REPORT, also=NOTHING_MORE)])
def test_json_keeps_its_schema(report: Report) -> None:
    jsonschema.validate(json.loads(render("json", report, RenderOptions())), SCHEMA)


def test_the_schema_and_the_table_of_stages_name_the_same_stages() -> None:
    names, of_lowerings = SCHEMA["$defs"]["stage-name"]["anyOf"]
    assert set(names["enum"]) == {stage.name for stage in (SCRIPT, *LADDER, GRAPH)}
    assert re.match(of_lowerings["pattern"], lowering("onnxruntime").name)
    assert SCHEMA["$defs"]["outcome"]["enum"] == [outcome.value for outcome in Outcome]


def test_json_stages_point_at_their_findings() -> None:
    data = json.loads(render("json", REPORT, RenderOptions()))
    refused = data["targets"][0]["stages"][1]
    assert [data["findings"][i]["rule"] for i in refused["findings"]] == ["data-dependent-branch"]


def test_json_hides_and_counts_what_was_not_asked_for() -> None:
    data = json.loads(render("json", replace(REPORT, also=NOTHING_MORE), RenderOptions()))
    assert [f["rule"] for f in data["findings"]].count("in-place") == 0
    assert data["summary"] == {"files": 3, "errors": 3, "warnings": 1, "notes": 2, "suppressed": 1, "cleared": 1}


def many(number: int, severity: Severity) -> tuple[Finding, ...]:
    return tuple(replace(DATA, severity=severity, line=line) for line in range(1, number + 1))


def test_github_shows_ten_of_a_level_and_says_how_many_more() -> None:
    report = Report("2.13.0", "strict", 1, many(34, Severity.WARNING) + many(2, Severity.ERROR))
    lines = render("github", report, RenderOptions()).splitlines()
    assert [line.split(" ")[0] for line in lines[:12]] == ["::error"] * 2 + ["::warning"] * 10
    assert lines[12] == snapshot("24 more at level warning: GitHub shows 10 of a level; the job summary has them all")


def test_github_text_cannot_break_out_of_its_command() -> None:
    evil = replace(DATA, path="a,b:c.py", message="50%\r\n::error::gotcha", rule="x")
    (line,) = render("github", Report(None, "strict", 1, (evil,)), RenderOptions()).splitlines()[:-1]
    assert line.startswith("::warning file=a%2Cb%3Ac.py,line=5,endLine=5,")
    assert line.endswith("::50%25%0D%0A::error::gotcha")


def test_github_paths_start_at_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert "file=sub/src/model.py," in render("github", REPORT, RenderOptions())


def test_github_adds_the_job_summary_to_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    render("github", REPORT, RenderOptions())
    before, _, added = summary.read_text("utf-8").partition("\n")
    assert before == "# before"
    assert_snapshot("summary.md", added)


def test_the_summary_and_the_terminal_have_one_order() -> None:
    marks = ("target src/", "refused", "cause 1 of 2", "cause 2 of 2", "read in the source, and", "exportlint explain")
    for text in (render("full", REPORT, RenderOptions()), markdown.job_summary(REPORT)):
        places = [text.index(mark) for mark in marks]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a | b", r"a \| b"),
        ("`x < 0 | y` <b>", r"`x < 0 \| y` &lt;b>"),
        ("one ` tick <b>", "one ` tick &lt;b>"),
        ("two\nlines", "two lines"),
        ("__init__ *x", r"\_\_init\_\_ \*x"),
    ],
)
def test_markdown_cells_hold_plain_text(text: str, escaped: str) -> None:
    assert cell(text) == escaped

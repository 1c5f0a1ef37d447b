"""What a sweep found, as people read it: in a terminal, in Markdown with plots, in a browser."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path, PurePath
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from inline_snapshot import snapshot
from processes import exportlint

from exportlint.output.sweeps.charts import Bars, HeatMap, as_svg
from exportlint.output.sweeps.page import Page, Section, Table, as_html, as_markdown, as_text, relative
from exportlint.output.sweeps.summary import as_json, of_json, page_of, summarized
from exportlint.sweep.result import Cause, GraphBreak, Planned, Repair, SweepResult, SweptOutcome, SweptStage
from exportlint.sweep.store import opened
from exportlint.trial.protocol.target import Target, TargetKind

SCHEMA = json.loads((files("exportlint.output") / "sweep-1.json").read_text("utf-8"))
WRITE = "keep both in the program with `torch.cond`"
REFUSES = "torch 2.13 refuses to export it"


def planned(name: str) -> Planned:
    return Planned(f"key of {name}", Target(f"zoo:{name}", TargetKind.ZOO, name), "zoo", name.rstrip("0123456789"))


def exports(name: str) -> SweepResult:
    stages = [SweptStage("load", "passed", 1.0, "", None), SweptStage("lower-onnxruntime", "passed", 2.5, "", None)]
    return SweepResult(f"key of {name}", SweptOutcome.EXPORTS, "", "2026-01-01", 3.5, tuple(stages))


def refused(name: str, line: int, code: str, mended: SweptOutcome) -> SweepResult:
    message = f"`{code}` branches on a value (parameter `x`, line {line - 1}): {REFUSES}; tried: `{code}`"
    cause = Cause("a-branch", "export-strict", "error", f"{name}.py", line, message, WRITE, tried=True, kind="if")
    repair = Repair(mended, (("a-branch", WRITE),) if mended is SweptOutcome.EXPORTS else (), 2, "", 9.0)
    return SweepResult(
        f"key of {name}",
        SweptOutcome.REFUSED,
        f"a | {code}",
        "2026-01-01",
        4.0,
        (SweptStage("load", "passed", 1.0, "", None), SweptStage("lower-tvm", "refused", 1.0, "", None)),
        (cause,),
        (
            GraphBreak("a-branch", "a value decides here", f"{name}.py", line, 2),
            GraphBreak("", "who knows", "b.py", 1, 1),
        ),
        repair,
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.sqlite"
    names = ("net1", "net2", "tree1", "tree2", "vit")
    with opened(path, create=True) as made:
        made.begin(
            ["zoo:*"],
            {"modes": ["strict"], "lower": ["onnxruntime", "tvm"]},
            "2.13.0",
            [planned(name) for name in names],
        )
        made.add(exports("net1"))
        made.add(exports("vit"))
        made.add(refused("tree1", 7, "x > 0", SweptOutcome.EXPORTS))
        made.add(refused("tree2", 9, "x.any()", SweptOutcome.REFUSED))
    return path


@pytest.fixture
def page(store: Path) -> Page:
    with opened(store) as made:
        return page_of(summarized(made, made.sweeps()[0]))


def test_a_terminal_shows_what_most_targets_have_in_common_first(page: Page) -> None:
    assert as_text(page) == snapshot("""\
5 targets (torch 2.13.0): 2 exports, 2 refused, 1 not tried yet

Outcomes

library      targets    exports    refused    waiting
---------  ---------  ---------  ---------  ---------
zoo                5          2          2          1

Families with failures (1 of 3)

family      targets    refused
--------  ---------  ---------
zoo:tree          2          2

Causes, those of most targets first

  targets    lines  rule      what torch does                                 what to write                               one to try
---------  -------  --------  ----------------------------------------------  ------------------------------------------  --------------------------
        2        2  a-branch  `…` branches on a value: torch 2.13 refuses to  keep both in the program with `torch.cond`  exportlint trial zoo:tree1
                              export it                                       (tried on 2)

Rewrites that were tried

1 of 2 that failed export, and agree with eager, with the rewrites that were tried on them. No file was written.

  targets  rule      what was written                            one of them
---------  --------  ------------------------------------------  -------------
        1  a-branch  keep both in the program with `torch.cond`  zoo:tree1

Graph breaks of torch.compile

  targets    breaks  rule      why                   one place    one target
---------  --------  --------  --------------------  -----------  ------------
        2         4  a-branch  a value decides here  tree1.py:7   zoo:tree1
        2         2  no rule   who knows             b.py:1       zoo:tree1

Lowerings

family    onnxruntime    tvm
--------  -------------  ------
zoo:tree                 0 of 2
zoo:net   1 of 1
zoo:vit   1 of 1

Targets that do not export

target     outcome    why
---------  ---------  -----------
zoo:tree1  refused    a | x > 0
zoo:tree2  refused    a | x.any()

Stages

stage                passed    refused  differs    crashed    timed-out      seconds a target
-----------------  --------  ---------  ---------  ---------  -----------  ------------------
load                      4                                                              1.00
lower-onnxruntime         2                                                              2.50
lower-tvm                            2                                                   1.00
""")


def test_a_cause_is_told_once_for_all_lines_of_its_kind(store: Path) -> None:
    with opened(store) as made:
        (cause,) = made.causes(1)
        assert (cause.targets, cause.places, cause.place, cause.example) == (2, 2, "tree1.py:7", "zoo:tree1")
        assert cause.message == f"`…` branches on a value: {REFUSES}"
        assert (cause.mend, cause.tried) == (WRITE, 2)
        data = json.loads(as_json(summarized(made, made.sweeps()[0])))
        again = of_json(json.dumps(data))
        assert page_of(again) == page_of(summarized(made, made.sweeps()[0]))
    jsonschema.validate(data, SCHEMA)
    assert [one["after"] for one in data["repairs"]] == ["exports", "refused"]
    assert data["lowerings"][1] == {"family": "zoo:tree", "lowering": "tvm", "passed": 0, "tried": 2}


def test_markdown_shows_plots_where_it_was_given_a_folder(page: Page) -> None:
    text, pictures = as_markdown(page, PurePath("plots"))
    assert "| a \\| x > 0" in text
    assert [line for line in text.splitlines() if line.startswith("![")] == [
        f"![{' '.join(name.removesuffix('.svg').split('-')[1:]).capitalize()}](plots/{name})" for name in pictures
    ]
    assert len(pictures) == 5
    without, none = as_markdown(page)
    assert ("![" in without, none) == (False, {})


def test_links_to_pictures_lead_from_the_page() -> None:
    assert relative(PurePath("docs/plots"), PurePath("docs/page.md")) == PurePath("plots")
    assert relative(PurePath("plots"), PurePath("docs/page.md")) == PurePath("../plots")
    assert relative(PurePath("plots"), None) == PurePath("plots")


@pytest.mark.parametrize(
    "chart",
    [
        Bars("Some bars", {"<a & $b$>": {"exports": 2, "refused": 1}, "c": {"exports": 0.5}}, "targets"),
        HeatMap("A map", {"<a & $b$>": {"tvm": (1, 3)}, "c": {"onnx": (2, 2)}}, "passed"),
    ],
)
def test_a_plot_is_the_same_every_time_and_its_words_can_be_read(chart: Bars | HeatMap) -> None:
    picture = as_svg(chart)
    assert picture == as_svg(chart)
    words = [one.text for one in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 (ours)
    assert {"<a & $b$>", "c"} <= set(words)
    assert set(words) >= ({"exports", "refused"} if isinstance(chart, Bars) else {"1/3", "2/2"})
    # It has the colours of the page that it lies in, dark or light.
    assert "var(--ink" in picture
    assert "#010203" not in picture


def test_a_page_for_a_browser_has_all_rows_and_escapes_what_they_say() -> None:
    rows = [(number, f"<script>alert({number})</script> `code`") for number in range(200)]
    html = as_html(Page("200 rows", [Section("All", [Table(("n", "what"), rows, "rows", 5)])], "more"))
    assert html.count("<tr>") == 201
    assert "<script>alert" not in html
    assert "<code>code</code>" in html


def test_the_command_writes_each_of_them(store: Path) -> None:
    asked = ("sweep", "show", "--store", store.name, "--output-format")
    done = exportlint(store.parent, *asked, "markdown", "--output-file", "docs.md", "--pictures", "plots")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (store.parent / "docs.md").read_text("utf-8")
    assert text.startswith("5 targets (torch 2.13.0): 2 exports, 2 refused, 1 not tried yet\n")
    assert all(f"(plots/{one.name})" in text for one in (store.parent / "plots").iterdir())
    assert exportlint(store.parent, *asked, "html").stdout.startswith("<!DOCTYPE html>")
    wrong = exportlint(store.parent, *asked, "html", "--pictures", "plots")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "exportlint: error: --pictures goes with --output-format markdown\n",
    )

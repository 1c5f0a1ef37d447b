"""The page as text: what is in it, and that it is safe, the same each time, and asked for with a file."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inline_snapshot import external_file, snapshot
from page_sample import HOSTILE, PAGE, hostile, many_findings
from processes import EXPORTLINT, exportlint
from sample import CLEAN, REPORT
from test_formats import SNAPSHOTS

from exportlint.output import render
from exportlint.output.report import RenderOptions, Report

if TYPE_CHECKING:
    from pathlib import Path

NET = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.data * 2\n"


def page(report: Report) -> str:
    return render("html", report, RenderOptions(statistics=True))


def data_of(text: str) -> dict[str, Any]:
    _, _, rest = text.partition('<script type="application/json" id="report">')
    found: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return found


def test_what_the_script_reads() -> None:
    text = json.dumps(data_of(page(PAGE)), indent=1, ensure_ascii=False) + "\n"
    assert text == external_file(SNAPSHOTS / "html.json", format=".txt")


def test_the_frame_holds_what_is_needed_without_the_script() -> None:
    text = page(REPORT)
    assert "\x1b" not in text
    assert REPORT.headline in text
    without = text[text.index("<noscript>") : text.index("</noscript>")]
    assert without.count("<li>") == len(REPORT.shown)
    assert "`x.tolist()` &lt;b&gt;" in without
    assert re.findall(r'class="cell is-([\w-]+)"', text) == [stage.status for stage in REPORT.targets[0].stages]


def test_a_clean_report_is_a_page_too() -> None:
    text = page(CLEAN)
    assert "Found nothing in 1 file" in text
    assert 'id="ladder"' not in text


@pytest.mark.parametrize("report", [PAGE, CLEAN, hostile()])
def test_the_same_report_is_the_same_bytes(report: Report) -> None:
    assert page(report) == page(report)


def test_nothing_of_a_report_ends_what_it_stands_in() -> None:
    """All that a browser could take for markup is in escapes: the page has the elements of its template, no more."""
    text = page(hostile())
    assert HOSTILE not in text
    assert text.count("<script") == text.count("</script") == page(CLEAN).count("<script") == 2
    assert "<img" not in text
    assert "<!--" not in text
    assert "javascript:" not in json.dumps([link for one in data_of(text)["findings"] for link in one["links"]])


def test_only_its_own_script_and_style_run() -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page(CLEAN))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_names_that_are_no_text_are_written_all_the_same() -> None:
    text = page(Report("2.13.0", "strict", 1, many_findings(1).findings, problems=(REPORT.problems[0],)))
    assert text.encode("utf-8")
    odd = Report(None, "strict", 1, tuple(_renamed("src/\udcff.py")))
    assert data_of(page(odd))["findings"][0]["path"] == "src/\udcff.py"
    assert page(odd).encode("utf-8")


def _renamed(path: str) -> Any:
    return [replace(one, path=path) for one in many_findings(1).findings]


def test_two_findings_of_one_fingerprint_have_addresses_of_their_own() -> None:
    twice = many_findings(1).findings * 2
    assert [one["id"] for one in data_of(page(Report(None, "strict", 1, twice)))["findings"]] == snapshot(
        ["0000000000000000", "0000000000000000-2"]
    )


def test_a_file_is_written_and_the_run_ends_as_with_any_format(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    done = exportlint(tmp_path, "check", "net.py", "--output-format", "html", "--output-file", "report.html")
    assert (done.returncode, done.stdout) == (1, "")
    (finding,) = data_of((tmp_path / "report.html").read_text("utf-8"))["findings"]
    assert (finding["rule"], finding["span"][:2]) == ("tensor-data-access", [6, 16])
    assert finding["trail"] == [{"text": "parameter `x` of forward", "path": "net.py", "line": 5}]


@pytest.mark.parametrize("command", ["check", "trial"])
def test_a_terminal_gets_no_page(tmp_path: Path, command: str) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*EXPORTLINT, command, "net.py", "--output-format", "html"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert done.stderr == snapshot(
        "exportlint: error: --output-format html makes a page for a browser: name a file for it, as in --output-file report.html\n"
    )

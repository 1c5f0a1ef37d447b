"""The site of the documentation: it builds without a warning, and what it links is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sources import ROOT

from exportlint.pages.catalogue import lowered, measured
from exportlint.registry import TESTED_TORCH, all_rules
from exportlint.trial.protocol.outcomes import MODES
from exportlint.truth.fixture import read_fixture

pytestmark = pytest.mark.slow
OWN_RULES = [name for name, info in all_rules().items() if info.module.startswith("exportlint_rules.")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs/site/build_site.py"), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, ""), built.stdout + built.stderr
    return folder


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {""}
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in {"href", "src"} and value:
                self.links.append(value)

    def handle_data(self, data: str) -> None:
        self.words += data


def test_every_link_inside_of_the_site_leads_to_something(site: Path) -> None:
    pages = {path: _Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.is_file() and (target not in pages or unquote(parts.fragment) in pages[target].anchors)
            if not there:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert len(pages) > len(OWN_RULES)
    assert broken == []


def test_what_leads_to_the_repository_is_a_file_of_it(site: Path) -> None:
    links = {link for path in site.rglob("*.html") for link in _Page(path.read_text("utf-8")).links}
    files = {link.partition("/blob/main/")[2].partition("#")[0] for link in links if "/blob/main/" in link}
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("name", OWN_RULES)
def test_a_rule_has_a_page_with_what_was_measured(name: str, site: Path) -> None:
    info = all_rules()[name]
    words = " ".join(_Page((site / f"rules/{name}.html").read_text("utf-8")).words.split())
    if info.cls.lowerings:
        told = [lowered(info, TESTED_TORCH, target) for target in info.cls.lowerings]
    else:
        told = [measured(info, version, mode) for version in info.truth() for mode in MODES]
    bad = [one.name for one in read_fixture(info.fixture).classes if not one.good]
    assert any(told)
    assert [text for text in (info.summary.replace("`", ""), *told, *bad, f"Bad: {bad[0]}") if text not in words] == []


def test_a_search_finds_each_page_by_a_word_of_its_title(site: Path) -> None:
    index = json.loads((site / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(").rstrip(")"))
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    found = {
        index["docnames"][number]
        for numbers in index["titleterms"].values()
        for number in (numbers if isinstance(numbers, list) else [numbers])
    }
    assert pages - {"genindex", "search"} == found


def test_each_situation_that_the_project_was_asked_for_is_named() -> None:
    asked = re.findall(r"^### (\w+)$", (ROOT / "docs/coverage.md").read_text("utf-8"), re.MULTILINE)
    told = (ROOT / "docs/situations.md").read_text("utf-8")
    assert asked
    assert [case for case in asked if f"(coverage.md#{case.lower()})" not in told] == []

"""What README.md and docs/ show is so: files are written, blocks are run, and what they print is what is shown.

Marks stand in a comment before a block:

    file: NAME        the block is written to the file
    exit: CODE        the command ends with this exit code, and not with 0
    output            the block before it printed this; times and sizes of files are not compared
    not run: WHY      the block cannot be run here
    first, tests, light   set-up commands of README.md, which .ci/run runs
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from sources import ROOT

from exportlint.config.pyproject import Table, TargetTable
from exportlint.output import FORMATS

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SETUP = {"first", "tests", "light"}
BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```\n", re.DOTALL)
STATUSES = "passed|compiled|refused|differs|crashed|timed-out"
SECONDS = re.compile(rf"^(  \S+ +(?:{STATUSES}) +)\d+\.\d\d\b", re.MULTILINE)
BYTES = re.compile(r"[\d,]+(?:\.\d)? (?:bytes|kB)")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    mark: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(m["mark"] or "", m["language"], m["text"]) for m in BLOCK.finditer(page.read_text("utf-8"))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the repository's examples, where `exportlint` and `python` are those of the tests."""
    shutil.copytree(ROOT / "fixtures/examples", tmp_path / "fixtures/examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_do_what_it_shows(page: Path, here: Path) -> None:
    printed = ""
    for block in blocks(page):
        if block.mark.startswith("file: "):
            file = here / block.mark.removeprefix("file: ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
        elif block.mark == "output":
            assert steady(block.text) in steady(printed)
        elif block.mark not in SETUP and not block.mark.startswith("not run: "):
            printed = run(block)


def run(block: Block) -> str:
    """What it prints on stdout."""
    commands = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    assert block.language in commands, f"a block that is not run says why: {block}"
    done = subprocess.run([*commands[block.language], block.text], capture_output=True, text=True, check=False)
    expected = int(block.mark.removeprefix("exit: ") or 0)
    assert done.returncode == expected, f"{block.text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def steady(text: str) -> str:
    """Without times, sizes and how far there was time to try, and the blanks before them."""
    text = re.sub(
        r"(in tenths, and) \d+ more", r"\1 N more", text
    )  # inputs of a verdict, of which a slow machine tries fewer
    text = re.sub(r"tried up to \d+", "tried up to N", BYTES.sub("N bytes", SECONDS.sub(r"\1 0.00", text)))
    return re.sub(r" +", " ", text).rstrip()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "rules/README.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        file = page.parent / target
        assert file.exists(), f"{page.name} links {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            assert anchor[1:] in {heading.lower().replace(" ", "-") for heading in headings}


def test_the_readme_is_short_and_fits_a_terminal() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 130
    assert [line for line in lines if len(line) > 110] == []
    assert {block.mark for block in blocks(ROOT / "README.md")} >= SETUP


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    assert [page.name for page in PAGES[1:] if page.name != "README.md" and f"({page.name})" not in index] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("configuration.md", (*Table.__struct_encode_fields__, *TargetTable.__struct_encode_fields__)),
        ("output.md", tuple(FORMATS)),
    ],
)
def test_every_name_is_documented(page: str, names: tuple[str, ...]) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []

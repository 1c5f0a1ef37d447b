"""Build the documentation as a site of HTML: `python docs/site/build_site.py [FOLDER]`, by default into build/site.

The pages are gathered in `build/site-pages` first: those that people write, with their links turned to where things
stand on the site or in the repository, and those that are made of rules, measurements and code. No warning is allowed.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import reference_pages
import rule_pages
from sphinx.cmd.build import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/exportlint/exportlint/blob/main"

# Files of the repository that are pages of the site, beside those of docs/ and the rules.
_ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "all-pages.md",
    "rules/README.md": "rules/index.md",
    "CHANGELOG.md": "changelog.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    ".github/SECURITY.md": "security.md",
}
_MADE = {
    "configuration-keys.md": reference_pages.configuration_page,
    "commands.md": reference_pages.commands_page,
    "api-use.md": reference_pages.use_page,
    "api-rules.md": reference_pages.rules_api_page,
}


def places() -> dict[str, str]:
    """Where each file of the repository that has a page stands on the site."""
    written = {f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")}
    made = {f"docs/{name}": name for name in _MADE}  # so that they can be linked like the others
    rules = {f"rules/{info.source.name}": f"rules/{info.name}.md" for info in rule_pages.own_rules()}
    return {**written, **made, **rules, **_ELSEWHERE}


def pages() -> Iterator[tuple[str, str]]:
    """Each page of the site, as its place and its text."""
    where = places()
    for source, place in where.items():
        if source.endswith(".md") and place not in _MADE:
            text = (ROOT / source).read_text("utf-8")
            yield place, with_links(_with_titles(text), source, where)
    for place, made in _MADE.items():
        yield place, with_links(made(), f"docs/{place}", where)
    for info in rule_pages.own_rules():
        # The link to its own source leads to the repository.
        others = {source: place for source, place in where.items() if source != f"rules/{info.source.name}"}
        yield f"rules/{info.name}.md", with_links(rule_pages.rule_page(info), f"rules/{info.source.name}", others)


_MARKED = re.compile(r"<!-- (?P<mark>[^>]+) -->\n```(?P<language>\w+)\n")
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)


def _with_titles(text: str) -> str:
    """The marks that tests/test_docs.py reads, as titles of the blocks; the other comments go."""
    return _COMMENT.sub("", _MARKED.sub(_titled, text))


def _titled(found: re.Match[str]) -> str:
    mark, language = found["mark"], found["language"]
    title = mark.removeprefix("file: ") if mark.startswith("file: ") else "prints" if mark == "output" else ""
    return f"```{{code-block}} {language}\n:caption: {title}\n\n" if title else f"```{language}\n"


_PICTURE = re.compile(r"\.(?:png|svg)$")
_LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def with_links(text: str, source: str, where: dict[str, str]) -> str:
    """The links of a file of the repository, as links of its page; ValueError for one that leads nowhere."""
    here = posixpath.dirname(where.get(source) or places()[source])

    def turned(found: re.Match[str]) -> str:
        target, anchor = (
            posixpath.normpath(posixpath.join(posixpath.dirname(source), found["target"])),
            found["anchor"] or "",
        )
        if target in where:
            return f"]({posixpath.relpath(where[target], here or '.')}{anchor})"
        if not (ROOT / target).exists():
            raise ValueError(f"{source} links {found['target']}, which is not there")
        if _PICTURE.search(target):
            return f"]({posixpath.relpath(target, here or '.')})"
        return f"]({REPOSITORY}/{target}{anchor})"

    parts = _CODE.split(text)
    return "".join(part if part.startswith("`") else _LINK.sub(turned, part) for part in parts)


_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


# What the side of each page shows. A page that stands nowhere here is a warning, and so an error.
NAVIGATION = {
    "Start": ["first-minute.md", "tutorial.md", "situations.md", "All pages <all-pages.md>"],
    "Coming from": ["from-torchscript.md", "from-onnx-export.md", "from-torch-compile.md"],
    "How to": [
        "troubleshooting.md",
        "dynamic-sizes.md",
        "repair.md",
        "verify.md",
        "lowering.md",
        "sweep.md",
        "graph-breaks.md",
        "adopting.md",
        "ci.md",
        "upgrading.md",
        "editors.md",
        "agents.md",
    ],
    "Reference": [
        "rules/index.md",
        "targets-and-trials.md",
        "commands.md",
        "configuration.md",
        "configuration-keys.md",
        "output.md",
        "python-api.md",
        "api-use.md",
        "api-rules.md",
    ],
    "Project": [
        "writing-a-rule.md",
        "writing-a-lowering.md",
        "writing-documentation.md",
        "architecture.md",
        "coverage.md",
        "libraries.md",
        *sorted(path.name for path in (ROOT / "docs").glob("library-*.md")),
        "changelog.md",
        "contributing.md",
        "security.md",
    ],
}


def with_navigation(place: str, text: str) -> str:
    """The first page leads to all others, and the page of the rules to each rule."""
    if place == "index.md":
        return text + "".join(_toctree(caption, places) for caption, places in NAVIGATION.items())
    if place == "rules/index.md":
        return text + _toctree("", [f"{info.name}.md" for info in rule_pages.own_rules()])
    return text


def _toctree(caption: str, places: list[str]) -> str:
    return "\n".join(
        ["", "```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), "", *places, "```", ""]
    )


def build(site: Path, gathered: Path) -> int:
    """Sphinx's exit code: not 0 where there is a warning, and all warnings are shown."""
    gather(gathered)
    strictly = ["--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "--quiet", "--jobs=auto"]
    here = Path(__file__).parent
    with TemporaryDirectory() as doctrees:
        return main([*strictly, "-c", str(here), "-b", "html", "-d", doctrees, str(gathered), str(site)])


def gather(folder: Path) -> None:
    """Write each page of the site, as Markdown."""
    shutil.rmtree(folder, ignore_errors=True)
    for place, text in pages():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_navigation(place, text), "utf-8")
    # Where the repository has them, so that a link to one is the same in both.
    for picture in (ROOT / "docs").rglob("*"):
        if _PICTURE.search(picture.name):
            copy = folder / picture.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, copy)


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/site"
    shutil.rmtree(asked, ignore_errors=True)
    sys.exit(build(asked, ROOT / "build/site-pages"))

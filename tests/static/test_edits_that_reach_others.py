"""One edit for each way in which a file can matter to another one, which says something else from then on.

The edited files define no module, so whatever is reported of them comes from `net.py`, which nobody edits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.files import SourceFile
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, StaticPass, check

if TYPE_CHECKING:
    from pathlib import Path

HARD = "def hard(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
EASY = "def hard(x):\n    return -x\n"
NET = "from torch import nn\n{head}\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return {value}\n"
EDITS: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    # name -> files, and what some of them are after the edit
    "a function that is called": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)"), "other.py": EASY},
        {"other.py": HARD},
    ),
    "a function that is called as an attribute of its file": (
        {"net.py": NET.format(head="import other", value="other.hard(x)"), "other.py": EASY},
        {"other.py": HARD},
    ),
    "a function behind a star": (
        {
            "net.py": NET.format(head="from all import *", value="hard(x)"),
            "all.py": "from other import *",
            "other.py": EASY,
        },
        {"other.py": HARD},
    ),
    "a base class": (
        {
            "net.py": NET.format(head="from other import Base", value="self.hard(x)").replace("(nn", "(Base, nn"),
            "other.py": "class Base:\n    def hard(self, x):\n        return x\n",
        },
        {"other.py": "class Base:\n    def hard(self, x):\n        return x if x.sum() > 0 else -x\n"},
    ),
    "a number that decides a test": (
        {
            "net.py": NET.format(head="from other import LIMIT, hard", value="hard(x) if LIMIT > 3 else x"),
            "other.py": "LIMIT = 2\n" + HARD,
        },
        {"other.py": "LIMIT = 4\n" + HARD},
    ),
    "a number that is no longer a constant": (
        {
            "net.py": NET.format(head="from other import FAST, hard", value="hard(x) if FAST else x"),
            "other.py": "FAST = False\ndef turn_on():\n    pass\n" + HARD,
        },
        {"other.py": "FAST = False\ndef turn_on():\n    global FAST; FAST = True\n" + HARD},
    ),
    "a decorator that begins to fill a dictionary": (
        {
            "net.py": NET.format(head="from other import _kinds", value="_kinds['hard'](x)"),
            "other.py": "_kinds = {}\ndef register(fn):\n    return fn\n@register\n" + HARD,
        },
        {"other.py": "_kinds = {}\ndef register(fn):\n    _kinds[fn.__name__] = fn; return fn\n@register\n" + HARD},
    ),
    "an import that appears in a function": (
        {
            "net.py": NET.format(head="import other", value="other.hard(x)"),
            "other.py": "def load():\n    pass\n",
            "third.py": HARD,
        },
        {"other.py": "def load():\n    from third import hard\n"},
    ),
    "an import that leads elsewhere": (
        {
            "net.py": NET.format(head="from other import hard", value="hard(x)"),
            "other.py": "from second import hard",
            "second.py": EASY,
            "third.py": HARD,
        },
        {"other.py": "from third import hard"},
    ),
    "a file that appears": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)")},
        {"other.py": HARD},
    ),
    "a file that is removed": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)"), "other.py": HARD},
        {"other.py": None},
    ),
    "a file that can no longer be read, though its name is there": (
        {
            "net.py": NET.format(head="from other import FAST", value="(x if x.sum() > 0 else -x) if FAST else x"),
            "other.py": "FAST = False\n",
        },
        {"other.py": None, "other.py/inside.txt": ""},
    ),
    "a file that cannot be parsed": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)"), "other.py": HARD},
        {"other.py": HARD + "def f(:\n"},
    ),
    "a file that becomes a package": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)"), "other.py": EASY},
        {"other.py": None, "other/__init__.py": HARD},
    ),
    "lines that move": (
        {"net.py": NET.format(head="from other import hard", value="hard(x)"), "other.py": HARD},
        {"other.py": "# A remark.\n\n" + HARD},
    ),
}


@pytest.mark.parametrize("wanted", [Wanted.NONE, Wanted.FIRST])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_what_is_said_through_another_file(tmp_path: Path, edit: str, wanted: Wanted) -> None:
    files, later = EDITS[edit]
    rules = list(all_rules().values())
    fresh, kept = StaticOptions(rewrites=wanted), StaticOptions(rewrites=wanted, cache=tmp_path / "cache")
    living = StaticPass(rules, fresh)
    write(tmp_path, dict(files))
    before = living.check(sources(tmp_path)).findings
    assert check(sources(tmp_path), rules, kept).findings == before
    write(tmp_path, later)
    after = check(sources(tmp_path), rules, fresh)
    assert after.findings != before
    assert repr(living.check(sources(tmp_path))) == repr(after)
    assert repr(check(sources(tmp_path), rules, kept)) == repr(after)


def write(folder: Path, texts: dict[str, str | None] | dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")


def sources(folder: Path) -> list[SourceFile]:
    paths = sorted(path for path in folder.rglob("*.py") if path.is_file())
    return [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]

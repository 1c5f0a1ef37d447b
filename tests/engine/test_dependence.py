"""What a judgement rests on in a file that it opened, and which edits of the file leave it standing."""

from __future__ import annotations

import ast

import pytest

from exportlint.engine.source.dependence import Asked, dependence_on
from exportlint.engine.source.parsed import Parsed

FILE = """import os
from math import pi

LIMIT = 4
if os.name == "nt":
    def path(): return 1
else:
    def path(): return 2
names = {}


def asked(x):
    return x + LIMIT


def unasked(x):
    return x - pi


class Net:
    def run(self): ...
"""


def parsed(text: str) -> Parsed:
    return Parsed(ast.parse(text), text)


def stands(asked: Asked, old: str, new: str, *, places: bool = False) -> bool:
    assert old in FILE
    dependence = dependence_on(parsed(FILE), "one", asked, places=places)
    later = FILE.replace(old, new)
    return dependence.holds("other", lambda: parsed(later))


def asked_for(*names: str) -> Asked:
    return Asked(definitions=dict.fromkeys(names))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x - pi", "x - 3"),
        ("def unasked", "# a remark\n\n\ndef unasked"),
        ("def run(self): ...", "def run(self): return 1"),
        ("LIMIT = 4", "LIMIT = 5"),
        ("return 1", "return 3"),
    ],
)
def test_what_nobody_looked_up_may_change(old: str, new: str) -> None:
    assert stands(asked_for("asked"), old, new)


@pytest.mark.parametrize(
    ("names", "old", "new"),
    [
        (["asked"], "x + LIMIT", "x * LIMIT"),
        (["asked"], "def asked", "@staticmethod\ndef asked"),
        (["LIMIT"], "LIMIT = 4", "LIMIT = 5"),
        (["path"], "return 1", "return 3"),
        (["Net"], "def run(self): ...", "def run(self): return 1"),
        # What everybody sees: names, imports wherever they stand, and what else the top level does.
        ([], "def unasked", "def renamed"),
        ([], "class Net", "class asked"),
        ([], "from math import pi", "from math import tau as pi"),
        ([], "return x - pi", "import math as os; return x - pi"),
        ([], 'os.name == "nt"', "os.name"),
        ([], "names = {}", "names = {}\nnames[1] = 2"),
    ],
)
def test_what_was_looked_up_may_not(names: list[str], old: str, new: str) -> None:
    assert not stands(asked_for(*names), old, new)


def test_lines_count_for_who_speaks_of_them() -> None:
    assert stands(asked_for("asked"), "names = {}", "names = {}\n")
    assert not stands(asked_for("asked"), "names = {}", "names = {}\n", places=True)
    assert stands(asked_for("asked"), "def unasked", "\ndef unasked", places=True), "below all that was looked up"


def test_questions_about_the_text_are_asked_again() -> None:
    searched = Asked(matches={r"\bpi\b": True, "torch": False})
    assert stands(searched, "x - pi", "pi - x")
    assert not stands(searched, "x - pi", "x - torch")
    bound = Asked(constants={"LIMIT": True, "names": True})
    assert stands(bound, "LIMIT = 4", "LIMIT = 5")
    assert not stands(bound, "    return x + LIMIT", "    global LIMIT\n    return x + LIMIT")


def test_a_file_that_was_read_whole_or_is_no_longer_python() -> None:
    assert not stands(Asked(whole=True), "x - pi", "x - 3")
    assert dependence_on(parsed(FILE), "one", Asked(whole=True), places=False).holds("one", lambda: None)
    assert not dependence_on(parsed(FILE), "one", asked_for("asked"), places=False).holds("other", lambda: None)

"""Rewrites of files that other people wrote: they stay Python, come to an end, and leave every other line as it is."""

import ast
import difflib
from importlib.util import find_spec
from pathlib import Path

import pytest
from rewritten_text import found_in, rewritten

from exportlint.edited_source import edited

pytestmark = pytest.mark.slow

ROUNDS = 4
MODELS = ("led/modeling_led.py", "tapas/modeling_tapas.py", "deberta/modeling_deberta.py", "wavlm/modeling_wavlm.py")


@pytest.fixture(params=MODELS)
def text(request):
    folder = Path(find_spec("transformers").origin).parent / "models"
    return (folder / request.param).read_text("utf-8")


def test_each_rewrite_changes_the_lines_that_it_names_and_no_other(text):
    rewrites = [fix for finding in found_in(text) for fix in finding.rewrites]
    assert rewrites
    for fix in rewrites:
        after = edited(text, fix.edits)
        ast.parse(after)
        named = {line for edit in fix.edits for line in range(edit.start[0], edit.end[0] + 1)}
        assert changed_lines(text, after) <= named, fix.description


def test_rewrites_come_to_an_end(text):
    for _ in range(ROUNDS):
        before, text = text, rewritten(text)
        if text == before:
            return
    pytest.fail("they go on")


def changed_lines(before: str, after: str) -> set[int]:
    """Numbers of lines of `before` that are not in `after`; lines that were only put in have none."""
    blocks = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return {line + 1 for kind, start, end, *_ in blocks if kind != "equal" for line in range(start, end)}

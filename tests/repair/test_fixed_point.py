"""Rewrites come to an end: what was rewritten is not rewritten again, and stays Python."""

import pytest
from rewritten_text import rewritten

from exportlint.registry import all_rules

pytestmark = pytest.mark.slow

ROUNDS = 5  # overlapping rewrites wait for a later round


@pytest.mark.parametrize(
    "info", [info for info in all_rules().values() if info.cls.mended_by], ids=lambda info: info.name
)
def test_rewrites_of_a_fixture_come_to_an_end(info):
    text = info.fixture.read_text("utf-8")
    for _ in range(ROUNDS):
        before, text = text, rewritten(text)
        if text == before:
            return
    pytest.fail("they go on")

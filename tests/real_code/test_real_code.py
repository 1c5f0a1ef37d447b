"""The page about real code is about the rules that there are."""

import re
from pathlib import Path

from exportlint.registry import all_rules

PAGE = Path(__file__).with_name("REPORT.md")


def test_the_page_names_every_rule_about_export_once() -> None:
    named = re.findall(r"^\| ([a-z-]+) ", PAGE.read_text("utf-8"), re.MULTILINE)
    of_export = [name for name, rule in all_rules().items() if not rule.cls.lowerings]
    assert sorted(set(named) - {"rule", "all"}) == sorted(of_export)


def test_no_rule_says_more_that_is_wrong_than_right() -> None:
    """On lines that measured models ran: errors and warnings, hits against false alarms."""
    for row in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) > 1 and cells[0] in all_rules():
            hits, alarms = int(cells[1]) + int(cells[2]), int(cells[4]) + int(cells[5])
            assert alarms <= hits or alarms == 0, f"{cells[0]}: {alarms} false alarms, {hits} hits; make it a note"

"""The pages that the findings of a rule link to: those that `exportlint.reference` knows to exist."""

from __future__ import annotations

from functools import cache

from exportlint.finding import Link
from exportlint.registry import all_rules


@cache
def links_of(rule: str) -> tuple[Link, ...]:
    """ExportDB cases, graph breaks and documents that the rule declares, in that order."""
    from exportlint.reference.lookup import link_for_case, link_for_graph_break  # noqa: PLC0415 (only for files with findings)

    cls = all_rules()[rule].cls
    found = [*map(link_for_case, cls.exportdb), *map(link_for_graph_break, cls.graph_breaks)]
    return (*(link for link in found if link), *(Link("docs", title, url) for title, url in cls.docs))

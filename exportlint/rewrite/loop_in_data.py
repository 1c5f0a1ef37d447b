"""Loop in data: loops that data ends, skips or counts take every step there may be, or become an operator."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from exportlint.rewrite.decide_in_data import has_places, rewritten, rewritten_file
from exportlint.rewrite.recurrences import recurrence
from exportlint.rewrite.rows_at_once import rows_at_once, several_at_once
from exportlint.rewrite.straight_line import Style
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Proposal, Site

_WAYS = (Style(loops="masked"), Style(loops="masked", guarded=True), Style(loops="operator"))


class LoopInData:
    """Loops that data ends (`while`, `break`), skips (`continue`) or counts (`range(n)`, `mask.nonzero()`)."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        for way in (rows_at_once, recurrence):
            with suppress(CannotError):
                yield from way(site)
        ways = _WAYS if has_places(site.view) else [way for way in _WAYS if not way.guarded]
        for everything in (False, True):
            for style in ways:
                if (proposal := rewritten(site, style, everything=everything)) is not None:
                    yield proposal
        for style in ways:
            if (proposal := rewritten_file(site, style)) is not None:
                yield proposal
        with suppress(CannotError):
            yield from several_at_once(site)

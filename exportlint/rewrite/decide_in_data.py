"""Decide in data: what Python decides by the value of a tensor is decided by torch, inside of the program."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from exportlint.rewrite.straight_line import StraightLine, Style, wanted_at
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site

_HOW = "compute both sides and select"


class DecideInData:
    """Any nest of `if`, `elif`, ternary, `and`, `or`, early `return` and `match` on data."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        for everything in (False, True):
            if (proposal := rewritten(site, Style(), _HOW, everything=everything)) is not None:
                yield proposal
        if (proposal := rewritten_file(site, Style(), _HOW)) is not None:
            yield proposal


def rewritten(site: Site, style: Style, how: str, *, everything: bool) -> Proposal | None:
    """The function after its decisions, loops and reads are written in tensors: those at the site, or `everything`."""
    view = site.fresh_view()
    wanted = None if everything else wanted_at(view, site.node)
    try:
        body = StraightLine(view, style, wanted).body()
    except CannotError:
        return None
    if _same(body, view.body):
        return None
    draft = site.draft()
    put(draft, view.body, body)
    return Proposal(f"{how}{', in the whole function' if everything else ''}", draft)


def rewritten_file(site: Site, style: Style, how: str) -> Proposal | None:
    """Every function of the file that the engine ran, likewise: what one gives back, another one goes on with."""
    draft, changed = site.draft(), 0
    for view in site.views():
        if view.is_unseen:
            continue
        try:
            body = StraightLine(view, style).body()
        except CannotError:
            continue
        if not _same(body, view.body):
            changed += 1
            put(draft, view.body, body)
    return Proposal(f"{how}, in all functions of the file", draft) if changed > 1 else None


def _same(new: Sequence[ast.stmt], old: Sequence[ast.stmt]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def put(draft: Draft, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> None:
    """The new statements of a block in the place of the old ones; those that are in both stay where they are."""
    kept, known = {id(one) for one in new}, {id(one) for one in old}
    place = 0
    for number, statement in enumerate(old):
        if id(statement) in kept:
            while new[place] is not statement:
                place += 1
            place += 1
            continue
        # What stands for one of the next statements goes into its place, where the author's comment on it is.
        following = {id(one) for one in takewhile(lambda one: id(one) not in kept, old[number + 1 :])}
        taken: list[ast.stmt] = []
        while place < len(new) and id(new[place]) not in known:
            if id(getattr(new[place], "origin", None)) in following:
                break
            taken.append(new[place])
            place += 1
        draft.replace(statement, taken)

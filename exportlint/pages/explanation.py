"""What a rule, an ExportDB case, a tag, a graph-break id or a message of torch means; offline, as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tabulate import tabulate

from exportlint.errors import UserError
from exportlint.pages.catalogue import lowered, measured, repaired, source, versions
from exportlint.reference import lookup
from exportlint.reference.stored import stored
from exportlint.registry import RuleInfo, all_rules
from exportlint.trial.protocol.outcomes import MODES
from exportlint.truth.fixture import Fixture, read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.reference.torch_sources import ExportDBCase, GraphBreak


def explain(text: str) -> str:
    """The page of what is called so; for other words and for a message of torch, what they may belong to.

    UserError where nothing fits.
    """
    blocks = _called(text.strip()) or _found(text)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _called(word: str) -> Iterator[str] | None:
    name = word.lower()
    if rule := all_rules().get(name.replace("_", "-")):
        return _rule(rule)
    if case := lookup.exportdb_case(name):
        return _case(case)
    if gap := lookup.graph_break(name):
        return _graph_break(gap)
    if cases := lookup.cases_by_tag(name):
        return _tag(name, cases)
    return None


def _found(text: str) -> Iterator[str]:
    """The nearest in a line each; the page of the first, where torch's own words name it."""
    from exportlint.pages.search import By, search  # noqa: PLC0415 (the index, which a name does not need)

    found = search(text)
    if not found:
        raise UserError(
            f"nothing fits {_quoted(text)}; `explain` knows rules, ExportDB cases and tags, graph-break ids such as "
            "GB0170, and torch's messages about them"
        )
    known = found[0].by is By.NAMED
    if len(found) > 1 or not known:
        rows = [[one.name, one.kind, one.summary] for one in found]
        table = tabulate(rows, tablefmt="plain", disable_numparse=True, maxcolwidths=[None, None, 60])
        said = found[0].by.value
        yield f"{said[0].upper()}{said[1:]}; nearest first:"
        yield textwrap.indent(table, "  ")
    if known:
        yield from _called(found[0].name) or ()
    else:
        yield f"`exportlint explain {found[0].name}` shows the first of them."


def _quoted(text: str) -> str:
    """What was typed, or the last line of what was pasted, where Python writes the exception."""
    line = text.strip().splitlines()[-1] if text.strip() else ""
    return f"`{textwrap.shorten(line, 80, placeholder='…')}`"


def _rule(info: RuleInfo) -> Iterator[str]:
    yield f"{info.name}\n{'=' * len(info.name)}"
    yield info.page
    yield _measured(info)
    yield _repaired(info)
    if info.fixture.is_file():
        yield from _examples(read_fixture(info.fixture), "Runs" if info.cls.lowerings else "Exports")
    yield _see(info)


def _measured(info: RuleInfo) -> str:
    if info.cls.lowerings:
        return _lowered(info)
    rows = [(version, [measured(info, version, mode) for mode in MODES]) for version in versions()]
    lines = [f"  torch {version}: {_by_mode(outcomes)}" for version, outcomes in rows if any(outcomes)]
    return "\n".join(["What torch did with the models that fail:", *lines]) if lines else ""


def _lowered(info: RuleInfo) -> str:
    lines = [
        f"  {target}, torch {version}: {outcome}"
        for target in info.cls.lowerings
        for version in versions()
        if (outcome := lowered(info, version, target))
    ]
    title = "What targets of deployment did with the models that fail; torch exports them (see --lower):"
    return "\n".join([title, *lines]) if lines else ""


def _repaired(info: RuleInfo) -> str:
    if not info.cls.mended_by:
        return ""
    rows = [(version, [repaired(info, version, mode) for mode in MODES]) for version in versions()]
    lines = [f"  torch {version}: {_by_mode(outcomes)}" for version, outcomes in rows if any(outcomes)]
    known = sorted(
        {
            one
            for classes in info.repaired().values()
            for record in classes.values()
            for one in record.get("rewrites", ())
        }
    )
    return "\n".join(["After what `exportlint fix` writes for them:", *lines, *(f"  - {one}" for one in known)])


def _by_mode(outcomes: list[str]) -> str:
    return "; ".join(f"{mode}: {outcome}" for mode, outcome in zip(MODES, outcomes, strict=True) if outcome)


def _examples(fixture: Fixture, runs: str) -> Iterator[str]:
    for title, good in (("Fails", False), (runs, True)):
        if found := next((cls for cls in fixture.classes if cls.good is good), None):
            yield f"{title}:\n\n{textwrap.indent(source(fixture, found), '    ')}"
    captions = [f"  {cls.name}: {cls.caption.partition(chr(10))[0]}" for cls in fixture.classes if not cls.good]
    yield "\n".join([f"All measured ways to fail ({fixture.path.name}):", *captions])


def _see(info: RuleInfo) -> str:
    cases = (lookup.link_for_case(name) for name in info.cls.exportdb)
    gaps = (lookup.link_for_graph_break(name) for name in info.cls.graph_breaks)
    lines = [f"  {link.kind} {link.id}: {link.url}" for link in (*cases, *gaps) if link]
    lines += [f"  {title}: {url}" for title, url in info.cls.docs]
    return "\n".join(["See:", *lines]) if lines else ""


def _case(case: ExportDBCase) -> Iterator[str]:
    yield f"ExportDB case {case.name}"
    yield case.summary
    label = "supported" if case.supported else "not supported"
    yield f"torch {stored().torch} labels it {label}; tags: {', '.join(case.tags) or 'none'}."
    yield textwrap.indent(case.source.strip("\n"), "    ")
    yield _rules_of("exportdb", case.name)
    link = lookup.link_for_case(case.name)
    yield f"See: {link.url}" if link else ""


def _graph_break(gap: GraphBreak) -> Iterator[str]:
    yield f"Graph break {gap.id}: {gap.title}"
    yield gap.explanation
    yield "\n".join(["What torch suggests:", *(f"  - {hint}" for hint in gap.hints)]) if gap.hints else ""
    yield f"torch adds as context: {gap.context}" if gap.context else ""
    yield _rules_of("graph_breaks", gap.id)
    link = lookup.link_for_graph_break(gap.id)
    yield f"See: {link.url}" if link else ""


def _rules_of(kind: str, name: str) -> str:
    names = [info.name for info in all_rules().values() if name in getattr(info.cls, kind)]
    return f"Rules of exportlint: {', '.join(names)}" if names else ""


def _tag(tag: str, cases: Iterable[ExportDBCase]) -> Iterator[str]:
    yield f"ExportDB cases tagged {tag}"
    yield "\n".join(f"  {case.name}: {case.summary.partition(chr(10))[0]}" for case in cases)
    yield "`exportlint explain CASE` shows one of them."

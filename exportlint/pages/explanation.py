"""What a rule, an ExportDB case, a tag, a graph-break id or a message of torch means; offline, as plain text."""

from __future__ import annotations

import textwrap
from itertools import chain
from typing import TYPE_CHECKING

from tabulate import tabulate

from exportlint.errors import UserError
from exportlint.pages.catalogue import compiled, judged_torch, lowered, measured, outcome, repaired, source, versions
from exportlint.pages.compiled_models import breaking, code_at, in_words
from exportlint.reference import lookup
from exportlint.reference.stored import stored
from exportlint.registry import RuleInfo, all_rules, version_key
from exportlint.trial.protocol.outcomes import MODES
from exportlint.truth.fixture import Fixture, read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.pages.compiled_models import Breaking
    from exportlint.reference.torch_sources import ExportDBCase, GraphBreak
    from exportlint.truth.fixture import FixtureClass


def explain(text: str) -> str:
    """The page of what is called so; for other words and for a message of torch, what they may belong to.

    UserError where nothing fits.
    """
    blocks = _called(text.strip()) or _found(text)
    return "\n\n".join(block for block in blocks if block) + "\n"


def brief(rule: str, torch: str | None, modes: Sequence[str]) -> str:
    """The page of a rule, and what one torch version did with its Bad models; Markdown.

    Empty for a name that no rule has.
    """
    info = all_rules().get(rule)
    if info is None:
        return ""
    did = [f"- {mode}: {text}" for mode in modes if torch and (text := measured(info, torch, mode))]
    title = f"What torch {torch} did with the Bad models of its fixture:"
    return "\n\n".join([f"**{info.name}**", info.page, *(["\n".join([title, "", *did])] if did else [])])


def _called(word: str) -> Iterator[str] | None:
    name = word.lower()
    rule, case = all_rules().get(name.replace("_", "-")), lookup.exportdb_case(name.replace("-", "_"))
    if rule and case:  # ExportDB writes its names with `_`
        return chain(_case(case), _rule(rule)) if "_" in name else chain(_rule(rule), _case(case))
    if rule:
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
    yield _compiled(info)
    yield _repaired(info)
    if info.fixture.is_file():
        yield from _examples(info, read_fixture(info.fixture))
    yield _see(info)


def _measured(info: RuleInfo) -> str:
    if info.cls.lowerings:
        return _lowered(info)
    rows = [(version, [measured(info, version, mode) for mode in MODES]) for version in versions()]
    lines = [f"  torch {version}: {_by_mode(outcomes)}" for version, outcomes in rows if any(outcomes)]
    return "\n".join(["What torch did with the Bad models of its fixture:", *lines]) if lines else ""


def _compiled(info: RuleInfo) -> str:
    lines = [f"  torch {version}: {did}" for version in versions() if (did := compiled(info, version))]
    return "\n".join(["What torch.compile did with them (see --for compile):", *lines]) if lines else ""


def _lowered(info: RuleInfo) -> str:
    lines = [
        f"  {target}, torch {version}: {outcome}"
        for target in info.cls.lowerings
        for version in versions()
        if (outcome := lowered(info, version, target))
    ]
    title = "What targets of deployment did with the Bad models of its fixture; torch exports them (see --lower):"
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


def _examples(info: RuleInfo, fixture: Fixture) -> Iterator[str]:
    bad, good = ([cls for cls in fixture.classes if cls.good is wanted] for wanted in (False, True))
    runs = "Runs" if info.cls.lowerings else "Exports"
    for title, classes in (("Fails", bad), (runs, good)):
        if classes:
            yield f"{title}:\n\n{textwrap.indent(source(fixture, classes[0]), '    ')}"
    did = _Measured(info, fixture)
    yield "\n".join([f"All measured ways to fail ({fixture.path.name}{did.where}):", *did.lines(bad)])
    if good:
        yield "\n".join([f"What {runs.lower()} ({fixture.path.name}{did.where}):", *did.lines(good)])


class _Measured:
    """What torch did with each model of a fixture."""

    def __init__(self, info: RuleInfo, fixture: Fixture) -> None:
        exported = {} if info.cls.lowerings else info.truth()  # torch exports all models of a rule about lowerings
        compiled = info.compiled()
        self._fixture = fixture
        self._exported = exported[judged_torch(exported)] if exported else {}
        self._compiled = compiled[judged_torch(compiled)] if compiled else {}
        versions = {judged_torch(measured) for measured in (exported, compiled) if measured}
        self.where = f", torch {' and '.join(sorted(versions, key=version_key))}" if versions else ""

    def lines(self, classes: Iterable[FixtureClass]) -> Iterator[str]:
        """Its caption, and beneath it what was measured."""
        for cls in classes:
            yield f"  {cls.name}: {cls.caption.partition(chr(10))[0]}"
            if told := [*self._export(cls), *self._compile(cls)]:
                yield f"    {'; '.join(told)}"

    def _export(self, cls: FixtureClass) -> Iterator[str]:
        modes = {mode: outcome(record) for mode, record in self._exported.get(cls.name, {}).items()}
        if len(modes) == len(MODES) and len(set(modes.values())) == 1:
            yield f"export: {modes[MODES[0]]}"
        else:
            yield from (f"export, {mode}: {modes[mode]}" for mode in MODES if mode in modes)

    def _compile(self, cls: FixtureClass) -> Iterator[str]:
        if record := self._compiled.get(cls.name):
            yield f"torch.compile: {in_words(record, self._fixture)}"


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
    found = breaking(gap.id)
    yield _rules_of("graph_breaks", gap.id, [*(one.info.name for one in found), *_refused(gap.id)])
    yield from _broken(found)
    link = lookup.link_for_graph_break(gap.id)
    yield f"See: {link.url}" if link else ""


def _refused(gb_id: str) -> Iterator[str]:
    """The rules whose models a mode of export refused under the id."""
    for info in all_rules().values():
        records = (
            record for classes in info.truth().values() for modes in classes.values() for record in modes.values()
        )
        if any(record.get("graph_break") == gb_id for record in records):
            yield info.name


def _broken(found: Sequence[Breaking]) -> Iterator[str]:
    """Where torch.compile broke the graph so, and what is one graph instead; the first with its source."""
    if not found:
        return
    versions = " and ".join(sorted({one.torch for one in found}, key=version_key))
    lines = [line for one in found for line in _shown(one)]
    yield "\n".join([f"Models that torch.compile breaks so (torch {versions}):", *lines])
    first = next((one for one in found if one.good), found[0])
    name = first.info.name
    for title, cls in (("Breaks", first.bad), ("One graph", first.good)):
        if cls:
            yield f"{title} ({cls.name}, {name}):\n\n{textwrap.indent(source(first.fixture, cls), '    ')}"
    one_graph, good = first.good_models
    yield (
        f"torch.compile makes one graph of {one_graph} of the {good} models of {name} that export; "
        f"`exportlint explain {name}` shows them."
    )
    yield "`exportlint fix --for compile` tries the rule's rewrites on yours." if first.info.cls.mended_by else ""


def _shown(one: Breaking) -> Iterator[str]:
    models = "1 model:" if len(one.names) == 1 else f"{len(one.names)} models, such as"
    at = f", line {one.line}: `{code_at(one.line, one.fixture)}`" if one.line else ""
    yield f"  {one.info.name}: {models} {one.bad.name} in {one.fixture.path.name}{at}"
    if one.good:
        caption = one.good.caption.partition("\n")[0]
        yield f"    the nearest that is one graph: {one.good.name}, line {one.good.line}: {caption}"


def _rules_of(kind: str, name: str, measured: Iterable[str] = ()) -> str:
    """Those whose models show it first, then others that say that it is theirs."""
    declared = [info.name for info in all_rules().values() if name in getattr(info.cls, kind)]
    names = dict.fromkeys([*measured, *declared])
    return f"Rules of exportlint: {', '.join(names)}" if names else ""


def _tag(tag: str, cases: Iterable[ExportDBCase]) -> Iterator[str]:
    yield f"ExportDB cases tagged {tag}"
    yield "\n".join(f"  {case.name}: {case.summary.partition(chr(10))[0]}" for case in cases)
    yield "`exportlint explain CASE` shows one of them."

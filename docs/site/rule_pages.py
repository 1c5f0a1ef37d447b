"""A page of Markdown for each rule: its docstring, its models, and what each measured torch did with them."""

from __future__ import annotations

import ast
import re
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from exportlint.output.markdown import table
from exportlint.pages.catalogue import compiled, lowered, measured, outcome, repaired
from exportlint.pages.examples import examples
from exportlint.reference import lookup
from exportlint.registry import TESTED_TORCH, RuleInfo, all_rules, version_key
from exportlint.trial.protocol.outcomes import MODES
from exportlint.trial.protocol.purposes import EXPORT
from exportlint.truth.fixture import FixtureClass, read_fixture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def own_rules() -> list[RuleInfo]:
    """Those that ship with exportlint, whatever else is installed where the site is built."""
    return [info for info in all_rules().values() if info.cls.__module__.startswith("exportlint_rules.")]


def rule_page(info: RuleInfo) -> str:
    """Links lead from `rules/` of the repository, as those of rules/README.md do."""
    blocks = [
        f"# {info.name}",
        prose(info.page),
        *_measured(info),
        *_models(info),
        *_see(info),
    ]
    return "\n\n".join(blocks) + "\n"


def prose(docstring: str) -> str:
    """What is indented is a block of code there; the site highlights what is Python."""
    blocks = []
    for indented, lines in groupby(docstring.split("\n\n"), key=lambda block: block.startswith("    ")):
        text = "\n\n".join(lines)
        blocks.append(_fenced(textwrap.dedent(text)) if indented else _with_code_after_a_line(text))
    return "\n\n".join(blocks)


def _with_code_after_a_line(text: str) -> str:
    """Some docstrings have no empty line between a sentence and its code."""
    blocks = []
    for indented, lines in groupby(text.split("\n"), key=lambda line: line.startswith("    ")):
        part = "\n".join(lines)
        blocks.append(f"\n{_fenced(textwrap.dedent(part))}\n" if indented else part)
    return "\n".join(blocks).strip("\n")


def _fenced(code: str) -> str:
    try:
        ast.parse(code)
    except SyntaxError:
        return f"```text\n{code}\n```"
    return f"```python\n{code}\n```"


def _measured(info: RuleInfo) -> Iterator[str]:
    if info.cls.lowerings:
        yield f"## What targets of deployment did\n\nWith its `Bad…` models, which torch {TESTED_TORCH} exports."
        yield _rows(
            info,
            ["torch", *info.cls.lowerings],
            lambda version: [lowered(info, version, target) for target in info.cls.lowerings],
        )
        return
    yield "## What torch did"
    yield (
        "With the `Bad…` models of the rule's fixture; a number counts models, a word alone means all of them:"
        " [what the words mean](README.md)."
    )
    yield _rows(
        info,
        ["torch", *MODES, "torch.compile"],
        lambda version: [*(measured(info, version, mode) for mode in MODES), compiled(info, version)],
    )
    if info.cls.mended_by:
        yield "After what `exportlint fix` writes for them:"
        yield _rows(info, ["torch", *MODES], lambda version: [repaired(info, version, mode) for mode in MODES])


def _rows(info: RuleInfo, headers: list[str], cells: Callable[[str], list[str]]) -> str:
    """A row for each version in which something was measured, the newest first."""
    versions = sorted({*info.truth(), *info.lowered(), *info.compiled()}, key=version_key, reverse=True)
    rows = [[version, *found] for version in versions if any(found := cells(version))]
    return table(headers, rows)


def _models(info: RuleInfo) -> Iterator[str]:
    if not info.fixture.is_file():
        return
    fixture = read_fixture(info.fixture)
    first = next((one for one in fixture.classes if not one.good), None)
    if first:
        yield from _example(info, first)
    yield "## Every model that was measured"
    yield f"They stand in [fixtures/{fixture.path.name}](../fixtures/{fixture.path.name}), each to be run as it is."
    yield _truth_of(info, sorted(fixture.classes, key=lambda one: one.good))


def _example(info: RuleInfo, bad: FixtureClass) -> Iterator[str]:
    """The model, and beside it the one that shows what to write instead."""
    for found in examples(info.name, bad.name, TESTED_TORCH, EXPORT):
        code = _MARK.sub("", textwrap.dedent("\n".join(found.source)))
        yield f"## {'Good' if found.name.startswith('Good') else 'Bad'}: `{found.name}`"
        yield f"{found.role[:1].upper()}{found.role[1:]}. {found.measured[:1].upper()}{found.measured[1:]}."
        yield f"```python\n{code}\n```"


# Such a mark tells the tests what is found in the line; on a page it would be read as a part of the model.
_MARK = re.compile(r"  +# (?:error|warning|note|missed|compile): [a-z0-9, -]+$", re.MULTILINE)


def _truth_of(info: RuleInfo, classes: list[FixtureClass]) -> str:
    """A row for each model, with what each version did with it."""
    truth: Mapping[str, Any] = info.lowered() if info.cls.lowerings else info.truth()
    cell = _on_targets if info.cls.lowerings else _in_modes
    versions = [version for version in sorted(truth, key=version_key, reverse=True) if truth[version]]
    rows = [
        [
            f"`{one.name}`",
            one.caption.partition("\n")[0],
            *(cell(truth[version].get(one.name, {})) for version in versions),
        ]
        for one in classes
    ]
    return table(["model", "what it is", *(f"torch {version}" for version in versions)], rows)


def _in_modes(modes: Mapping[str, Any]) -> str:
    """`refused`, or `refused, strict: exports` where the modes are not alike."""
    said = {mode: outcome(modes[mode]) for mode in MODES if mode in modes}
    if len(set(said.values())) == 1 and len(said) == len(MODES):
        return next(iter(said.values()))
    return ", ".join(f"{mode}: {word}" for mode, word in said.items())


def _on_targets(targets: Mapping[str, Any]) -> str:
    return ", ".join(f"{target}: {record['status']}" for target, record in targets.items())


def _see(info: RuleInfo) -> Iterator[str]:
    cases = (lookup.link_for_case(name) for name in info.cls.exportdb)
    gaps = (lookup.link_for_graph_break(name) for name in info.cls.graph_breaks)
    links = [f"- [{link.id}]({link.url}) ({link.kind})" for link in (*cases, *gaps) if link]
    links += [f"- [{title}]({url})" for title, url in info.cls.docs]
    links.append(f"- [The rule's source](../rules/{info.source.name})")
    yield "\n".join(["## See also", "", *links])

"""Commits that people made: a baseline that is written at one of them, beside each of those that follow.

What is expected is told by the tokens of statements, which is another way to compare them than the baseline's.
"""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest
from real_histories.store import stored

from exportlint.adoption.baseline import Baseline, JudgedFor, Ran, compare, entries_of, read_baseline, write_baseline
from exportlint.files import SourceFile
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, StaticPass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exportlint.finding import Finding

FOR = JudgedFor("2.13.0", "both", "export")
_SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Commit:
    """What stands on the disk, and what the static pass finds in it."""

    name: str
    root: Path
    findings: tuple[Finding, ...]
    texts: dict[str, str]

    def text(self, path: str) -> str:
        return self.texts[path]

    @cached_property
    def kinds(self) -> list[tuple[str, str]]:
        """Of each finding the rule and its statement, as tokens."""
        statements = {path: tokens_by_line(self.texts[path]) for path in {one.path for one in self.findings}}
        return [(one.rule, statements[one.path][one.line]) for one in self.findings]

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.findings]

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        texts = {path: text.split("\n") for path, text in self.texts.items()}
        return [(one.rule, texts[one.path][one.line - 1].strip()) for one in self.findings]


def tokens_by_line(text: str) -> dict[int, str]:
    """Of each line the tokens of the logical line that it is part of."""
    found: dict[int, str] = {}
    held: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SPACE:
            held.append(token)
        elif token.type == tokenize.NEWLINE and held:
            # Formatters choose quotes, and add and take away parentheses, and commas before a bracket that closes.
            words = " ".join(one.string for one in held)
            for closing in ")]}":
                words = words.replace(f", {closing}", f" {closing}")
            words = " ".join(words.replace("(", " ").replace(")", " ").replace("'", '"').split())
            found |= dict.fromkeys(range(held[0].start[0], token.end[0] + 1), words)
            held = []
    return found


def commits(name: str, folder: Path, most: int, first: int = 0) -> Iterator[Commit]:
    """Each with its files on the disk, from the `first` one."""
    living = StaticPass(list(all_rules().values()), StaticOptions(modes=("non-strict", "strict"), rewrites=Wanted.NONE))
    for number, (commit, changed) in enumerate(stored(name)[:most]):
        for path, text in changed.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (folder / path).unlink()
            else:
                (folder / path).write_text(text, "utf-8")
        if number < first:
            continue
        files = [SourceFile(path, str(path)) for path in sorted(folder.rglob("*.py"))]
        report = living.check(files)
        yield Commit(commit, folder, report.findings, {file.shown: file.read() for file in files})


@pytest.mark.parametrize(("name", "first", "most", "every"), [("pytorch_dnc", 68, 86, 5), ("torchdiffeq", 0, 60, 8)])
def test_what_is_old_is_silent_and_what_is_new_is_told(
    tmp_path: Path, name: str, first: int, most: int, every: int
) -> None:
    file = tmp_path.resolve() / "baseline.json"
    bases: list[tuple[Baseline, Commit]] = []
    compared = told = silent = 0
    for number, now in enumerate(commits(name, tmp_path.resolve() / "project", most, first)):
        judged = frozenset(now.texts)
        for baseline, base in bases:
            found = compare(baseline, now.findings, Ran(FOR, judged, all_rules()), now.text)
            compared, told, silent = compared + 1, told + len(found.new), silent + len(found.known)
            assert_right(base, now, found.new, f"{base.name} to {now.name}")
            assert len(found.known) + len(found.new) == len(now.findings)
            assert len(found.known) + len(found.healed) == len(baseline.entries), "all was judged"
        if number % every == 0:
            write_baseline(Baseline(file, FOR, tuple(entries_of(now.findings, file, now.text))))
            bases.append((read_baseline(file), now))
    assert compared > 30
    assert min(silent, told) > 40, f"{compared} comparisons, {silent} silent, {told} told"


def test_a_package_that_a_formatter_went_over_is_no_news(tmp_path: Path) -> None:
    """The commit "black": nine files, quotes, lines and parentheses."""
    number = next(n for n, (commit, _) in enumerate(stored("pytorch_dnc")) if commit.startswith("71c4fe0c"))
    before, after = commits("pytorch_dnc", tmp_path.resolve() / "project", number + 1, number - 1)
    file = tmp_path.resolve() / "baseline.json"
    baseline = Baseline(file, FOR, tuple(entries_of(before.findings, file, before.text)))
    found = compare(baseline, after.findings, Ran(FOR, frozenset(after.texts), all_rules()), after.text)
    assert (len(found.known), found.new, found.healed) == (93, (), ())
    changed = sum(before.texts.get(path) != text for path, text in after.texts.items())
    assert changed >= 9


def assert_right(base: Commit, now: Commit, new: tuple[Finding, ...], which: str) -> None:
    kinds, lines = now.kinds, now.lines
    ids = {id(one) for one in new}
    is_told = [id(one) in ids for one in now.findings]
    old, old_lines = Counter(base.kinds), Counter(base.lines)
    count = Counter(kinds)
    reported = Counter(kind for kind, one in zip(kinds, is_told, strict=True) if one)
    there = [Counter(zip(one.kinds, one.paths, strict=True)) for one in (base, now)]
    again = Counter(place for place, one in zip(zip(kinds, now.paths, strict=True), is_told, strict=True) if one)
    for place, number in there[1].items():
        assert again[place] <= max(0, number - there[0][place]), f"{which}: told again: {place}"
    for kind, line, one in zip(kinds, lines, is_told, strict=True):
        if not old[kind] and not old_lines[line]:
            assert one, f"{which}: swallowed: {kind}"
    for kind, number in count.items():
        edited = sum(min(old_lines[line], 1) for other, line in zip(kinds, lines, strict=True) if other == kind)
        assert reported[kind] >= number - max(old[kind], edited), f"{which}: one more than before: {kind}"

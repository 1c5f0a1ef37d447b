"""Judge one file: what the rules report about it, and about the functions of other files that it runs.

Files share their parsed text, and what is so of a project whoever asks (`engine.source.memo`), so that a judgement does
not depend on which other files are checked, in which order, or in which process.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.dependence import Dependence, dependence_on
from exportlint.engine.source.parsed import FileStore, text_of
from exportlint.engine.values.abstract_value import span_of
from exportlint.files import SourceError, SourceFile, shown
from exportlint.finding import Link, Wanted
from exportlint.registry import all_rules
from exportlint.rule.base import Scope
from exportlint.rule.code import CodePiece, SourceText
from exportlint.static.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import libcst as cst

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.dependence import Asked
    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo, ProjectIndex
    from exportlint.registry import RuleInfo
    from exportlint.rule.suspicion import SuspectedRewrite, Suspicion


# Python's own limit is 1000 calls; a text of 500 strings in a row is as deep a tree.
_MOST_CALLS_DEEP = 5000
# A file that mentions none of these defines no module, exports nothing and is not looked into.
_RELEVANT = re.compile(r"\btorch\b|\bforward\b")
# A regular expression that stands for itself: letters, and escaped marks.
_LITERAL = re.compile(r"(?:\\[^\w\s]|[\w\s'\"=,:;<>/@%&!~`#-])*")
_PLEASE_REPORT = "please report it at https://github.com/exportlint/exportlint/issues"


def check_file(
    file: SourceFile,
    index: ProjectIndex,
    rules: Sequence[RuleInfo],
    asked: Collection[str] | None = None,
    targets: Sequence[DeclaredTarget] = (),
    *,
    wanted: Wanted = Wanted.ALL,
    mended_at: Mapping[str, frozenset[int]] | None = None,
    mended_elsewhere: Mapping[str, frozenset[int]] | None = None,
) -> Judgement:
    """Judge one file. `asked` are the absolute paths that findings are wanted for; None: all that the file leads to.

    `index` holds what is known of the project from files that were judged before; `targets` are those that the
    configuration names; `wanted`: which rewrites are made; `mended_at`: of some files, by absolute path, the lines of
    which alone they are; `mended_elsewhere`: of other files, the lines of which they are made at all, since of all
    files that run a function only one is asked for them (`merging`).
    """
    path, files = file.absolute, index.files
    try:
        text = text_of(file, files)
        module = index.add(path) if _RELEVANT.search(text) else None
        if module is None:
            ast.parse(text)
    except SourceError as error:
        return _judgement_without_rules(path, files, error.line, str(error))
    except SyntaxError as error:
        return _judgement_without_rules(path, files, error.lineno, f"is not valid Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return _judgement_without_rules(path, files, None, f"cannot be parsed: {error or type(error).__name__}")
    if module is None:
        return _judgement_without_rules(path, files)
    with room_for_deep_trees():
        return _FileJudge(
            module, files, rules, asked, targets, wanted, mended_at or {}, mended_elsewhere or {}
        ).judged()


@contextmanager
def room_for_deep_trees() -> Iterator[None]:
    """Inside, calls may go as deep as the tree of a long text does."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, _MOST_CALLS_DEEP))
        yield
    finally:
        sys.setrecursionlimit(limit)


def _judgement_without_rules(
    path: Path, files: FileStore, line: int | None = None, message: str | None = None
) -> Judgement:
    wrong = ((line, message),) if message else ()
    return Judgement(str(path), wrong=wrong, read={str(path): Dependence(files.digest(str(path)))})


@dataclass
class _FileJudge:
    """One file being judged."""

    module: ModuleInfo
    files: FileStore
    rules: Sequence[RuleInfo]
    asked: Collection[str] | None
    targets: Sequence[DeclaredTarget]
    wanted: Wanted
    mended_at: Mapping[str, frozenset[int]]
    mended_elsewhere: Mapping[str, frozenset[int]]
    suspicions: list[Suspicion] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path = self.module.path
        self.engine = Engine(self.module.project)

    def judged(self) -> Judgement:
        try:
            self.engine.run(self.module, self.targets)
        except Exception as error:  # noqa: BLE001 - what was found before stands
            self._fail("the engine", error)
        self._whole_file()
        for path in sorted(self.engine.beliefs):
            if path == self.path or self.asked is None or str(path) in self.asked:
                self._functions(path)
            elif self.engine.beliefs[path].reached:
                self.left_out.append(str(path))
        self.module.parts.forget()
        asked, broken, probed = self.module.project.memo.reading.whole()
        read = {path: self._dependence(path, what) for path, what in asked.items()}
        return Judgement(
            str(self.path),
            tuple(self.suspicions),
            failed=tuple(self.failed),
            read=read | {path: Dependence(self.files.digest(path)) for path in broken},
            probed=probed,
            left_out=tuple(self.left_out),
        )

    def _dependence(self, path: str, asked: Asked) -> Dependence:
        """What the judgement rests on in a file that was opened: all of the one that is judged."""
        content, module = self.files.digest(path), self.module.project.opened(Path(path))
        if module is None or module is self.module:
            return Dependence(content)
        return dependence_on(module.parts, content, asked, places=self._names_place_in(module.path))

    def _names_place_in(self, path: Path) -> bool:
        """Does a finding stand in the file, or speak of one of its lines?"""
        return any(
            str(path) in {one.path, *(rewrite.path for rewrite in one.rewrites)} or f"{path.name}:" in str(one)
            for one in self.suspicions
        )

    def _whole_file(self) -> None:
        piece = CodePiece(SourceText(self.module.parts), self.module, self.engine.beliefs[self.path], shown(self.path))
        self._visit(piece, [rule for rule in self.rules if rule.cls.scope is not Scope.EXPORTED])

    def _functions(self, path: Path) -> None:
        belief = self.engine.beliefs[path]
        mine = [rule for rule in self.rules if rule.cls.scope is not Scope.FILE]
        name = shown(path)
        for function in _outermost(belief.reached):
            source = SourceText(function.module.parts)
            self._visit(CodePiece(source, function.module, belief, name, function), mine)

    def _visit(self, piece: CodePiece, rules: Iterable[RuleInfo]) -> None:
        """Parsed with libcst only when some rule's words occur."""
        text = piece.text_of_piece
        for rule in rules:
            plain, patterns = _words_of(rule.cls.words)
            if any(word in text for word in plain) or any(pattern.search(text) for pattern in patterns):
                try:
                    found = _reported(rule, piece)
                except Exception as error:  # noqa: BLE001 - whatever a rule does wrong must not stop the others
                    self._fail(f"the rule {rule.name}", error)
                else:
                    for one, node in found:
                        rewrites = self._rewrites(rule, piece, one, node)
                        unmade, links = rewrites is None, links_of(rule.name)
                        self.suspicions.append(replace(one, links=links, rewrites=rewrites or (), unmade=unmade))

    def _rewrites(
        self, rule: RuleInfo, piece: CodePiece, found: Suspicion, node: cst.CSTNode
    ) -> tuple[SuspectedRewrite, ...] | None:
        """None: they are made when somebody asks for them."""
        path = str(piece.module.path)
        lines = self.mended_at.get(path)
        is_left = lines is not None and lines.isdisjoint(range(found.place.line, found.place.end_line + 1))
        if self.wanted is Wanted.NONE or not rule.cls.mended_by or (is_left and found.case not in rule.compiled_wrong):
            return ()
        if piece.module is not self.module and found.place.line not in self.mended_elsewhere.get(path, ()):
            return None
        made = _made(rule, piece, node)
        try:
            if self.wanted is Wanted.ALL:
                return tuple(made)
            return tuple(islice((one for one in made if not one.both_sides_of), 1))
        except Exception as error:  # noqa: BLE001 - as for rules
            self._fail(f"the repair of {rule.name}", error)
            return ()

    def _fail(self, who: str, error: Exception) -> None:
        """An error of ours costs this part of this file only, and is reported."""
        import traceback  # noqa: PLC0415 (once something is wrong)

        if os.environ.get("EXPORTLINT_TRACEBACK"):
            traceback.print_exception(error)
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        self.failed.append(f"{who} failed on this file, {_PLEASE_REPORT}: {' '.join(text.split())}")


def _made(rule: RuleInfo, piece: CodePiece, node: cst.CSTNode) -> Iterator[SuspectedRewrite]:
    """One after the other."""
    if rule.cls.mended_by:
        # Only where something is found and somebody asks for edits.
        from exportlint.rewrite.transformation import proposed_rewrites  # noqa: PLC0415

        yield from proposed_rewrites(rule.cls.mended_by, piece.module, piece.belief, piece.function, piece.span(node))


def _reported(rule: RuleInfo, piece: CodePiece) -> list[tuple[Suspicion, cst.CSTNode]]:
    """What the rule reports, each with its node; libcst parses the piece only if the rule concerns it."""
    if not rule.cls.concerns(piece):
        return []
    visitor = rule.cls(piece)
    piece.walk.run(visitor)
    return list(zip(visitor.found, visitor.reported, strict=True))


def _outermost(functions: Iterable[FunctionInfo]) -> list[FunctionInfo]:
    """The functions in the order of the source, without those that stand inside of another one."""
    spans = {function: span_of(function.node) or (0, 0, 0, 0) for function in functions}
    found: list[FunctionInfo] = []
    end = (0, 0)
    for function in sorted(spans, key=lambda f: (spans[f][:2], [-n for n in spans[f][2:]])):
        if spans[function][2:] > end:
            found.append(function)
            end = spans[function][2:]
    return found


@cache
def _words_of(words: str | None) -> tuple[tuple[str, ...], tuple[re.Pattern[str], ...]]:
    """The alternatives of a rule's regular expression: plain texts, and patterns. Each is found many times faster when
    it is searched for by itself, and rules have many.

    >>> _words_of(r"jit\\.(trace|load)|item\\(|\\||from torch")
    (('item(', '|', 'from torch'), (re.compile('jit\\\\.(trace|load)'),))
    """
    if words is None:
        return ("",), ()
    if words.startswith("(?"):  # flags, which hold for all of it
        return (), (re.compile(words),)
    plain, patterns = [], []
    for one in _alternatives(words):
        if _LITERAL.fullmatch(one):
            plain.append(re.sub(r"\\(.)", r"\1", one))
        else:
            patterns.append(re.compile(one))
    return tuple(plain), tuple(patterns)


def _alternatives(pattern: str) -> Iterator[str]:
    found, depth, after = "", 0, ""
    for letter in pattern:
        is_plain = after != "\\"
        depth += ((letter in "([") - (letter in ")]")) if is_plain else 0
        if letter == "|" and is_plain and not depth:
            yield found
            found = ""
        else:
            found += letter
        after = letter if is_plain else ""
    yield found


@cache
def links_of(rule: str) -> tuple[Link, ...]:
    """ExportDB cases, graph breaks and documents that the rule declares, in that order."""
    from exportlint.reference.lookup import link_for_case, link_for_graph_break  # noqa: PLC0415 (only for files with findings)

    cls = all_rules()[rule].cls
    found = [*map(link_for_case, cls.exportdb), *map(link_for_graph_break, cls.graph_breaks)]
    return (*(link for link in found if link), *(Link("docs", title, url) for title, url in cls.docs))

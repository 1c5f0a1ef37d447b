"""What people type or paste: some words, or a message of torch, in; the entries that it may belong to out.

The nearest stands first. Words are looked for in rules, ExportDB cases and the graph-break registry: SQLite's full-text
index ranks them (BM25), and a word that is in none of them is taken for the one that it nearly spells. Of a message,
torch's own words decide: the ids and cases that it links, the titles of the registry, the rules that know it, and what
the models of the fixtures raised when they were measured. What shares some of the words only is no match. Offline.
"""

from __future__ import annotations

import difflib
import enum
import math
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from exportlint.errors import UserError
from exportlint.reference import lookup
from exportlint.reference.stored import stored
from exportlint.reference.torch_sources import ExportDBCase, GraphBreak
from exportlint.registry import RuleInfo, all_rules, rules_that_know
from exportlint.trial.protocol.torch_messages import exportdb_cases, graph_break_ids
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence


RULE, CASE, GRAPH_BREAK = "rule", "ExportDB case", "graph break"


class By(enum.Enum):
    """How an entry was found, and so how it is said."""

    NAMED = "torch's words are known"
    RAISED = "models of these raised such an exception when they were measured"
    WORDS = "nothing has this name"


class Found(NamedTuple):
    """An entry, in a line."""

    name: str
    kind: str
    summary: str
    by: By


def search(text: str) -> list[Found]:
    """The entries that `text` may belong to, the nearest first; empty where nothing fits."""
    if lookup.is_graph_break_id(text.strip()):
        return []  # of a registry that does not have it
    for by, find in ((By.NAMED, _named), (By.RAISED, _that_raise), (By.WORDS, _by_words)):
        if names := list(dict.fromkeys(find(text)))[:_SHOWN]:
            return [Found(*entry, by) for name in names if (entry := _entry(name))]
    return []


_SHOWN = 8


def _entry(name: str) -> tuple[str, str, str] | None:
    if rule := all_rules().get(name):
        return rule.name, RULE, rule.summary
    if case := lookup.exportdb_case(name):
        return case.name, CASE, case.summary.partition("\n")[0]
    if gap := lookup.graph_break(name):
        return gap.id, GRAPH_BREAK, gap.title
    return None


# A message.


def _named(text: str) -> Iterator[str]:
    """What the words of torch, or of exportlint, name: links and names first, then what knows a whole sentence."""
    yield from (gb_id for gb_id in graph_break_ids(text) if lookup.graph_break(gb_id))
    yield from (name.replace("-", "_") for name in exportdb_cases(text) if lookup.exportdb_case(name))
    yield from (name for name in re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", text) if name in all_rules())
    message = _without_frames(text)
    yield from _with_such_a_sentence(message, _titles(), _SAME)
    yield from _with_such_a_sentence(message, _worded(), _SAME)
    yield from rules_that_know(message)


def _that_raise(text: str) -> Iterator[str]:
    """The rules whose models raised what is like the message, then those whose models raised the exception."""
    message = _without_frames(text)
    yield from _with_such_a_sentence(message, _raised(), _ALIKE)
    for name in re.findall(r"\b[A-Z]\w+\b", message):
        counted = Counter(rule for rule, raised, _ in _measured() if "." in raised and raised.endswith(f".{name}"))
        by_rule = [rule for rule, times in counted.most_common() if times > _BY_CHANCE]
        yield from by_rule if len(by_rule) <= _SHOWN else ()  # what torch raises for nearly everything tells nothing


_BY_CHANCE = 2
_FRAME = re.compile(r'^(?P<indent> *)File "[^\n]*, line \d+.*\n(?:(?P=indent) +(?! *File ).*\n?)*', re.MULTILINE)


def _without_frames(text: str) -> str:
    """The words of a traceback: its source lines are the person's own, or torch's, and belong to no message."""
    return _FRAME.sub("", text)


_SAME, _ALIKE = 0.97, 0.88
_NUMBER = re.compile(r"\d+")
_CLASS = re.compile(r"^[\w.]*(?:Error|Exception|Unsupported|SymNode|NotFound|Failed): ", re.MULTILINE)
_ENOUGH = 12  # letters: `aten.item` is in many messages


def _with_such_a_sentence(text: str, known: dict[str, Sequence[str]], likeness: float) -> Iterator[str]:
    """The entries of the known sentences that a line of the text is, numbers and case apart; the likest first."""
    likest: dict[str, float] = {}
    for line in text.splitlines():
        said = _form(_CLASS.sub("", line.strip()))
        if len(said) < _ENOUGH:
            continue
        for sentence, alike in _likest(said, known, likeness):
            for name in known[sentence]:
                likest[name] = max(likest.get(name, 0), alike)
    yield from sorted(likest, key=lambda name: -likest[name])


def _likest(text: str, known: Iterable[str], least: float) -> list[tuple[str, float]]:
    """Those of the known texts that are at least so alike (0 to 1), the likest first, a page of them at the most.

    `difflib.get_close_matches` takes letters that are frequent in a text of 200 or more for noise, so that a sentence
    of torch is unlike itself with one more word.
    """
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(text)
    found = []
    for other in known:
        matcher.set_seq1(other)
        # The first two are upper bounds of the third, and cheap.
        bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
        if all(bound() >= least for bound in bounds):
            found.append((other, matcher.ratio()))
    return sorted(found, key=lambda one: -one[1])[:_SHOWN]


def _form(sentence: str) -> str:
    """Without what differs from model to model: numbers, and the code that is quoted."""
    return " ".join(_NUMBER.sub("0", _QUOTED.sub("`", sentence)).lower().split())


_QUOTED = re.compile(r"`[^`]*`")


@cache
def _titles() -> dict[str, Sequence[str]]:
    """The titles of the registry."""
    return _by_form((gap.title, gap.id) for gap in stored().graph_breaks.values())


@cache
def _raised() -> dict[str, Sequence[str]]:
    """What the models of the fixtures raised, where torch has a class for it: others raise a ValueError, too."""
    return _by_form((error, rule) for rule, raised, error in _measured() if "." in raised)


@cache
def _worded() -> dict[str, Sequence[str]]:
    """What rules say themselves."""
    return _by_form(
        (case.exported.message, info.name) for info in all_rules().values() for case in info.cls.cases.values()
    )


def _by_form(sentences: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for sentence, name in sentences:
        if len(form := _form(sentence)) >= _ENOUGH:
            found.setdefault(form, []).append(name)
    return {form: tuple(Counter(names)) for form, names in found.items()}


@cache
def _measured() -> tuple[tuple[str, str, str], ...]:
    """Each failure of a fixture's model, in each torch and mode: the rule, the exception's class, the message."""
    return tuple(
        (info.name, record.get("class") or "", record["error"])
        for info in all_rules().values()
        for classes in info.truth().values()
        for modes in classes.values()
        for record in modes.values()
        if record.get("error")
    )


# Words.

# How much a word counts where it stands. `models`: the names and captions of what fails in the fixture.
_COLUMNS = {"name": 10.0, "summary": 6.0, "models": 6.0, "messages": 4.0, "page": 1.0, "said": 1.0, "code": 1.0}
_OF_KIND = {RULE: 2.0, CASE: 1.2, GRAPH_BREAK: 1.0}  # a rule has what to write instead, and was measured
_SHARE = 0.6  # of what the words tell must be in an entry
_NEARLY = 0.88  # how alike a name is that somebody nearly wrote
_SPELLED = 5  # letters: of a shorter word, one that is another one makes another word
_SLIPPED = 0.8  # how alike a word is with a letter in five that is another one
_QUESTION = "a an the on to of how why what which do does did can could should i my me it is are was be"
_FILLERS = frozenset(_QUESTION.split())


def _by_words(text: str) -> list[str]:
    """Of words that somebody chose. A message is found by its own sentences, or not at all."""
    if _CLASS.search(text):
        return []
    index = _index()
    terms = _terms(_without_frames(text))
    spelled = {term: known for term in terms if (known := index.spelled(term))}
    weights = {term: index.weight(spelled.get(term)) for term in terms if not term.startswith(_REACHED)}

    def told(name: str, holders: Callable[[str], frozenset[str]]) -> float:
        return sum(weight for term, weight in weights.items() if term in spelled and name in holders(spelled[term]))

    near: dict[str, float] = dict.fromkeys(_nearly_called(text), math.inf)
    for name, kind, score in index.ranked(spelled.values()):
        in_it = told(name, index.holders)
        if in_it >= _SHARE * sum(weights.values()):
            near.setdefault(name, score * _OF_KIND[kind] * (in_it + told(name, index.called)))
    return sorted(near, key=lambda name: -near[name])


def _nearly_called(text: str) -> list[str]:
    names = {name.replace("_", " ").replace("-", " "): name for name in (*all_rules(), *stored().cases)}
    typed = text.strip().lower().replace("_", " ").replace("-", " ")
    return [names[name] for name, _ in _likest(typed, names, _NEARLY)]


def _terms(text: str) -> list[str]:
    """The words, fillers apart."""
    return list(
        dict.fromkeys(word for word in _words(text) if word not in _FILLERS and (len(word) > 1 or word.isdigit()))
    )


# An attribute is also a word of its own: `x.data` asks for the attribute more than for data.
_REACHED = "reached0"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _with_attributes(text).lower())


def _with_attributes(text: str) -> str:
    return re.sub(r"\.([A-Za-z]\w*)", lambda found: f".{found[1]} {_REACHED}{found[1].replace('_', '')} ", text)


class _Index:
    """All entries in a full-text index, in memory: it is made in milliseconds.

    There are two, by the words as they stand and by their stems.
    """

    def __init__(self, rows: Iterable[tuple[str, str, Sequence[str]]]) -> None:
        self._database = _database()
        for table, tokens in (("stem", "porter unicode61"), ("exact", "unicode61")):
            columns = ", ".join(_COLUMNS)
            self._database.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5(id UNINDEXED, kind UNINDEXED, {columns}, tokenize='{tokens}')"
            )
        self._database.execute("CREATE VIRTUAL TABLE word USING fts5vocab(exact, row)")
        self._found: dict[str, frozenset[str]] = {}
        cells = [(name, kind, *map(_with_attributes, texts)) for name, kind, texts in rows]
        self._size = len(cells)
        marks = ", ".join("?" * (2 + len(_COLUMNS)))
        for table in ("stem", "exact"):
            self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", cells)  # noqa: S608 (names of ours)

    def holders(self, word: str) -> frozenset[str]:
        """The entries that have the word in one of its forms."""
        return self._matching(f'"{word}"')

    def called(self, word: str) -> frozenset[str]:
        """Those that have it in their name."""
        return self._matching(f'name : "{word}"')

    def _matching(self, query: str) -> frozenset[str]:
        if query not in self._found:
            rows = self._database.execute("SELECT id FROM stem WHERE stem MATCH ?", [query])
            self._found[query] = frozenset(name for (name,) in rows)
        return self._found[query]

    def weight(self, word: str | None) -> float:
        """What the word tells: the fewer entries have it, the more. None: a word that no entry has."""
        return math.log(1 + self._size / (0.5 + len(self.holders(word) if word else ())))

    def spelled(self, word: str) -> str | None:
        """The word, or the known one that it nearly spells; None: there is none."""
        if self.holders(word) or word.startswith(_REACHED):
            return word
        if len(word) < _SPELLED:
            return None
        words = (known for (known,) in self._database.execute("SELECT term FROM word") if known[0] == word[0])
        return next((known for known, _ in _likest(word, words, _SLIPPED)), None)

    def ranked(self, words: Iterable[str]) -> Iterator[tuple[str, str, float]]:
        """Each entry that has one of the words, its kind, and how near it is.

        A word counts more as it stands than by its stem, and once more with the word that follows it.
        """
        asked = list(words)
        pairs = [f"{one} {two}" for one, two in pairwise(asked)]
        query = " OR ".join(f'"{term}"' for term in (*asked, *pairs))
        weights = ", ".join(str(weight) for weight in (0, 0, *_COLUMNS.values()))
        scores: Counter[tuple[str, str]] = Counter()
        for table, weight in (("stem", 1.0), ("exact", 0.5)) if query else ():
            ranked = f"SELECT id, kind, -bm25({table}, {weights}) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
            rows = self._database.execute(ranked, [query])
            for name, kind, score in rows:
                scores[name, kind] += score * weight
        yield from ((name, kind, score) for (name, kind), score in scores.items())


def _database() -> sqlite3.Connection:
    """UserError where this Python was built without SQLite, or its SQLite without full-text search."""
    try:
        import sqlite3  # noqa: PLC0415 - so that a Python without it has all the rest

        database = sqlite3.connect(":memory:")
        database.execute("CREATE VIRTUAL TABLE tried USING fts5(a)")
    except (ImportError, sqlite3.OperationalError) as error:
        raise UserError(
            "this Python's SQLite has no full-text search (FTS5): `explain` finds names, ids and torch's messages only"
        ) from error
    return database


@cache
def _index() -> _Index:
    torch = stored()
    entries: list[RuleInfo | ExportDBCase | GraphBreak] = [
        *all_rules().values(),
        *torch.cases.values(),
        *torch.graph_breaks.values(),
    ]
    return _Index(map(_row, entries))


def _row(entry: RuleInfo | ExportDBCase | GraphBreak) -> tuple[str, str, Sequence[str]]:
    match entry:
        case ExportDBCase(name=name, summary=summary, source=code):
            tags = " ".join(entry.tags).replace(".", " ")
            return name, CASE, _cells(name=name, summary=summary, messages=tags, code=code)
        case GraphBreak(id=name, title=title, context=said):
            page = f"{entry.explanation} {' '.join(entry.hints)}"
            return name, GRAPH_BREAK, _cells(name=name, summary=title, page=page, said=said)
    classes = read_fixture(entry.fixture).classes if entry.fixture.is_file() else ()
    models = [(cls.name.removeprefix("Bad"), cls.caption) for cls in classes if not cls.good]
    return (
        entry.name,
        RULE,
        _cells(
            name=entry.name,
            summary=entry.summary,
            models=" ".join(f"{name} {_CAPITAL.sub(' ', name)} {caption}" for name, caption in models),
            messages=" ".join(f"{case.exported.message} {case.instead.text}" for case in entry.cls.cases.values()),
            page=entry.page,
            said=" ".join(
                dict.fromkeys(word for rule, _, error in _measured() if rule == entry.name for word in _words(error))
            ),
        ),
    )


_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _cells(**texts: str) -> Sequence[str]:
    return [texts.get(column, "") for column in _COLUMNS]

"""What torch.compile did with the models of the fixtures, in words: of one model, and of all that break under an id."""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from exportlint.pages.catalogue import judged_torch, source
from exportlint.registry import RuleInfo, all_rules
from exportlint.static.severity import shown_in
from exportlint.trial.protocol.outcomes import Compiled
from exportlint.trial.protocol.torch_messages import DISABLED, FOREIGN, SKIPPED_FRAME
from exportlint.truth.fixture import Fixture, FixtureClass, read_fixture

_OF_A_BREAK = {
    SKIPPED_FRAME: "which leaves the function to Python",
    DISABLED: "a function that is kept out of the graph",
    FOREIGN: "a call that Dynamo does not follow",
}
_COMPILED_AGAIN = {
    "again": "in each call",
    "size": "for each size",
    "number": "for each number",
    "length": "for each length",
    "other-inputs": "for the other inputs",
    "training": "in each mode",
    "gradients": "with and without gradients",
}
_CODE, _ERROR = 80, 160  # letters


def in_words(record: Mapping[str, Any], fixture: Fixture) -> str:
    """What one record says: the outcome as the table of rules has it, then at which line, and under which id.

    As in "breaks at line 7, `if x.sum() > 0:` (GB0170)".
    """
    said = [*_told(record, fixture), *_breaks(record, fixture), *_recompiles(record, fixture)]
    return "; ".join(said) or str(record["outcome"])


def _told(record: Mapping[str, Any], fixture: Fixture) -> Iterator[str]:
    if error := record.get("error"):
        at = f" at {_place(record['line'], fixture)}" if record.get("line") else ""
        yield f"{record['outcome']}{at}: {textwrap.shorten(str(error), _ERROR, placeholder=' …')}"


def _breaks(record: Mapping[str, Any], fixture: Fixture) -> Iterator[str]:
    by_line: dict[int | None, list[str]] = {}
    for line, gb_id, kind in record.get("graph_breaks", ()):
        words = filter(None, (gb_id, _OF_A_BREAK.get(kind)))
        by_line.setdefault(line, []).append(", ".join(words))
    for line, named in by_line.items():
        said = "; ".join(filter(None, dict.fromkeys(named)))
        yield f"{Compiled.BREAKS.value} at {_place(line, fixture)}" + (f" ({said})" if said else "")


def _recompiles(record: Mapping[str, Any], fixture: Fixture) -> Iterator[str]:
    for line, changed in record.get("recompiles", ()):
        yield f"{Compiled.RECOMPILES.value} {_COMPILED_AGAIN[changed]}, at {_place(line, fixture)}"


def _place(line: int | None, fixture: Fixture) -> str:
    if line is None:
        return "a line of another file"
    return f"line {line}, `{code_at(line, fixture)}`"


def code_at(line: int, fixture: Fixture) -> str:
    """The code of the line, without its comment."""
    text = "".join(fixture.path.read_text("utf-8").split("\n")[line - 1 : line])  # none, where it changed since
    return textwrap.shorten(_COMMENT.sub("", text).strip(), _CODE, placeholder=" …")


_COMMENT = re.compile(r"\s+# .*")


@dataclass(frozen=True)
class Breaking:
    """The Bad classes of a rule that torch.compile breaks under one id."""

    info: RuleInfo
    gb_id: str
    names: tuple[str, ...]

    @property
    def torch(self) -> str:
        """The version that was measured."""
        return judged_torch(self.info.compiled())

    @property
    def _records(self) -> Mapping[str, Any]:
        records: Mapping[str, Any] = self.info.compiled()[self.torch]
        return records

    @cached_property
    def fixture(self) -> Fixture:
        return read_fixture(self.info.fixture)

    @property
    def bad(self) -> FixtureClass:
        """The class to show: the one that what to write instead is nearest to, or else the first."""
        return self._shown[0]

    @property
    def good(self) -> FixtureClass | None:
        """What to write instead: a Good class that torch.compile makes one graph of."""
        return self._shown[1]

    @property
    def line(self) -> int | None:
        """Where the class that is shown breaks the graph."""
        breaks: list[tuple[int | None, str | None, str]] = self._records[self.bad.name]["graph_breaks"]
        return next(line for line, gb_id, _ in breaks if gb_id == self.gb_id)

    @property
    def good_models(self) -> tuple[int, int]:
        """How many of the rule's Good classes are one graph, and of how many."""
        return len(self._one_graph), sum(name.startswith("Good") for name in self._records)

    @cached_property
    def _shown(self) -> tuple[FixtureClass, FixtureClass | None]:
        """A pair that the rule names, or that is named alike; or the two whose code is the most alike."""
        classes = {cls.name: cls for cls in self.fixture.classes}
        broken = [classes[name] for name in self.names]
        one_graph = [classes[name] for name in self._one_graph if name in classes]
        named = ((bad, good) for bad in broken for good in one_graph if good.name == _shown_in(self.info, bad.name))
        if pair := next(named, None):
            return pair
        codes = {cls.name: _code(self.fixture, cls) for cls in (*broken, *one_graph)}
        pairs = [(_likeness(codes[bad.name], codes[good.name]), bad, good) for bad in broken for good in one_graph]
        likeness, bad, good = max(pairs, key=lambda pair: pair[0], default=(0.0, broken[0], None))
        return (bad, good) if likeness >= _NEAR else (bad, None)

    @property
    def _one_graph(self) -> tuple[str, ...]:
        records = self._records.items()
        one_graph = Compiled.ONE_GRAPH.value
        return tuple(name for name, one in records if name.startswith("Good") and one["outcome"] == one_graph)


def _shown_in(info: RuleInfo, bad: str) -> str:
    return shown_in(info, bad) if bad in info.cls.cases else f"Good{bad.removeprefix('Bad')}"


# Of 100. What is less alike is another model, and no mend of this one; the same inputs are half the way.
_NEAR, _SAME_INPUTS = 70.0, 10.0


def _code(fixture: Fixture, cls: FixtureClass) -> dict[str, str]:
    """The code of each statement of the class that has a name, `inputs` and `forward` among them."""
    (tree,) = ast.parse(source(fixture, cls)).body
    code = {}
    for node in tree.body if isinstance(tree, ast.ClassDef) else ():
        match node:
            case ast.FunctionDef(name=name, body=body):
                code[name] = "\n".join(map(ast.unparse, body))
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                code |= {ast.unparse(name): ast.unparse(value) for name, value in zip(names, values, strict=False)}
            case ast.Assign(targets=[target], value=value):
                code[ast.unparse(target)] = ast.unparse(value)
    return code


def _likeness(one: Mapping[str, str], other: Mapping[str, str]) -> float:
    code = (one.get("forward", ""), other.get("forward", ""))
    alike = 100 * difflib.SequenceMatcher(None, *code, autojunk=False).ratio()
    return alike + (_SAME_INPUTS if one.get("inputs") == other.get("inputs") else 0.0)


def likeness(fixture: Fixture, one: FixtureClass, other: FixtureClass) -> float:
    """Of the code of two classes, the more the higher; what is below 70 is another model."""
    return _likeness(_code(fixture, one), _code(fixture, other))


def breaking(gb_id: str) -> list[Breaking]:
    """The rules whose Bad classes torch.compile breaks under the id; the one with the most first.

    Rules about targets of deployment are not among them: `--for compile` says nothing of theirs.
    """
    found = [Breaking(info, gb_id, names) for info in all_rules().values() if (names := _broken(info, gb_id))]
    return sorted(found, key=lambda one: -len(one.names))


def _broken(info: RuleInfo, gb_id: str) -> tuple[str, ...]:
    measured = info.compiled()
    if info.cls.lowerings or not measured:
        return ()
    records = measured[judged_torch(measured)].items()
    bad = {name: one.get("graph_breaks", ()) for name, one in records if name.startswith("Bad")}
    names = [name for name, breaks in bad.items() if gb_id in (found for _, found, _ in breaks)]
    there = {cls.name for cls in read_fixture(info.fixture).classes} if names and info.fixture.is_file() else set()
    return tuple(name for name in names if name in there)

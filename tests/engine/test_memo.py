"""What is worked out once for all files of a run: the same for each of them, whoever asked first."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.memo import Memo
from exportlint.engine.source.parsed import FileStore
from exportlint.engine.source.symbols import ClassInfo, ProjectIndex
from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.check_file import check_file

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.static.judgement import Judgement

# Files that take names from each other in a circle, classes whose constructors make each other, and a base that two
# files share.
FILES = {
    "pkg/__init__.py": "from .layers import *\nfrom .heads import *\n",
    "pkg/layers.py": (
        "from torch import nn\n"
        "from . import *\n"
        "from .heads import Head\n"
        "LIMIT = 3\n"
        "class Scaled(nn.Module):\n"
        "    def __init__(self, head=None):\n"
        "        super().__init__()\n"
        "        self.head = head or Head(self)\n"
        "        self.limit = LIMIT\n"
        "    def forward(self, x):\n"
        "        if x.sum() > 0:\n"
        "            return x\n"
        "        return self.head(x)\n"
    ),
    "pkg/heads.py": (
        "from torch import nn\n"
        "from .layers import Scaled\n"
        "class Head(nn.Module):\n"
        "    def __init__(self, scaled):\n"
        "        super().__init__()\n"
        "        self.scaled, self.other = scaled, Scaled()\n"
        "    def forward(self, x):\n"
        "        return self.other(x).item()\n"
    ),
    "pkg/net.py": (
        "from torch import nn\n"
        "from pkg import Head, Scaled\n"
        "class Net(Scaled):\n"
        "    def __init__(self):\n"
        "        super().__init__(Head(None))\n"
        "    def forward(self, x):\n"
        "        return super().forward(x[: int(x.sum())])\n"
    ),
}


@pytest.fixture
def files(tmp_path: Path) -> list[SourceFile]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return [SourceFile(tmp_path / name, name) for name in FILES]


def judgements(files: list[SourceFile], *, shared: bool) -> dict[str, Judgement]:
    found, index = {}, ProjectIndex(FileStore())
    asked = frozenset(str(file.absolute) for file in files)
    for file in files:
        index = index if shared else ProjectIndex(FileStore())
        found[file.shown] = check_file(file, index, list(all_rules().values()), asked)
    return found


def test_a_judgement_is_the_same_whatever_was_judged_before(files: list[SourceFile]) -> None:
    alone = judgements(files, shared=False)
    assert {one.rule for judged in alone.values() for one in judged.suspicions} >= {"data-dependent-branch"}
    for order in permutations(files):
        together = judgements(list(order), shared=True)
        assert together == alone, [file.shown for file in order]


def test_a_file_rests_on_what_was_read_for_an_answer_that_was_there_already(files: list[SourceFile]) -> None:
    index = ProjectIndex(FileStore())
    for file in (files[1], files[3]):
        module = index.add(file.absolute)
        assert module is not None
        scaled = module.project.find("pkg.layers.Scaled")
        assert isinstance(scaled, ClassInfo)
        assert "limit" in Engine(module.project).attributes(scaled)
        asked = module.project.memo.reading.whole()[0][str(files[1].absolute)]
        assert {"Scaled", "LIMIT"} <= asked.definitions.keys(), file.shown


def test_who_is_given_an_answer_has_read_what_was_read_for_it() -> None:
    memo = Memo()

    def length() -> int:
        memo.reading.probed["a.py"] = True
        return 4

    assert memo.of("length", length) == 4
    second = memo.begin()
    assert second.whole()[2] == {}
    assert memo.of("length", lambda: pytest.fail("it is known")) == 4
    assert second.whole()[2] == {"a.py": True}


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_a_circle_of_questions_has_the_same_answers_from_each_of_its_ends(order: tuple[str, ...]) -> None:
    """`a` asks `b`, `b` asks `c` and `a`, `c` asks `a`: an answer names all that was asked for it on the way."""
    asks = {"a": "b", "b": "ca", "c": "a"}
    memo = Memo()

    def answer(question: str) -> str:
        parts = (memo.of(one, lambda one=one: answer(one), "…") for one in asks[question])
        return f"{question}({' '.join(parts)})"

    found = {question: memo.of(question, lambda question=question: answer(question)) for question in order}
    assert found == {"a": "a(b(c(…) …))", "b": "b(c(a(…)) a(…))", "c": "c(a(b(… …)))"}


def test_an_error_leaves_no_answer_behind() -> None:
    memo = Memo()

    def failing() -> str:
        memo.of("part", lambda: str(memo.of("whole", failing, "meanwhile")))
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            memo.of("whole", failing)
    assert memo.of("part", lambda: "made anew") == "made anew"

"""Which expressions Python asks for their truth, and what may settle the matter before them."""

from __future__ import annotations

import libcst as cst
import pytest

from exportlint import Asked, TruthRule


class Source:
    """The little of a piece of code that taking tests apart needs."""

    def name(self, node):
        return "builtins.bool" if isinstance(node, cst.Name) and node.value == "bool" else None

    def text(self, node):
        return cst.Module([]).code_for_node(node)


class Collect(TruthRule):
    def __init__(self, code):
        super().__init__(code)
        self.questions = []

    def asked(self, asked: Asked) -> None:
        text = self.code.text
        before = " " + " ".join(text(test.node) for test in asked.before) if asked.before else ""
        guard = " guarded" if self.guarded(asked) else ""
        self.questions.append(f"{asked.form}: {text(asked.node)}{before}{guard}")


def questions(source):
    collect = Collect(Source())
    cst.parse_module(source).visit(collect)
    return collect.questions


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("if a: pass", ["if: a"]),
        ("if not a: pass", ["if: a"]),
        ("if bool(a): pass", ["if: a"]),
        ("if a and b or c: pass", ["if: a", "if: b a", "if: c a and b"]),
        ("x = a and b", ["and: a"]),
        ("x = a or b or c", ["or: a", "or: b a"]),
        ("x = not a", ["not: a"]),
        ("while a: pass", ["while: a"]),
        ("assert a, b", ["assert-message: a"]),
        ('assert a, "must hold"', ["assert: a"]),
        ("assert not a", ["assert-part: a"]),
        ("if a:\n    raise ValueError", ["raise: a"]),
        ("if a: raise ValueError\nelse: pass", ["if: a"]),
        ("assert a and b", ["assert-part: a", "assert-part: b a"]),
        ("x = b if a else c", ["ternary: a"]),
        ("x = [i for i in y if a]", ["comprehension: a"]),
        ("match x:\n    case 1 if a: pass", ["guard: a"]),
        ("x = 0 < a < 1", ["chained: 0 < a < 1"]),
        ("x = 0 < a", []),
        ("if (a and b) if c else d: pass", ["if: (a and b) if c else d", "ternary: c", "and: a"]),
    ],
)
def test_what_is_asked(source, asked):
    assert questions(source) == asked


def test_tests_of_the_tracer_guard_what_follows_them():
    assert questions("if not is_tracing() and a: pass")[-1] == "if: a not is_tracing() guarded"
    assert questions("if self.training:\n    if a: pass")[-1] == "if: a guarded"
    assert questions("if not self.training:\n    if a: pass")[-1] == "if: a"
    assert questions("if self.training:\n    pass\nelse:\n    if a: pass")[-1] == "if: a"
    assert questions("if is_tracing() or a: pass")[-1] == "if: a is_tracing() guarded"
    assert questions("if is_tracing() and a: pass")[-1] == "if: a is_tracing()"
    assert questions("if not torch.jit.is_tracing():\n    if a: pass")[-1] == "if: a"

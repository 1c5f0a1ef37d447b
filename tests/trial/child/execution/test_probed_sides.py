"""Probes in a source tell which way its decisions go, and leave what it computes as it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from exportlint.repair.probes import left_open, with_probes
from exportlint.trial.child.execution.inputs.probed_sides import probes_noted

DROPPED = {
    "an if whose other side has no lines": ("if x.sum() != 5:\n    x = x * 2\nreturn x", "x.sum() != 5"),
    "a ternary": ("return x if x.sum() != 5 else -x", "x.sum() != 5"),
    "an operand": ("if x.sum() > 1 and x.sum() != 5:\n    x = x * 2\nreturn x", "x.sum() != 5"),
    "a filter": ("return [t for t in x.tolist() if t != 5]", "t != 5"),
    "a while on one line": ("while x.sum() == 5: return -x\nreturn x", "x.sum() == 5"),
    "a case on one line": ("match len(x):\n    case (7): x = -x\n    case _: x = x + 1\nreturn x", "case 7"),
    "a match that falls through": ("match len(x):\n    case 1 | 2: x = -x\nreturn x", "len(x)"),
    "a loop of no rounds": ("for _ in range(len(x) // 7): x = -x\nreturn x", "range(len(x) // 7)"),
    "a name that holds a decision": ("rare = len(x) == 7\nreturn -x if rare else x", "rare"),
    "a parameter that is never given": ("return x if k is None else x * k", "k is None"),
    "what is suppressed": ("with suppress(ZeroDivisionError):\n    x = x * (1 // (7 - len(x)))\nreturn x",
                           "suppress(ZeroDivisionError)"),
    "a truth value as an index": ("return [x, -x][len(x) == 7]", "[x, -x][len(x) == 7]"),
    "a table": ("return x * {7: -1}.get(len(x), 1)", "{7: -1}.get(len(x), 1)"),
    "what nobody gave": ("return x.sum(**more)", "more` in `x.sum(**more)"),
    "an attribute that is not there": ("return x * getattr(f, 'scale', 1)", "getattr(f, 'scale', 1)"),
    "the environment": ("import os\nreturn x * int(os.environ.get('NO_SCALE', '1'))", "os.environ.get('NO_SCALE', '1')"),
    "a parameter that is passed on": ("return x.sum(dtype=k)", "k` in `x.sum(dtype=k)"),
    "a smallest of two": ("return x[: min(len(x), 7)]", "min(len(x), 7)"),
    "a largest of two": ("return x / max(len(x), 1)", "max(len(x), 1)"),
    "a bound": ("return x.clamp(-1, 2.5)", "x.clamp(-1, 2.5)"),
    "words that choose": ("return x if f'{1 if len(x) == 7 else 2}' > '' else -x",
                          "f'{(1 if len(x) == 7 else 2)}'"),
    "arithmetic with a comparison": ("return x * (x.sum() != 5)", "x.sum() != 5"),
}  # fmt: skip
SHOWN = {
    "an if": "if x.sum() > 1:\n    x = x * 2\nreturn x",
    "a ternary of operands": "return x if x.sum() > 1 and x[0] > 1 else -x",
    "a mask": "return x * (x > 1)",
    "cases": "match len(x):\n    case 1: x = -x\n    case _: x = x + 1\nreturn x",
    "a loop": "for t in [x, x]: x = x + t\nreturn x",
    "a table": "return x * {1: 3, 2: 4}[len(x)]",
    "a smallest of two": "return x * min(len(x), 1.5)",
    "bounds": "return x.clamp(0.5, 2.5)",
    "words with a decision": "print(f'{1 if len(x) == 7 else 2}')\nreturn x",
}
INPUTS = [torch.ones(1), torch.full((2,), 2.0), torch.tensor([0.0, 3.0])]


def text_of(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"from __future__ import annotations\nfrom contextlib import suppress\n\ndef f(x, k=None, **more):\n{lines}"


def outputs(text: str) -> list[str]:
    space: dict[str, object] = {}
    exec(compile(text, "a.py", "exec"), space)  # noqa: S102 - what is written above
    return [str(space["f"](one.clone())) for one in INPUTS]


def told(body: str, *, dropped: bool) -> list[str]:
    text, other = text_of(body), text_of("return x + 7")
    probed = with_probes({"a.py": text}, {"a.py": other}, untouched=dropped)
    assert probed.texts["a.py"].count("\n") == text.count("\n")
    with probes_noted() as noted:
        assert outputs(probed.texts["a.py"]) == outputs(text)
    return list(left_open(probed.probes, noted, dropped=dropped))


@pytest.mark.parametrize("name", DROPPED)
@pytest.mark.parametrize("dropped", [True, False])
def test_a_decision_that_goes_one_way_is_told(name: str, dropped: bool) -> None:
    body, text = DROPPED[name]
    start = f"the edit drops `{text}`, line " if dropped else f"`{text}`, a.py:"
    assert any(one.startswith(start) for one in told(body, dropped=dropped))


def test_what_never_ran_is_told() -> None:
    body = "f = lambda t: -t\nreturn f(x) if len(x) == 7 else x\nx = 3"
    assert "`lambda t: -t`, a.py:5, is called by no input that was tried" in told(body, dropped=False)
    assert "no input that was tried runs a.py:7" in told(body, dropped=False)


@pytest.mark.parametrize("name", SHOWN)
def test_what_inputs_show_is_not_told(name: str) -> None:
    assert told(SHOWN[name], dropped=True) == []
    assert told(SHOWN[name], dropped=False) == []


@pytest.mark.parametrize(
    ("new", "is_told"),
    [("5 <= x.sum()", True), ("not x.sum() < 5", True), ("not x.sum() <= 5", False), ("4 <= x.sum()", False)],
)
def test_where_a_comparison_turns_is_asked_of_equal_sides(new: str, is_told: bool) -> None:
    old, text = text_of("return x * (x.sum() > 5)"), text_of(f"return x * ({new})")
    probed = with_probes({"a.py": text}, {"a.py": old})
    with probes_noted() as noted:
        assert outputs(probed.texts["a.py"]) == outputs(text)
    told = [one for one in left_open(probed.probes, noted, dropped=False) if "equal sides" in one]
    assert bool(told) is is_told
    with probes_noted() as noted:
        space: dict[str, Any] = {}
        exec(compile(probed.texts["a.py"], "a.py", "exec"), space)  # noqa: S102 - what is written above
        space["f"](torch.full((1,), 5.0))
    assert not [one for one in left_open(probed.probes, noted, dropped=False) if "equal sides" in one]


def test_what_the_edit_does_not_touch_is_not_asked() -> None:
    kept = "if k is None:\n    x = x + 1\n"
    old, new = text_of(f"{kept}return x"), text_of(f"{kept}return x + x")
    asked = [one.text for one in with_probes({"a.py": new}, {"a.py": old}).probes if one.is_asked and one.text]
    assert asked == ["return x + x"]
    moved = text_of("with suppress(OSError):\n    if k is None:\n        x = x + 1\nreturn x")
    asked = [one.text for one in with_probes({"a.py": moved}, {"a.py": old}).probes if one.is_asked and one.text]
    assert asked == ["suppress(OSError)"]

"""What is copied before it is written to, and what is copied in every case instead of asking who shares memory."""

from __future__ import annotations

import itertools
import textwrap

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_TEST = "out.data_ptr() == x.data_ptr()"
_COPIED = [
    (f"if {_TEST}:\n    out = out.clone()\nreturn out", "out = out.clone()\nreturn out"),
    (f"if careful and {_TEST}:\n    out = torch.clone(out)\nreturn out", "out = torch.clone(out)\nreturn out"),
    (f"if {_TEST}:\n    return out.clone()\nreturn out", "return out.clone()"),
    ("if out.data_ptr() != x.data_ptr():\n    return out\nreturn out.clone()", "return out.clone()"),
    (f"if {_TEST}:\n    y = out.clone()\nelse:\n    y = out\nreturn y", "y = out.clone()\nreturn y"),
    (f"shared = {_TEST}\nif shared:\n    out = out.clone()\nreturn out", "out = out.clone()\nreturn out"),
    (f"shared = {_TEST}\nreturn out.clone() if shared else out", "return out.clone()"),
    ("y = out if out.data_ptr() != x.data_ptr() else out.clone()\nreturn y", "y = out.clone()\nreturn y"),
]


def _function(body: str) -> str:
    return "import torch\n\ndef own(out, x, careful=True):\n" + textwrap.indent(body, "    ") + "\n"


@pytest.mark.parametrize(("before", "after"), _COPIED)
def test_what_an_address_decides_to_copy_is_copied_always(before: str, after: str) -> None:
    (text,) = proposed(_function(before), "out.data_ptr()", "cloned-first")
    assert text == _function(after)
    for out, x in itertools.product((torch.arange(3.0), torch.ones(3)), repeat=2):
        results = []
        for one in (_function(before), text):
            names: dict[str, object] = {}
            exec(one, names)  # noqa: S102 - made above
            results.append(names["own"](out, x))  # type: ignore[operator]
        assert torch.equal(*results)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"assert not {_TEST}\nreturn out", f"assert torch.compiler.is_exporting() or not {_TEST}\nreturn out"),
        (f"if {_TEST}:\n    raise ValueError\nreturn out",
         f"if not torch.compiler.is_exporting() and {_TEST}:\n    raise ValueError\nreturn out"),
    ],
)  # fmt: skip
def test_a_check_of_addresses_is_left_to_eager(before: str, after: str) -> None:
    (text,) = proposed(_function(before), "out.data_ptr()", "cloned-first")
    assert text == _function(after)


@pytest.mark.parametrize(
    "body",
    [
        f"if {_TEST}:\n    out = x.clone()\nreturn out",
        f"if {_TEST}:\n    return out.clone()\nreturn x",
        f"if {_TEST}:\n    y = out.clone()\nelse:\n    z = out\nreturn out",
        f"return out + 1 if {_TEST} else out",
    ],
)
def test_other_values_are_no_copies(body: str) -> None:
    assert proposed(_function(body), "out.data_ptr()", "cloned-first") == []


def test_what_a_function_tells_of_addresses_is_asked_nowhere_any_more() -> None:
    told = f"def shares(out, x):\n    return {_TEST}\n\n\n"
    body = "if {}shares(out, x):\n    {}\nreturn out"
    (text,) = proposed(told + _function(body.format("", "out = out.clone()")), "out.data_ptr()", "cloned-first")
    assert text == told + _function("out = out.clone()\nreturn out")
    (text,) = proposed(told + _function(body.format("", "raise ValueError")), "out.data_ptr()", "cloned-first")
    assert text == told + _function(body.format("not torch.compiler.is_exporting() and ", "raise ValueError"))


def test_a_name_that_is_read_otherwise_stays() -> None:
    for read in ("if shared:\n    raise ValueError", "print(shared)", "if shared:\n    out = out + 1"):
        assert proposed(_function(f"shared = {_TEST}\n{read}\nreturn out"), "out.data_ptr()", "cloned-first") == []


def test_a_name_that_is_made_of_itself_decides_nothing() -> None:
    body = "out = out + out.data_ptr() % 7\nreturn out"
    assert proposed(_function(body), "out.data_ptr()", "cloned-first") == []


def test_what_is_written_is_cloned_above() -> None:
    (text,) = proposed(_function("out[0] = 1\nreturn out"), "out[0] = 1", "cloned-first")
    assert "    out = out.clone()\n    out[0] = 1\n" in text

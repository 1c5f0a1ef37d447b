"""What `exportlint` exports: each name loads, says what it is, and has an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import TYPE_CHECKING

import pytest

import exportlint
from exportlint.testing import assert_exports, code_of

if TYPE_CHECKING:
    from pathlib import Path

# They start a trial, which imports torch.
SLOW = {"Diagnosis", "assert_exports", "diagnose"}
CONSTANTS = {"AnyChange", "CATCH_REFUSALS", "CONTAINER_METHODS", "SHAPE_METHODS", "__version__"}
PUBLIC = {name: getattr(exportlint, name) for name in exportlint.__all__ if name not in CONSTANTS}
PUBLIC |= {"assert_exports": assert_exports, "code_of": code_of}


def test_every_name_loads_and_is_listed() -> None:
    assert {*exportlint.__all__, "__version__"} == {*dir(exportlint)}
    assert all(hasattr(exportlint, name) for name in exportlint.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'lnit'"):
        exportlint.lnit  # noqa: B018 - asked for, and not there


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in PUBLIC])
def test_the_example_of_a_name_gives_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = PUBLIC[name]
    scope = vars(importlib.import_module(found.__module__))
    (example,) = doctest.DocTestFinder(recurse=False).find(found, name, globs={**scope})
    assert example.examples, f"{name} shows no example"
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
    assert failed == 0, "".join(report)


@pytest.mark.parametrize("name", ["assert_exports", "code_of", "diagnose", "lint"])
def test_every_argument_is_explained(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    arguments = [one for one in inspect.signature(PUBLIC[name]).parameters if name != "assert_exports"]
    assert [one for one in arguments if one not in text and one != "model"] == []
    assert "Raises" in text

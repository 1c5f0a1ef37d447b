"""The mode of an exported model, whose class is defined in another file of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Said = Callable[..., list[tuple[str, str]]]

RULES = (all_rules()["export-in-train-mode"],)
MODEL = """
from torch import nn


class Stem(nn.Module):
    def __init__(self, rate=0.0):
        super().__init__()
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(rate)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Stem()
        self.head = nn.Linear(4, 2)


class Frozen(Net):
    def train(self, mode=True):
        return super().train(False)


class Settled(Net):
    def __init__(self):
        super().__init__()
        self.eval()


def build():
    return Net()


def prepare():
    return finish(Net())


def finish(model):
    return model.eval()


def freeze(model):
    for part in model.modules():
        part.eval()
"""
SCRIPT = """
import torch
from models import {names}

net = {build}
{before}
torch.export.export(net, (torch.randn(2, 4, 8, 8),))
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(MODEL, "utf-8")

    def run(build: str, before: str = "") -> list[tuple[str, str]]:
        names = "Net, Stem, Frozen, Settled, build, prepare, freeze"
        script = tmp_path / "script.py"
        script.write_text(SCRIPT.format(names=names, build=build, before=before), "utf-8")
        report = check([SourceFile(script, "script.py")], RULES, StaticOptions(torch="2.13"))
        return [(found.severity.value, found.message.partition(":")[0]) for found in report.findings]

    return run


@pytest.mark.parametrize(
    ("build", "before", "part"),
    [
        ("Net()", "", "`BatchNorm2d`"),
        ("Net().to('cpu')", "", "`BatchNorm2d`"),
        ("Net().eval()", "net.stem.train()", "`BatchNorm2d`"),
        ("Stem(0.5)", "net.norm.eval()", "`Dropout`"),
        ("Net()", "net.head.eval()", "`BatchNorm2d`"),
    ],
)
def test_what_the_class_keeps_is_found_in_its_file(said: Said, build: str, before: str, part: str) -> None:
    ((severity, message),) = said(build, before)
    assert severity == "error"
    assert message == f"`net` is exported in train mode and holds {part}"


def test_a_builder_that_nowhere_says_eval_is_a_note(said: Said) -> None:
    assert said("build()") == [("note", snapshot("`net` may still be in train mode"))]


@pytest.mark.parametrize(
    ("build", "before"),
    [
        ("Net().eval()", ""),
        ("Net()", "net.eval()"),
        ("Net()", "net.stem.eval()"),
        ("Net()", "net.stem.norm.eval()"),
        ("Net()", "freeze(net)"),
        ("Net()", "net.train(flag)"),
        ("Stem(0.0)", "net.norm.eval()"),
        ("Frozen()", ""),
        ("Settled()", ""),
        ("prepare()", ""),
        ("unknown.Net()", ""),
    ],
)
def test_what_is_in_eval_mode_or_may_be_is_silent(said: Said, build: str, before: str) -> None:
    assert said(build, before) == []

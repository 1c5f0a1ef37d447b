"""What is left of a fixture when a torch version cannot define a part of it."""

from exportlint.definable import without

FIXTURE = """\
import torch
from torch import nn


@torch.compiler.disable(
    reason="new")
def helper(x):
    return x


class BadHelper(nn.Module):
    def forward(self, x):
        return helper(x)


class BadChild(BadHelper):
    pass


class Pair:
    pass


torch.export.register_dataclass(Pair)


class BadPair(nn.Module):
    def forward(self, x):
        return Pair(x)


class GoodPlain(nn.Module):
    def forward(self, x):
        return x
"""


def line_of(text):
    return next(number for number, line in enumerate(FIXTURE.split("\n"), 1) if text in line)


def left(line):
    rest = without(FIXTURE, line)
    scope = [text for text in rest.split("\n") if text and not text.startswith(" ")]
    assert rest.split("\n").index("class GoodPlain(nn.Module):") + 1 == line_of("GoodPlain"), "lines keep their numbers"
    return [text.removeprefix("class ").partition("(")[0].rstrip(":") for text in scope if text.startswith("class")]


def test_what_needs_the_broken_function_goes_with_it_however_far():
    assert left(line_of('reason="new"')) == ["Pair", "BadPair", "GoodPlain"]


def test_a_registration_that_fails_takes_what_uses_the_registered():
    assert left(line_of("register_dataclass")) == ["BadHelper", "BadChild", "Pair", "GoodPlain"]


def test_a_class_that_cannot_be_defined_goes_alone():
    assert left(line_of("class BadPair")) == ["BadHelper", "BadChild", "Pair", "GoodPlain"]


def test_a_line_of_no_statement_leaves_nothing_to_blame():
    assert without(FIXTURE, 0) is None
    assert without(FIXTURE, line_of("import torch") + 2) is None

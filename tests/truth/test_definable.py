"""What is left of a fixture when a torch version cannot define a part of it."""

from sources import line_of

from exportlint.truth.definable import without

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


def left(line):
    rest = without(FIXTURE, line)
    scope = [text for text in rest.split("\n") if text and not text.startswith(" ")]
    assert rest.split("\n").index("class GoodPlain(nn.Module):") + 1 == line_of("GoodPlain", FIXTURE), (
        "lines keep their numbers"
    )
    return [text.removeprefix("class ").partition("(")[0].rstrip(":") for text in scope if text.startswith("class")]


def test_what_needs_the_broken_function_goes_with_it_however_far():
    assert left(line_of('reason="new"', FIXTURE)) == ["Pair", "BadPair", "GoodPlain"]


def test_a_registration_that_fails_takes_what_uses_the_registered():
    assert left(line_of("register_dataclass", FIXTURE)) == ["BadHelper", "BadChild", "Pair", "GoodPlain"]


def test_a_class_that_cannot_be_defined_goes_alone():
    assert left(line_of("class BadPair", FIXTURE)) == ["BadHelper", "BadChild", "Pair", "GoodPlain"]


def test_a_line_of_no_statement_leaves_nothing_to_blame():
    assert without(FIXTURE, 0) is None
    assert without(FIXTURE, line_of("import torch", FIXTURE) + 2) is None

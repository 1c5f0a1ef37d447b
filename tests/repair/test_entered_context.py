"""A context manager of the project is written out where it is entered, if that is all that happens to it."""

import pytest
from rewritten_text import forward, rewritten

BLOCK = """\
with Recorder(self.sums) as recorder:  # what is seen
    y = x * 2
return y"""


def written(body, enter="return self", leave="self.sink.append(len(self.sink))"):
    manager = f"""\
class Recorder:
    def __init__(self, sink):
        self.sink = sink

    def __enter__(self):
        {enter}

    def __exit__(self, *exc):
        {leave}


"""
    text = rewritten(manager + forward(body, "self.sums = []"), which=1)
    return text.partition("self, x: torch.Tensor):\n")[2].strip().split("\n        ")


def test_what_it_does_stands_around_the_block():
    assert written(BLOCK.replace(" as recorder", "")) == [
        "# what is seen",
        "y = x * 2",
        "self.sums.append(len(self.sums))",
        "return y",
    ]


def test_its_own_attributes_are_names_of_the_function():
    enter = "self.before = len(self.sink)"
    leave = "grown = len(self.sink) - self.before; self.sink.append(grown)"
    assert written(BLOCK.replace(" as recorder", "").replace("y", "before"), enter, leave) == [
        "# what is seen",
        "before_2 = len(self.sums)",
        "before = x * 2",
        "grown = len(self.sums) - before_2",
        "self.sums.append(grown)",
        "return before",
    ]


@pytest.mark.parametrize(
    ("body", "leave"),
    [
        (BLOCK, "self.sink.append(1)"),
        ("with Recorder(self.sums):\n    return x * 2", "self.sink.append(1)"),
        (BLOCK.replace(" as recorder", ""), "self.sink.append(exc)"),
        (BLOCK.replace(" as recorder", ""), "self.sink.append(1); return True"),
        (BLOCK.replace(" as recorder", ""), "self.sink.append(self)"),
    ],
    ids=["it has a name", "the block returns", "it looks at the exception", "it swallows exceptions", "it is kept"],
)
def test_others_stay(body, leave):
    assert written(body, leave=leave) == body.split("\n")

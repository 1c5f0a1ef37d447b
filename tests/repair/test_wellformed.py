"""What does not compile, or reads names that nothing defines, never reaches the court; what is gone is told."""

import pytest

from exportlint.repair.settings_read import users_not_tried
from exportlint.repair.wellformed import lost_names, what_is_broken

BEFORE = """\
import math

import torch

FACTOR = 2


class Net:
    size = 3

    def __init__(self):
        self.seen = 0

    def forward(self, x):
        return [x * FACTOR for _ in range(self.size)], self.seen, math.pi
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return [", "return (", "does not compile"),
        ("        self.seen = 0", "        return 0\n    return 1", "does not compile"),
        ("import math", "import maths", "`math`"),
        ("x * FACTOR", "x * y", "`y`"),
        ("FACTOR = 2", "FACTORS = 2", "`FACTOR`"),
        ("self.seen = 0", "pass", "the attribute `seen`"),
        ("    size = 3", "    sizes = 3", "the attribute `size`"),
    ],
)
def test_what_is_broken_is_said(old, new, said):
    assert said in what_is_broken({"net.py": BEFORE}, {"net.py": BEFORE.replace(old, new, 1)})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * FACTOR", "(lambda y: y * FACTOR)(x)"),
        ("return [", "for y in x:\n            x = y\n        return ["),
        ("import torch", "from torch import *"),
        ("self.seen = 0", 'self.register_buffer("seen", 0)'),
        ("self.seen = 0", "global last\n        last = 0\n        self.seen = last"),
        ("import torch", "import torch\nfrom torch import nn as layers"),
        ("import torch", "try:\n    import torch\nexcept ImportError as error:\n    print(error, __file__)"),
    ],
)
def test_what_is_whole_is_let_through(old, new):
    assert what_is_broken({"net.py": BEFORE}, {"net.py": BEFORE.replace(old, new, 1)}) is None


def test_what_was_undefined_before_is_no_news():
    before = BEFORE.replace("x * FACTOR", "x * unknown")
    assert what_is_broken({"net.py": before}, {"net.py": before.replace("x *", "2 * x *")}) is None


def test_what_others_may_read_is_lost():
    after = BEFORE.replace("FACTOR", "_factor").replace("size", "length").replace("import math\n", "")
    assert lost_names({"net.py": BEFORE}, {"net.py": after}) == ["FACTOR", "size"]


FAMILY = """
def count(x):
    return 1

class Base:
    def forward(self, x):
        return {0}

class Model(Base):
    pass

class Sibling(Base):
    pass

class Other:
    def forward(self, x):
        return range(count(x))

def make():
    return Model()
"""


@pytest.mark.parametrize(
    ("old", "new", "users"),
    [
        ("return 1", "return 1", []),
        ("return 1", "return x.sum()", ["Other"]),
        ("return x\n", "return -x\n", ["Sibling"]),
    ],
)
def test_who_uses_what_was_edited_without_being_tried(old, new, users):
    before = FAMILY.format("x")
    after = before.replace(old, new)
    assert users_not_tried({"a.py": before}, {"a.py": after}, ["Model", "Base", "object"]) == users

"""State of a plain object that a module keeps, and what the first call fills, is put into registered buffers."""

import pytest
from rewritten_text import HEAD, rewritten

METER = '''\
class Meter:
    """Follows the mean."""

    def __init__(self, size, start=0.5):
        """Of that size."""
        self.mean = torch.zeros(size)
        self.weight = start

    def update(self, x):
        self.mean = self.mean + self.weight * (x.mean(0) - self.mean)
        self.weight = self.weight * 0.9


'''
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.meter = Meter(3)

    def forward(self, x: torch.Tensor):
        self.meter.update(x)
        return x - self.meter.mean
"""


def test_the_object_becomes_a_module():
    lines = rewritten(HEAD + METER + NET).split("\n")
    start = lines.index("class Meter(torch.nn.Module):")
    assert lines[start + 3 : start + 13] == [
        "    def __init__(self, size, start=0.5):",
        '        """Of that size."""',
        "        super().__init__()",
        '        self.register_buffer("mean", torch.zeros(size), persistent=False)',
        '        self.register_buffer("weight", torch.tensor(start, dtype=torch.float64), persistent=False)',
        "",
        "    def update(self, x):",
        "        self.mean.copy_(self.mean + self.weight * (x.mean(0) - self.mean))",
        "        self.weight.copy_(self.weight * 0.9)",
        "",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class Meter:", "class Meter(Base):"),
        ("    def update", "    def __getattr__(self, name):\n        return 0\n\n    def update"),
    ],
    ids=["it has a base", "it has attributes of its own making"],
)
def test_others_stay(old, new):
    text = HEAD + METER.replace(old, new) + NET
    assert rewritten(text) == text


def test_what_nobody_knows_the_beginning_of_stays():
    lines = rewritten(HEAD + METER.replace("self.weight = start", "self.weight = start()") + NET).split("\n")
    assert '        self.register_buffer("mean", torch.zeros(size), persistent=False)' in lines
    assert "        self.weight = start()" in lines


FIRST = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.zeros(3))
        self.follows = True
        self.begun = False

    def forward(self, x: torch.Tensor):
        if self.follows and not self.begun:
            # the first batch
            mean = x.mean(0)
            self.shift.copy_(mean)  # kept
            self.begun = True
        return x - self.shift
"""


def test_what_the_first_call_fills_is_filled_under_a_buffer():
    lines = rewritten(HEAD + FIRST).rstrip().split("\n")
    assert lines[-9:] == [
        '        self.register_buffer("begun", torch.tensor(False), persistent=False)',
        "",
        "    def forward(self, x: torch.Tensor):",
        "        if self.follows:",
        "            # the first batch",
        "            mean = x.mean(0)",
        "            self.shift.copy_(torch.where(self.begun, self.shift, mean))  # kept",
        "            self.begun.fill_(True)",
        "        return x - self.shift",
    ]


def test_a_name_that_reads_like_a_factorisation_is_none():
    text = rewritten(HEAD + FIRST.replace("copy_(mean)", "copy_(mean * self.weight.mean())"))
    assert "copy_(torch.where(self.begun, self.shift, mean * self.weight.mean()))" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("            self.begun = True\n", "            self.begun = True\n            print(mean)\n"),
        ("            mean = x.mean(0)\n", "            mean = x.mean(0)\n            self.log(mean)\n"),
        ("            self.shift.copy_(mean)", "            self.shift.copy_(torch.linalg.inv(x) @ mean)"),
        ("        return x - self.shift", "        return x - self.shift if self.begun else x"),
    ],
    ids=["something follows the flag", "it calls something", "it may raise", "the flag is asked for twice"],
)
def test_what_does_more_stays(old, new):
    assert "torch.where(self.begun, self.shift" not in rewritten(HEAD + FIRST.replace(old, new))

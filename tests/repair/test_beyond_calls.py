"""What an edit changes that no call of a model shows is told by its text."""

from __future__ import annotations

import pytest

from exportlint.repair.beyond_calls import asked_otherwise, beyond_calls, called_no_more, used_elsewhere
from exportlint.repair.change import Change
from exportlint.repair.probes import with_probes

TARGET = "B = Dim('b')\nexample_args = (x,)\ndynamic_shapes = ({0: B},)\n"
NET = """\
class Net:
    def forward(self, x):
        self.validate(x)
        return x

    def validate(self, x):
        assert x.dim() == 2
        if x.max() > 9:
            raise ValueError
"""


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (TARGET.replace("dynamic_shapes = ({0: B},)\n", ""), ["drops `dynamic_shapes`"]),
        (TARGET.replace("{0: B}", "{}"), ["changes `dynamic_shapes`"]),
        (TARGET.replace("Dim('b')", "Dim('b', max=4)"), ["changes `dynamic_shapes`"]),
        (TARGET.replace("(x,)", "(x[:1],)"), ["changes `example_args`"]),
        (TARGET + "example_kwargs = {}\n", []),
        ("def f():\n    pass\n" + TARGET, []),
    ],
)
def test_an_export_that_is_asked_for_something_else(after: str, said: list[str]) -> None:
    assert asked_otherwise(TARGET, after) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    __deepcopy__ = lambda self, memo: Net()\n", "`__deepcopy__`, "),
        ("    def __reduce__(self):\n        return Net, ()\n", "`__reduce__`, "),
        ("    def __init__(self):\n        self.register_forward_hook(f)\n", "`register_forward_hook`, "),
    ],
)
def test_copies_and_hooks(line: str, said: str) -> None:
    (told,) = beyond_calls(Change({"/net.py": NET}, {"/net.py": NET + line}))
    assert told.startswith(said)


FORWARD = "import torch\nclass Net:\n    def forward(self, x, low=0, high=1):\n        return x\n"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("low=0, high=1", "high=1, low=0", "`Net.forward` in net.py takes `low` in another place"),
        ("low=0, high=1", "low=0, high=2", "`Net.forward` in net.py has another default of `high`"),
        ("low=0, high=1", "low=0, high=1, more=2", ""),
        (
            "return x",
            "with torch.autocast('cpu'):\n            return x",
            "`torch.autocast('cpu')`, net.py:4, is brought",
        ),
        ("return x", "self.register_forward_pre_hook(f)", "`register_forward_pre_hook`, net.py:4, adds a hook"),
    ],
)
def test_what_calls_are_given_and_run_under(before: str, after: str, said: str) -> None:
    told = list(beyond_calls(Change({"net.py": FORWARD}, {"net.py": FORWARD.replace(before, after)})))
    assert [one.startswith(said) for one in told] == [True] * bool(said)


def test_a_hook_that_reads_checkpoints_is_gone() -> None:
    text = (
        "class Net:\n    def __init__(self):\n        self.register_load_state_dict_pre_hook(f)\n        self.n = 1\n"
    )
    after = text.replace("        self.register_load_state_dict_pre_hook(f)\n", "")
    (told,) = beyond_calls(Change({"net.py": text}, {"net.py": after}))
    assert told.startswith("`register_load_state_dict_pre_hook`, line 3 of net.py before the edit, is gone")


def test_what_is_called_no_more_was_to_be_seen_whole() -> None:
    after = NET.replace("        self.validate(x)\n", "")
    change = Change({"/net.py": NET}, {"/net.py": after})
    probes = with_probes(change.before, change.after, untouched=True).probes
    run = {"/net.py": {3, 4, 7, 8}}, {"/net.py": {3}}
    told = list(called_no_more(change, run, [], probes, {}))
    assert "the edit calls `Net.validate` no more, and no input that was tried runs line 9" in told[0]
    assert ["`x.dim() == 2` in it" in one for one in told] == [False, True, False]
    run = {"/net.py": {3, 4, 7, 8, 9}}, {"/net.py": {3, 6, 7}}
    assert not list(called_no_more(change, run, [], probes, {}))


def test_another_function_that_calls_what_the_edit_changes() -> None:
    old = "def limit(y, top):\n    return y\n"
    rest = "class Net:\n    def forward(self, x):\n        return limit(x, 1)\n    def peak(self, x):\n        return limit(x, 2)\n"
    new = old.replace("return y", "return y.clamp(-1, 1)")
    assert used_elsewhere(old + rest, new + rest, [2, 5]) == [("Net.peak", "limit")]
    assert used_elsewhere(old + rest, new + rest, [2, 5, 7]) == []

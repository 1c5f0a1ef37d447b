"""`exportlint verify` judges an edit that somebody made; edits that only look right are refused, or told as unproved."""

from __future__ import annotations

import difflib
import json
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

import jsonschema
import pytest
from processes import exportlint

from exportlint.config.settings import CommandLine, load_config
from exportlint.repair.change import Change
from exportlint.repair.verification import Verdict, Verified
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.target import PARTS
from exportlint.workflow.target_choice import chosen
from exportlint.workflow.verifying import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exportlint.output.report import Report

pytestmark = pytest.mark.slow

NET = """\
import torch
from torch import nn

SCALE = 2.0
KNOWN: dict[int, torch.Tensor] = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x, flag: bool = False):
        y = self.lin(x)
        self.seen += 1
        if flag:
            y = y - 1
        assert x.shape[0] < 100
        if y.mean() > 0:
            y = y * SCALE
        return y


model = Net().eval()
example_args = (torch.ones(2, 4),)
"""
BRANCH = "        if y.mean() > 0:\n            y = y * SCALE\n        return y\n"
RIGHT = "        return torch.where(y.mean() > 0, y * SCALE, y)\n"
MENDED = NET.replace(BRANCH, RIGHT)
# The stages that say whether the edit is right; those that look for causes take most of a trial's time.
_STAGES = ("load", "eager", "export-non-strict", "soundness", "same-behaviour", "same-program")


def judged(folder: Path, before: str, after: str, added: Mapping[str, str] = MappingProxyType({})) -> Verified[Report]:
    path = folder / "net.py"
    path.write_text(before, "utf-8")
    more = {str(folder / name): text for name, text in added.items()}
    change = Change({str(path): before, **dict.fromkeys(more, "")}, {str(path): after, **more})
    config = load_config([str(path)], CommandLine())
    parts = dict.fromkeys(("model", *PARTS))
    return verify(chosen([str(path)], parts, [], config), config, TrialOptions(("non-strict",), only=_STAGES), change)


def instead(new: str, old: str = RIGHT) -> str:
    assert old in MENDED
    return MENDED.replace(old, new)


def beside(test: str, then: str = "return y") -> str:
    """The right mend behind a test that somebody hopes nobody takes."""
    return instead(f"        if {test}:\n            {then}\n{RIGHT}")


# What each is found by stands beside it: words of the first reason.
DIFFERENT = {
    "the sample's output is written down": (
        instead("        return torch.tensor([[0.5] * 4] * 2)\n"),
        "the output differs",
    ),
    "right for the sample alone": (
        instead(
            "        if torch.equal(x, torch.ones(2, 4)):\n            return y\n        return torch.zeros_like(y)\n"
        ),
        "the output differs",
    ),
    "the branch is always taken": (instead("        return y * SCALE\n"), "the output differs"),
    "the branch is never taken": (instead("        return y\n"), "the output differs"),
    "only the shape is right": (instead("        return torch.zeros(x.shape[0], 4)\n"), "the output differs"),
    "a global is changed": (instead(f"        global SCALE\n        SCALE = 3.0\n{RIGHT}"), "the output differs"),
    "an early return for large values": (beside("x.abs().max() > 50", "return x"), "the output differs"),
    "the buffer no longer counts": (instead("", "        self.seen += 1\n"), "the buffer seen differs"),
    "another dtype": (instead(RIGHT.replace("SCALE, y)", "SCALE, y).double()")), "torch.float64 now"),
    "gradients are cut": (instead(RIGHT.replace("y)\n", "y).detach()\n")), "no longer requires them"),
    "a check is dropped": (instead("", "        assert x.shape[0] < 100\n"), "it gave AssertionError"),
    "the input is written": (instead(f"        x.zero_()\n{RIGHT}"), "the input differs"),
    "other sizes go another way": (beside("x.shape[0] == 3", "return -y"), "the output differs"),
    "wrong after two calls": (
        instead(f"        self.calls += 1\n        if self.calls > 2:\n            return y\n{RIGHT}"),
        "call 3: the output differs",
    ),
    "wrong after ten calls": (
        instead(f"        self.calls += 1\n        if self.calls > 10:\n            return y\n{RIGHT}"),
        "holds something else",
    ),
    "a little off": (instead(RIGHT.replace("y * SCALE", "y * SCALE * 1.01")), "the output differs"),
    "training goes another way": (beside("self.training"), "in training"),
    "checkpoints do not load": (MENDED.replace("self.lin", "self.linear"), "gradient of lin.weight"),
}
UNPROVED = {
    "an option's branch is dropped": (instead("", "        if flag:\n            y = y - 1\n"), "line 20 of"),
    "the inputs' identity is asked": (beside("id(x) in KNOWN", "return KNOWN[id(x)]"), "no input that was tried runs"),
    "the environment is asked": (beside('__import__("os").environ.get("PRODUCTION")'), "no input that was tried runs"),
    "one value goes another way": (beside("y.sum() == 1234.5", "return -y"), "no input that was tried runs"),
    "a way that is hidden in an expression": (
        instead(RIGHT.replace("SCALE, y)", "SCALE, y) if y.sum() != 1234.5 else -y")),
        "`y.sum() != 1234.5`, ",
    ),
    "a second test in an old one": (
        NET.replace("if y.mean() > 0:", "if y.mean() > 0 or y.sum() == 1234.5:"),
        "`y.sum() == 1234.5`, ",
    ),
    "a selection in data that nothing reaches": (
        instead(RIGHT.replace("SCALE, y)", "SCALE, torch.where(y.sum() == 1234.5, -y, y))")),
        "the condition of the selection at ",
    ),
    "a branch of torch.cond that nothing reaches": (
        instead(
            f"        y = {RIGHT.strip().removeprefix('return ')}\n"
            "        return torch.cond(y.sum() == 1234.5, lambda t: -t, lambda t: t.clone(), (y,))\n"
        ),
        "the condition of the selection at ",
    ),
}


# Edits in which nothing goes another way on any input that is tried: each of the reasons is told.
HIDDEN = instead(
    f"        y = {RIGHT.strip().removeprefix('return ')}\n"
    "        n, rare = x.shape[0], x.shape[0] == 7777\n"
    "        while n == 7777: y = -y\n"
    "        match n:\n            case 7777: y = -y\n            case _: y = y + 0\n"
    "        for _ in range(n // 7777): y = -y\n"
    "        y = -y if rare else y\n"
    "        return [y, -y][n == 7777] * {7777: -1}.get(n, 1)\n"
)
GUARDED = NET.replace(
    BRANCH,
    "        self.validate(x)\n"
    "        if y.sum() != 1234.5:\n            y = y * 1.5\n"
    "        y = y if y.sum() > 1 and y.sum() != 1234.5 else y + y.mean() * 0\n"
    f"{BRANCH}\n"
    "    def validate(self, x):\n        if x.sum() == 1234.5:\n            raise ValueError\n",
)
UNGUARDED = GUARDED.replace("        self.validate(x)\n", "").replace(BRANCH, RIGHT)
UNGUARDED = UNGUARDED.replace("        if y.sum() != 1234.5:\n            y = y * 1.5\n", "        y = y * 1.5\n")
UNGUARDED = UNGUARDED.replace(" and y.sum() != 1234.5", "")
OPTION = NET.replace("self.calls = 0", "self.calls = 1 if SCALE == 5 else 0") + "dynamic_shapes = ({0: 'auto'}, None)\n"
NO_OPTION = MENDED.replace(
    "    def forward",
    "    __deepcopy__ = lambda self, memo: Net()\n\n    def spare(self):\n        return -1\n\n    def forward",
)
EVERY_REASON = {
    "decisions inside of lines": (
        NET,
        HIDDEN,
        [
            "`x.shape[0] == 7777`, net.py:23, was False for every input that was tried",
            "`n == 7777`, net.py:24, was False for every input that was tried",
            "`case 7777`, net.py:26, is taken by no input that was tried",
            "`range(n // 7777)`, net.py:28, has no round for any input that was tried",
            "`rare`, net.py:29, was False for every input that was tried",
            "`[y, -y][n == 7777]`, net.py:30, has values that no input that was tried looks up",
            "`{7777: -1}.get(n, 1)`, net.py:30, has values that no input looks up",
        ],
    ),
    "guards that are dropped": (
        GUARDED,
        UNGUARDED,
        [
            "the edit drops `y.sum() != 1234.5`, line 23 of net.py before it, which was True for every input",
            "the edit drops `y.sum() != 1234.5`, line 25 of net.py before it, which was True for every input",
            "the edit calls `Net.validate` no more, and no input that was tried runs line 32 of net.py before the edit",
        ],
    ),
    "what is made, copied, asked for and never called": (
        OPTION,
        NO_OPTION,
        [
            "the edit drops `SCALE == 5`, line 14 of net.py before it, which was False for every input",
            "`__deepcopy__`, net.py:16, says how the model is copied or stored",
            "no input that was tried runs net.py:19",
            "the edit drops `dynamic_shapes` in net.py",
        ],
    ),
}


def _net(forward: str, args: str, init: str = "pass") -> str:
    head = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return f"{head}        {init}\n\n    def forward(self, {forward}\n\n\nmodel = Net().eval()\nexample_args = {args}\n"


# Right on whatever is like the sample: the method before and after, the sample, and what it is found by.
FAR_FROM_THE_SAMPLE = {
    "complex numbers": (
        "z):\n        return torch.view_as_real(z)",
        "z):\n        return torch.tensor([3.0, 1.0]).expand(2, 4, 2).clone()",
        "(torch.full((2, 4), 3 + 1j),)",
        "the other inputs",
    ),
    "a length that is written down": (
        "x, n):\n        return torch.stack([y[:k].sum(0) for y, k in zip(x, n.tolist())])",
        "x, n):\n        kept = torch.arange(64)[: x.shape[1]] < n[:, None]\n        return (x[:, :64] * kept[..., None]).sum(1)",
        "(torch.rand(3, 8, 4), torch.tensor([8, 3, 5]))",
        "80 in every dim of 8, integers too",
    ),
    "a type that is too narrow": (
        "ids):\n        return ids * 1000003 % 61",
        "ids):\n        return (ids.int() * 1000003 % 61).long()",
        "(torch.arange(12),)",
        "integers times 1001",
    ),
    "values that are small beside 1": (
        "x):\n        return x * 1e-9 * (2 if x.mean() > -1e30 else 1)",
        "x):\n        return x * 3e-9",
        "(torch.rand(2, 4),)",
        "differs",
    ),
    "a gradient that is no number": (
        "x):\n        m = x.mean()\n        if m > 0:\n            x = x * m.log1p().sqrt()\n        return x * self.w",
        "x):\n        m = x.mean()\n        return torch.where(m > 0, x * m.log1p().sqrt(), x) * self.w",
        "(torch.rand(2, 4) + 0.5,)",
        "is no number where it was one (the sample, negated)",
    ),
}


# Arithmetic, what is given and what is passed on make choices in which no decision stands: the method before, what of it
# is written in another way, and what the first reason says.
BEYOND_DECISIONS = {
    "blocks of a size that the sample has not": (
        (
            "x):\n        parts = x.chunk(x.shape[1] // 128 + 1, 1)\n"
            "        return torch.cat([one - one.mean(1, keepdim=True) for one in parts], 1)"
        ),
        "x):\n        return x - x.mean(1, keepdim=True)",
        "(torch.rand(2, 10, 4),)",
        "128 in every dim of 10",
    ),
    "an index that counts from the end": (
        "x, i):\n        return x[i] * 1",
        "x, i):\n        return x[i.abs()] * 1",
        "(torch.rand(8, 4), torch.tensor([2, 5, 3]))",
        "integers all -2",
    ),
    "a mean of none": (
        "x):\n        return x.sum(1) / max(x.shape[1], 1)",
        "x):\n        return x.sum(1) / x.shape[1]",
        "(torch.rand(2, 5),)",
        "0 in every dim of 5",
    ),
    "where a comparison turns": (
        "x):\n        return x * (x > 0.37)",
        "x):\n        return x * (x >= 0.37)",
        "(torch.rand(6),)",
        "numbers with a fraction all 0.37",
    ),
    "halves": (
        "x):\n        return (x / 0.07).round()",
        "x):\n        return (x / 0.07 + 0.5).floor()",
        "(torch.rand(6),)",
        "numbers with a fraction all 0.035",
    ),
    "so many calls": (
        "x):\n        self.n += 1\n        return x * 0.9 ** (self.n // 5)",
        "x):\n        self.n += 1\n        return x + 0",
        "(torch.rand(2, 4),)",
        "the sample, 6 times in a row, call 5",
    ),
    "so many entries": (
        "xs):\n        return sum(xs)",
        "xs):\n        return xs[0] + xs[1]",
        "([torch.rand(2), torch.rand(2)],)",
        "one entry more in every list",
    ),
    "outputs that share memory": (
        "x):\n        y = x * 2\n        return y, y[:1].clone()",
        "x):\n        y = x * 2\n        return y, y[:1]",
        "(torch.rand(2, 4),)",
        "the outputs [0] and [1] are the same memory now",
    ),
    "another precision in each call": (
        (
            "x):\n        key = len(x), x.dtype\n        self.kept.setdefault(key, torch.ones_like(x))\n"
            "        return x * self.kept[key]"
        ),
        (
            "x):\n        key = len(x)\n        self.kept.setdefault(key, torch.ones_like(x))\n"
            "        return x * self.kept[key]"
        ),
        "(torch.rand(2, 4),)",
        "another precision in each call",
    ),
}
# In one edit: no input that is tried shows any of these.
UNSEEN = (
    _net(
        "x, boxes, scores, low=None, high=None):\n"
        "        self._last = x.detach()\n"
        "        with torch.autocast('cpu', enabled=False):\n"
        "            y = x.sigmoid().clamp(-1, 2)\n"
        "        name = f\"{'a' if x.sum() == 1234.5 else 'b'}\"\n"
        "        y = torch.clamp(y, min=low) if name == 'c' else y.sum(0, dtype=low)\n"
        "        y = y * max(x.sigmoid().sum().item(), -1) * (x.sigmoid().sum() > -1)\n"
        "        return y, [b * s for b, s in zip(boxes, scores, strict=True)]\n\n"
        "    def last(self):\n        return self._last",
        "(torch.rand(2, 4), [torch.rand(2)], [torch.rand(2)])",
        "self._last = None",
    ),
    [
        ("        self._last = x.detach()\n", "", "`Net.last` reads `self._last`, which the edit sets no more"),
        ("with torch.autocast('cpu', enabled=False)", "if True", "`torch.autocast('cpu', enabled=False)`, line "),
        ("[b * s ", "[b * getattr(self, 'by', 1) * s ", "`getattr(self, 'by', 1)`, net.py:16, finds nothing"),
        (".clamp(-1, 2)", " + 0", "the edit drops `x.sigmoid().clamp(-1, 2)`, "),
        (
            "f\"{'a' if x.sum() == 1234.5 else 'b'}\"",
            "'b'",
            "the edit drops `f\"{('a' if x.sum() == 1234.5 else 'b')}\"`, ",
        ),
        (", dtype=low", "", "the edit drops `low` in `y.sum(0, dtype=low)`, "),
        (
            "max(x.sigmoid().sum().item(), -1)",
            "x.sigmoid().sum().item()",
            "the edit drops `max(x.sigmoid().sum().item(), -1)`, ",
        ),
        ("sum() > -1", "sum() >= -1", "`x.sigmoid().sum() >= -1`, net.py:15, had equal sides for no input"),
        (", strict=True", "", "`zip(boxes, scores, strict=True)`, line "),
        ("low=None, high=None", "high=None, low=None", "`Net.forward` in net.py takes `low` in another place"),
    ],
)


@pytest.mark.parametrize("name", BEYOND_DECISIONS)
def test_a_choice_without_a_decision_is_seen(tmp_path: Path, name: str) -> None:
    before, after, args, said = BEYOND_DECISIONS[name]
    init = "self.n, self.kept = 0, {}"
    done = judged(tmp_path, _net(before, args, init), _net(after, args, init))
    assert done.verdict is Verdict.DIFFERENT
    assert said in done.different[0]


def test_what_no_input_shows_of_such_choices_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, edits = UNSEEN
    after = before
    for old, new, _ in edits:
        assert after.count(old) == 1
        after = after.replace(old, new)
    monkeypatch.chdir(tmp_path)
    done = judged(tmp_path, before, after)
    assert done.verdict is Verdict.UNPROVED
    assert [said for *_, said in edits if not any(told.startswith(said) for told in done.unproved)] == []


def test_an_attribute_may_become_a_buffer(tmp_path: Path) -> None:
    kept = "self.scale, self.w = torch.arange(4.0), nn.Parameter(torch.ones(4))"
    before = _net("x):\n        return self.w * x * self.scale", "(torch.rand(2, 4),)", kept)
    buffer = 'self.w = nn.Parameter(torch.ones(4)); self.register_buffer("scale", torch.arange(4.0), persistent=False)'
    done = judged(tmp_path, before, before.replace(kept, buffer))
    assert done.different == done.unproved == ()
    assert any("`scale` is a buffer now, and is converted with the model" in one for one in done.told)


@pytest.mark.parametrize("name", EVERY_REASON)
def test_every_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before, after, reasons = EVERY_REASON[name]
    monkeypatch.chdir(tmp_path)
    done = judged(tmp_path, before, after)
    assert done.verdict is Verdict.UNPROVED
    assert [one for one in reasons if not any(told.startswith(one) for told in done.unproved)] == []


def test_a_file_that_nothing_imports_is_not_shown(tmp_path: Path) -> None:
    done = judged(tmp_path, NET, MENDED, {"random.py": "def random():\n    return 4\n\n\nx = 1\n"})
    assert done.verdict is Verdict.UNPROVED
    assert "nothing that was run imports " in done.unproved[0]


@pytest.mark.parametrize("name", FAR_FROM_THE_SAMPLE)
def test_an_edit_that_is_right_for_what_is_like_the_sample_is_refused(tmp_path: Path, name: str) -> None:
    before, after, args, said = FAR_FROM_THE_SAMPLE[name]
    init = "self.w = nn.Parameter(torch.ones(4))"
    done = judged(tmp_path, _net(before, args, init), _net(after, args, init))
    assert done.verdict is Verdict.DIFFERENT
    assert said in done.different[0]


def test_a_tensor_that_no_input_varies_is_told(tmp_path: Path) -> None:
    check = (
        "x, n):\n        if n.shape != (2,) or n.tolist() != [1, 2]:\n            raise ValueError\n        return x"
    )
    args = "(torch.rand(2, 4), torch.tensor([1, 2]))"
    done = judged(tmp_path, _net(check, args), _net(check.replace("return x", "return x + 0"), args))
    assert done.verdict is Verdict.UNPROVED
    assert any("never varied: `n` (int64)" in text for text in done.unproved)


@pytest.mark.parametrize("name", DIFFERENT)
def test_an_edit_that_computes_something_else_is_refused(tmp_path: Path, name: str) -> None:
    after, said = DIFFERENT[name]
    done = judged(tmp_path, NET, after)
    assert done.verdict is Verdict.DIFFERENT
    assert said in done.different[0]


@pytest.mark.parametrize("name", UNPROVED)
def test_what_nothing_could_show_is_told(tmp_path: Path, name: str) -> None:
    after, said = UNPROVED[name]
    done = judged(tmp_path, NET, after)
    assert done.verdict is Verdict.UNPROVED
    assert said in done.unproved[0]


def test_an_edit_that_is_right_in_eager_and_wrong_in_the_program_makes_it_worse(tmp_path: Path) -> None:
    done = judged(tmp_path, NET, beside("torch.compiler.is_exporting()", "return torch.zeros_like(y)"))
    assert done.verdict is Verdict.WORSE
    assert "export-non-strict was refused, and now differs" in done.worse[0]


def test_a_right_mend_is_taken_and_says_on_what_it_was_tried(tmp_path: Path) -> None:
    done = judged(tmp_path, NET, MENDED)
    assert done.verdict is Verdict.MENDS
    (inputs,) = done.inputs.values()
    assert {"the sample", "the other inputs", "zeros"} <= set(inputs)


def test_an_edit_that_changes_nothing_of_what_fails_does_not_help(tmp_path: Path) -> None:
    assert judged(tmp_path, NET, NET.replace("y * SCALE", "SCALE * y")).verdict is Verdict.NO_HELP
    # Torch's words name the text of the line, which is another one now.
    assert (
        judged(tmp_path, NET, NET.replace(BRANCH, BRANCH.replace(":\n", ":  # a remark\n", 1))).verdict
        is Verdict.NO_HELP
    )


def test_what_eager_only_prints_may_be_left_out_of_the_program(tmp_path: Path) -> None:
    printed = MENDED.replace("        return torch.where", "        print('mean')\n        return torch.where")
    apart = printed.replace("print('mean')", "if not torch.compiler.is_compiling():\n            print('mean')")
    assert judged(tmp_path, printed, apart).verdict.is_taken


def test_a_check_that_the_program_keeps_is_not_gone(tmp_path: Path) -> None:
    checked = NET.replace("assert x.shape[0] < 100", "assert x.sum() > -1e9")
    kept = checked.replace("assert x.sum() > -1e9", "torch._assert_async(x.sum() > -1e9)").replace(BRANCH, RIGHT)
    assert judged(tmp_path, checked, kept).verdict is Verdict.MENDS


def test_a_check_that_some_input_fails_may_be_written_in_another_way(tmp_path: Path) -> None:
    check = "if torch.isnan(x).any():\n            raise ValueError('no numbers')"
    checked = NET.replace("assert x.shape[0] < 100", check)
    kept = checked.replace(check, "torch._assert_async(~torch.isnan(x).any())").replace(BRANCH, RIGHT)
    done = judged(tmp_path, checked, kept)
    assert done.verdict is Verdict.MENDS
    assert "it raises RuntimeError where it raised ValueError (the sample with a nan)" in done.told


def test_the_command_takes_a_patch_from_stdin_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    patch = "".join(difflib.unified_diff(NET.splitlines(True), MENDED.splitlines(True), "a/net.py", "b/net.py"))
    command = ("verify", "net.py", "--patch", "-")
    done = exportlint(tmp_path, *command, "--output-format", "json", stdin=patch.encode())
    told = json.loads(done.stdout)
    jsonschema.validate(told, json.loads((files("exportlint.output") / "verification-1.json").read_text("utf-8")))
    assert (done.returncode, told["verdict"], told["taken"]) == (0, "mends", True)
    assert told["targets"][0]["before"]["export-non-strict"] == "refused"
    assert told["targets"][0]["after"]["export-non-strict"] == "passed"
    assert (tmp_path / "net.py").read_text("utf-8") == NET

    wrong = patch.replace("+        return torch.where(y.mean() > 0, y * SCALE, y)", "+        return y")
    done = exportlint(tmp_path, *command, stdin=wrong.encode())
    assert done.returncode == 1
    assert (
        "the edit computes something else\n  computes something else: net.py: the other inputs, call 1" in done.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["net.py", "--patch", "none.diff"], "the patch none.diff cannot be read"),
        (["net.py", "--patch", ""], "--patch is empty"),
        (["net.py", "--base", ""], "--base is empty"),
        (["net.py"], "there is no git repository"),
        (["net.py", "--patch", "-", "--base", "HEAD"], "leave out --base and --revision"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    done = exportlint(tmp_path, "verify", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("exportlint: error: ")
    assert said in done.stderr

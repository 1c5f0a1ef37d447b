"""`exportlint fix` rewrites, tries what it wrote, shows a diff, and writes only when asked."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import WARM, exportlint

pytestmark = pytest.mark.slow

NET = '''\
import torch
from torch import nn


class Gate(nn.Module):
    """Scales what is bright."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor):
        x = x * self.scale.data  # the plain values
        if x.mean() > 0.2:
            x = x * 2
        return x

    @staticmethod
    def inputs():
        return (torch.ones(2, 3),)
'''
MENDED = NET.replace("self.scale.data", "self.scale.detach()").replace(
    "        if x.mean() > 0.2:\n            x = x * 2\n", "        x = torch.where(x.mean() > 0.2, x * 2, x)\n"
)


def fix(*arguments, folder):
    return exportlint(folder, "fix", *map(str, arguments), NO_COLOR="1")


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NET, "utf-8")
    return path


def test_a_target_is_mended_in_one_diff_that_applies(net, tmp_path):
    done = fix("net.py:Gate", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert net.read_text("utf-8") == NET, "it only shows"
    ladder = done.stdout.partition("# net.py")[0]
    assert [line.split()[1:] for line in ladder.split("\n") if "export-non-strict" in line] == [["refused", "passed"]]
    assert "# net.py:14 [data-dependent-branch] compute both sides and select (tried on both sides)\n" in done.stdout
    subprocess.run(["git", "apply"], input=done.stdout, cwd=tmp_path, text=True, check=True)
    assert net.read_text("utf-8") == MENDED


def test_write_writes_and_says_how_to_undo(net, tmp_path):
    done = fix("net.py:Gate", "--write", folder=tmp_path)
    assert (done.returncode, net.read_text("utf-8")) == (0, MENDED)
    assert "wrote net.py; the diff, given to `patch -R net.py`, brings the old text back" in done.stderr
    again = fix("net.py:Gate", "--output-format", "json", folder=tmp_path)
    assert (again.returncode, json.loads(again.stdout)["diff"]) == (0, "")
    subprocess.run(["patch", "-R", "net.py"], input=done.stdout, cwd=tmp_path, text=True, check=True)
    assert net.read_text("utf-8") == NET


def test_without_a_target_only_what_is_right_by_construction_is_rewritten(net, tmp_path):
    net.write_text(NET.partition("    @staticmethod")[0], "utf-8")
    done = fix("net.py", folder=tmp_path)
    assert done.returncode == 1
    changed = [line for line in done.stdout.split("\n") if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line.strip("+- ") for line in changed if line] == [
        "x = x * self.scale.data  # the plain values",
        "x = x * self.scale.detach()  # the plain values",
    ]
    assert "error[data-dependent-branch] `x.mean() > 0.2`" in done.stdout


def test_a_hook_runs_nothing_of_a_file_that_declares_a_model(net, tmp_path):
    runs = "\n\nopen('it ran', 'w').close()\nmodel, example_args = Gate(), Gate.inputs()\n"
    net.write_text(NET + runs, "utf-8")
    done = fix("--no-trial", "--write", "--exit-zero", "net.py", folder=tmp_path)
    assert (done.returncode, (tmp_path / "it ran").exists()) == (0, False)
    assert net.read_text("utf-8") == NET.replace("self.scale.data", "self.scale.detach()") + runs
    again = fix("--no-trial", "net.py", folder=tmp_path)
    assert (again.returncode, again.stdout.startswith("---")) == (1, False)
    assert fix("--no-trial", "--target", "net", folder=tmp_path).returncode == 2


def test_a_side_that_no_input_takes_is_said(tmp_path):
    net = tmp_path / "net.py"
    net.write_text(NET.replace("x.mean() > 0.2", "(x * 0 == 1).any()"), "utf-8")
    done = fix("net.py:Gate", folder=tmp_path)
    assert (
        "compute both sides and select (only one side was seen); no input that was tried makes its test true"
        in done.stdout
    )
    net.write_text(NET, "utf-8")
    assert "no input that was tried" not in fix("net.py:Gate", folder=tmp_path).stdout


def test_a_folder_is_never_run(net, tmp_path):
    with_target = tmp_path / "other.py"
    with_target.write_text(NET + "\n\nmodel = Gate()\nexample_args = Gate.inputs()\n", "utf-8")
    done = fix(".", folder=tmp_path)
    assert done.returncode == 1
    assert "target" not in done.stdout.partition("\n")[0]
    assert {"net.py", "other.py"} == {line.partition(":")[0] for line in done.stdout.splitlines() if "error[" in line}
    (tmp_path / "plain.py").write_text(NET.partition("    @staticmethod")[0], "utf-8")
    mixed = fix("net.py", "plain.py", folder=tmp_path)
    assert (mixed.returncode, mixed.stdout) == (2, "")
    assert "plain.py is no target" in mixed.stderr


def test_what_no_rule_was_asked_of_still_fails(net, tmp_path):
    done = fix("net.py:Gate", "--select", "tensor-in-string", folder=tmp_path)
    assert done.returncode == 1
    assert "export-non-strict refused, and why is hidden, by --select" in done.stderr


@pytest.mark.parametrize("where", ["elsewhere", "installed", "read-only"])
def test_only_files_of_the_project_that_may_be_written_are_edited(tmp_path, where):
    """What is only imported from elsewhere, what pip put there, and what nobody may write stay as they are."""
    folder = tmp_path / ("elsewhere" if where == "elsewhere" else "project/lib")
    folder.mkdir(parents=True)
    (tmp_path / "project").mkdir(exist_ok=True)
    if where == "installed":
        (folder / "gates-1.0.dist-info").mkdir()
        (folder / "gates-1.0.dist-info/RECORD").write_text("gates.py,,\n", "utf-8")
    gates = folder / "gates.py"
    gates.write_text(NET, "utf-8")
    gates.chmod(0o444 if where == "read-only" else 0o644)
    text = f"import sys\n\nsys.path.insert(0, {str(folder)!r})\nfrom gates import Gate\n\nmodel, example_args = Gate(), Gate.inputs()\n"
    (tmp_path / "project/net.py").write_text(text, "utf-8")
    done = fix("net.py", "--write", folder=tmp_path / "project")
    assert done.returncode == 1
    assert gates.read_text("utf-8") == NET
    assert "wrote" not in done.stderr


def test_what_computes_something_else_is_not_taken(tmp_path):
    source = NET.replace("            x = x * 2\n", "            x = torch.cat([x, x])\n")
    (tmp_path / "net.py").write_text(source, "utf-8")
    done = fix("net.py:Gate", "--output-format", "json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, [one["rule"] for one in report["left"]]) == (1, ["data-dependent-branch"])
    assert "torch.where" not in report["diff"]
    assert any("computes something else" in one["why"] for one in report["rejected"])


SPECIAL = """\
        floor = self.floor(x)
        return x if floor is None else torch.maximum(x, floor)

    def floor(self, x):
        if TEST:
            return None
        return torch.zeros(())
"""


def test_a_special_case_goes_where_inputs_take_both_sides_and_agree(tmp_path):
    head, _, tail = NET.replace("self.scale.data", "self.scale").partition("        if x.mean() > 0.2:\n")
    text = head + SPECIAL + tail.partition("        return x\n")[2]
    (tmp_path / "net.py").write_text(text.replace("TEST", "(x >= 0).all()"), "utf-8")
    done = fix("net.py:Gate", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "[data-dependent-branch] leave the special case out" in done.stdout
    (tmp_path / "net.py").write_text(text.replace("TEST", "(x * 0 == 1).any()"), "utf-8")
    done = fix("net.py:Gate", folder=tmp_path)
    assert done.returncode == 1
    assert "no inputs that were tried take both sides of its test" in done.stdout


def test_what_needs_python_where_it_runs_is_not_offered_to_a_target_of_deployment(tmp_path):
    pytest.importorskip("executorch")
    text = NET.replace("import torch\n", "import logging\n\nimport torch\n", 1)
    told = '            logging.warning("bright: %.2f", x.mean())\n'
    text = text.replace(".data  # the plain values", "").replace("            x = x * 2\n", told)
    (tmp_path / "net.py").write_text(text, "utf-8")
    anywhere = fix("net.py:Gate", "--unsafe", folder=tmp_path)
    assert "it needs Python and this file where it runs" in anywhere.stdout
    assert "+@torch.library.custom_op(" in anywhere.stdout
    on_a_phone = fix("net.py:Gate", "--unsafe", "--lower", "executorch", folder=tmp_path)
    assert on_a_phone.returncode == 0, on_a_phone.stdout + on_a_phone.stderr
    assert "+        if not torch.compiler.is_exporting():" in on_a_phone.stdout
    assert "custom_op" not in on_a_phone.stdout


def test_other_random_numbers_are_drawn_only_where_that_is_allowed(tmp_path):
    drawn = "        x = x + random.random()\n"
    plain = NET.replace("self.scale.data", "self.scale")
    source = "import random\n\n" + plain.replace("        if x.mean() > 0.2:\n            x = x * 2\n", drawn)
    (tmp_path / "net.py").write_text(source, "utf-8")
    kept = json.loads(fix("net.py:Gate", "--output-format", "json", folder=tmp_path).stdout)
    assert [one["rule"] for one in kept["left"]] == ["python-random"]
    why = "it draws other numbers, and computes the same from the same numbers (random): --unsafe takes it"
    assert any(why in one["why"] for one in kept["rejected"])
    done = fix("net.py:Gate", "--unsafe", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "+        x = x + torch.rand(())\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a file, a folder or a target"),
        (("gone.py",), "gone.py"),
        (("net.py:Nobody",), "Nobody"),
        (("net.py:Gate", "--budget", "-1"), "-1"),
    ],
)
def test_bad_input_is_one_sentence(net, tmp_path, arguments, said):
    done = fix(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_no_time_is_said(net, tmp_path):
    done = fix("net.py:Gate", "--budget", "0", folder=tmp_path)
    assert done.returncode == 1
    assert "the budget of 0 seconds is spent, after 0 rewrites" in done.stderr
    assert Path(net).read_text("utf-8") == NET


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shows_what_was_found_and_leaves_no_folder(net, tmp_path, number, monkeypatch):
    monkeypatch.delenv(WARM)  # it ends its own processes, as where no test runs
    slow = NET.replace(
        "        if x.mean() > 0.2:\n", "        print(x.sum().item(), len(str(x)))\n        if x.mean() > 0.2:\n"
    )
    net.write_text("import time\n\ntime.sleep(1)\n" + slow, "utf-8")
    (temporary := tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "exportlint", "fix", "net.py:Gate"]
    environment = os.environ | {"NO_COLOR": "1", "TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        said = []
        for line in run.stderr:
            said.append(line)
            if "trying net.py" in line:
                run.send_signal(number)
                break
        said += run.stderr.readlines()
        shown = run.stdout.read()
    assert run.returncode == 128 + number, said
    assert any("this is what was found by then" in line for line in said)
    assert "target net.py:Gate" in shown
    assert "[data-dependent-branch]" in shown
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tabs_and_line_ends_stay(tmp_path, end):
    source = NET.replace("    ", "\t").replace("\n", end).encode()
    mended = MENDED.replace("    ", "\t").replace("\n", end).encode()
    net = tmp_path / "net.py"
    net.write_bytes(source)
    command = [sys.executable, "-m", "exportlint", "fix", "net.py:Gate", "--write"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, env=os.environ | {"NO_COLOR": "1"})
    assert net.read_bytes() == mended
    net.write_bytes(source)
    subprocess.run(["git", "apply"], input=done.stdout, cwd=tmp_path, check=True)
    assert net.read_bytes() == mended
    subprocess.run(["patch", "-R", "net.py"], input=done.stdout, cwd=tmp_path, check=True)
    assert net.read_bytes() == source

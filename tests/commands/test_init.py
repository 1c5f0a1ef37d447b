"""`exportlint init`: finds models by reading, runs code only where somebody said so, and writes one table or nothing."""

from __future__ import annotations

import stat
import sys
import time
from typing import TYPE_CHECKING

import pytest
from processes import exportlint
from terminal import CTRL_C, of_exportlint

from exportlint.config.new_table import NewTarget, add_table, refuse_where_written, table_text
from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NET = """
import torch
from torch import nn

open("imported", "w").close()


class Net(nn.Module):
    def forward(self, x):
        return self.half(x)

    def half(self, x):
        return x / 2


def build_net():
    return Net().eval()


def example_inputs():
    return (torch.ones(3),)
"""
LOST = """
import torch


class Lost(torch.nn.Module):
    def forward(self, x):
        return x


model = Lost()
example_args = (torch.ones(3), nobody)
"""
SLOW = """
import time

import torch


class Slow(torch.nn.Module):
    def forward(self, x):
        open("began", "w").close()
        time.sleep(600)
        return x


model = Slow()
example_args = (torch.ones(3),)
"""
TABLE = table_text([NewTarget("net", {"model": "net.py:build", "args": "net.py:inputs"}, ["seen"])])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "written", ["model = Net()\nexample_args = (torch.ones(3),)", "model, example_args = Net(), (torch.ones(3),)"]
)
def test_a_file_that_declares_a_target_is_one_however_it_is_written(tmp_path: Path, written: str) -> None:
    net = f"import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n\n{written}\n"
    (tmp_path / "net.py").write_text(net, "utf-8")
    done = exportlint(tmp_path, "init")
    table = tomllib.loads(done.stdout)["tool"]["exportlint"]
    assert table == {"targets": {"net": {"model": "net.py:model", "args": "net.py:example_args"}}}


def test_without_a_terminal_it_prints_the_table_and_neither_writes_nor_imports(here: Path) -> None:
    done = exportlint(here, "init")
    assert done.returncode == 0
    table = tomllib.loads(done.stdout)["tool"]["exportlint"]
    assert table == {"targets": {"net": {"model": "net.py:build_net", "args": "net.py:example_inputs"}}}
    assert "# net.py:16 `build_net` makes a Net, `example_inputs` its inputs.\n" in done.stdout
    assert done.stderr == (
        "exportlint: nothing was written: `exportlint init --yes` tries these targets and adds this to pyproject.toml\n"
    )
    assert sorted(path.name for path in here.iterdir()) == ["net.py"]


@pytest.mark.slow
def test_yes_tries_what_it_found_says_so_first_and_writes_what_can_be_tried(here: Path) -> None:
    (here / "lost.py").write_text(LOST, "utf-8")
    done = exportlint(here, "init", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.index("Trying them: this imports lost.py, net.py and runs the models")
    assert said < done.stdout.index("  net: export: non-strict passed, strict passed\n")
    assert "  lost: load refused: " in done.stdout
    text = (here / "pyproject.toml").read_text("utf-8")
    assert set(tomllib.loads(text)["tool"]["exportlint"]["targets"]) == {"net"}
    assert "# Tried by `exportlint init`: export: non-strict passed, strict passed.\n" in text
    assert "# [tool.exportlint.targets.lost]\n# lost.py:10 has `model` and `example_args` at its top level.\n" in text
    assert '# model = "lost.py:model"\n' in text
    assert (here / "imported").exists()
    # What was written is what `exportlint trial` takes.
    again = exportlint(here, "init", "--yes")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        "exportlint: error: pyproject.toml has [tool.exportlint] already, and init never changes one: edit it there\n"
    )
    assert exportlint(here, "trial", "--target", "net", "--quick", "--output-format", "concise").returncode == 0


def test_on_a_terminal_it_asks_for_each_step_and_runs_nothing_without_a_yes(here: Path) -> None:
    with of_exportlint(here, "init") as terminal:
        terminal.until("Take the target net? [Y/n]: ")
        terminal.send("y\n")
        asked = terminal.until("Try them now? [y/N]: ")
        assert "This imports net.py and runs the models in processes of their own" in asked
        terminal.send("\n")
        terminal.until("Add this to pyproject.toml? [Y/n]: ")
        assert not (here / "pyproject.toml").exists()
        terminal.send("y\n")
        assert terminal.end() == 0
    assert "Wrote [tool.exportlint] with 1 target to pyproject.toml.\n" in terminal.shown
    assert "  exportlint trial " in terminal.shown
    assert not (here / "imported").exists()
    assert load_config([str(here)], CommandLine()).targets["net"].model == "net.py:build_net"
    assert [line for line in terminal.shown.splitlines() if len(line) > 80] == []


def test_who_says_no_at_the_end_has_no_file(here: Path) -> None:
    with of_exportlint(here, "init") as terminal:
        terminal.until("Take the target net? [Y/n]: ")
        terminal.send("n\n")
        terminal.until("Add this to pyproject.toml? [Y/n]: ")
        terminal.send("n\n")
        assert terminal.end() == 0
    assert sorted(path.name for path in here.iterdir()) == ["net.py"]


@pytest.mark.slow
def test_ctrl_c_while_a_model_runs_ends_it_and_leaves_nothing_written(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW, "utf-8")
    before = b"[project]\nname = 'x'\n"
    (tmp_path / "pyproject.toml").write_bytes(before)
    with of_exportlint(tmp_path, "init", "--yes") as terminal:
        terminal.until("Trying them")
        for _ in range(600):
            if (tmp_path / "began").exists():
                break
            time.sleep(0.1)
        terminal.send(CTRL_C)
        assert terminal.end() == 130
    assert terminal.shown.endswith("exportlint: stopped\n")
    assert (tmp_path / "pyproject.toml").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        "began",
        "pyproject.toml",
        "slow.py",
    ]


def test_ctrl_c_at_a_question_leaves_nothing_written(here: Path) -> None:
    with of_exportlint(here, "init") as terminal:
        terminal.until("Take the target net? [Y/n]: ")
        time.sleep(0.3)  # readline loses a signal that comes right before it begins to wait
        terminal.send(CTRL_C)
        assert terminal.end() == 130
    assert sorted(path.name for path in here.iterdir()) == ["net.py"]


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b'[project]\nname = "x"   # mine\n\n\n[tool.ruff]\nline-length=  100\n',
        b'[project]\r\nname = "x"\r\n',
        b'[project]\nname = "x"',
        b'[tool.ruff]\nline-length = 100\n[project]\nname = "x"\n[tool.black]\n',
    ],
)
def test_every_other_byte_of_a_pyproject_stays(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(before)
    path.chmod(0o640)
    add_table(path, TABLE)
    after = path.read_bytes()
    assert after.startswith(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert tomllib.loads(after.decode())["tool"]["exportlint"]["targets"]["net"]["args"] == "net.py:inputs"
    assert (b"\r\n" in before) == (b"\r\n" in after)
    assert after.count(b"\r\n") in (0, after.count(b"\n"))
    assert list(tmp_path.iterdir()) == [path]


def test_a_linked_pyproject_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_bytes(b"[project]\nname = 'x'\n")
    (tmp_path / "pyproject.toml").symlink_to("real.toml")
    add_table(tmp_path / "pyproject.toml", TABLE)
    assert (tmp_path / "pyproject.toml").is_symlink()
    assert "[tool.exportlint.targets.net]" in (tmp_path / "real.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.exportlint.targets.x]\nmodel = 'a:b'\nargs = 'a:c'\n", "has [tool.exportlint] already"),
        ("[project\n", "this is not TOML, so nothing can be added"),
        ("tool = {ruff = {}}\n", "no [tool.exportlint] can follow"),
    ],
)
def test_a_file_to_which_nothing_can_be_added_is_one_sentence_and_stays(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        refuse_where_written(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    done = exportlint(tmp_path, "init", "--yes")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("nowhere", "nowhere: there is no such folder; name the one of your project"),
        ("net.py", "net.py is no folder: name the one of your project, or `exportlint trial net.py` tries the file"),
    ],
)
def test_a_path_that_is_no_folder_is_one_sentence_and_2(here: Path, argument: str, told: str) -> None:
    done = exportlint(here, "init", argument)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"exportlint: error: {told}\n")


def test_the_table_goes_to_the_pyproject_above_and_no_further_up_than_the_repository(here: Path) -> None:
    (here / "pyproject.toml").write_text("[project]\nname = 'x'\n", "utf-8")
    (here / "inner" / ".git").mkdir(parents=True)
    (here / "src").mkdir()
    (here / "src" / "two.py").write_text(NET, "utf-8")
    assert 'model = "src/two.py:build_net"' in exportlint(here, "init", "src").stdout
    assert exportlint(here, "init", "inner").stderr.endswith("adds this to inner/pyproject.toml\n")


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """What stands in its place is a folder: root may write everywhere."""
    (tmp_path / "pyproject.toml").mkdir()
    with pytest.raises(UserError, match=r"pyproject\.toml cannot be read: Is a directory"):
        add_table(tmp_path / "pyproject.toml", TABLE)

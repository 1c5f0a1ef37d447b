"""Which frames of a stack are the model's own code: never exportlint's, nor torch's, nor the standard library's."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from packages import modules

from exportlint.trial.protocol.frames import Frame, is_installed, is_own_path, is_user_path
from exportlint.trial.protocol.observation import Observation

OWN = sorted(str(path) for name, path in modules().items() if not name.startswith("exportlint_rules"))
TORCH = Path(find_spec("torch").origin).parent  # type: ignore[union-attr, arg-type]  # the test environment has torch


@pytest.mark.parametrize("path", OWN)
def test_a_file_of_exportlint_is_never_the_users(path: str) -> None:
    assert is_own_path(path)
    assert not is_user_path(path)


@pytest.mark.parametrize(
    ("path", "user"),
    [
        ("/home/me/net.py", True),
        ("/home/me/exportlint_demo/net.py", True),
        ("/home/me/site-packages/lib/net.py", True),
        (json.__file__, False),
        (str(TORCH / "nn/modules/linear.py"), False),
        ("<string>", False),
        ("", False),
    ],
)
def test_what_is_left_is_the_users_or_a_library_of_theirs(path: str, user: bool) -> None:
    assert is_user_path(path) is user


def test_a_folder_beside_exportlint_with_a_name_that_begins_alike_is_the_users() -> None:
    beside = modules()["exportlint"].parents[1] / "exportlint_demo" / "net.py"
    assert not is_own_path(str(beside))


@pytest.mark.parametrize(("path", "installed"), [("/e/site-packages/a/b.py", True), ("/e/my-packages/b.py", False)])
def test_a_package_is_installed_by_the_folder_that_it_lies_in(path: str, installed: bool) -> None:
    assert is_installed(path) is installed


def test_of_a_folder_that_pip_was_told_only_what_pip_put_there_is_installed(tmp_path: Path) -> None:
    """`pip install --target .` puts packages beside somebody's own files."""
    (tmp_path / "gates-1.0.dist-info").mkdir()
    (tmp_path / "gates-1.0.dist-info/RECORD").write_text(
        "gates/net.py,sha256=x,10\ngates-1.0.dist-info/RECORD,,\n", "utf-8"
    )
    assert is_installed(str(tmp_path / "gates/net.py"))
    assert not is_installed(str(tmp_path / "mine.py"))


def test_an_observation_stands_at_the_innermost_user_frame_and_keeps_no_frame_of_ours() -> None:
    outer, ours, inner = (Frame(path, 3, "f", "") for path in ("/home/me/net.py", OWN[0], "/home/me/block.py"))
    torch = Frame(str(TORCH / "nn/functional.py"), 9, "relu", "")
    seen = Observation("exception", "no").at([outer, ours, inner, torch])
    assert seen.frames == (outer, inner, torch)
    assert (seen.user_path, seen.user_line) == ("/home/me/block.py", 3)
    assert Observation.from_dict(json.loads(json.dumps(seen.to_dict()))) == seen

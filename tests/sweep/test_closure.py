"""The files that a target is made of, by reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from exportlint.sweep.closure import SourceReader

FILES = {
    "net.py": "import numpy as np\nfrom blocks.attention import Attention\nfrom layers import norm\nimport torch.nn as nn\n",
    "blocks/__init__.py": "",
    "blocks/attention.py": "from . import masks\nfrom .heads import Head\nfrom ..layers import norm\n",
    "blocks/masks.py": "import math\n",
    "blocks/heads.py": "import net\n",  # a circle
    "blocks/unused.py": "import something_else\n",
    "layers/norm.py": "def f():\n    import scipy.special\n",  # a package without __init__.py, an import in a function
    "elsewhere/broken.py": "def (\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def names(project: Path, *start: str, search: tuple[Path, ...] = ()) -> tuple[set[str], set[str]]:
    found = SourceReader(search).closure([project / name for name in start])
    return {file.relative_to(project.resolve()).as_posix() for file in found.files}, set(found.packages)


def test_imports_are_followed_wherever_they_stand(project: Path) -> None:
    files, packages = names(project, "net.py")
    assert files == {
        "net.py",
        *(f"blocks/{name}.py" for name in ("__init__", "attention", "masks", "heads")),
        "layers/norm.py",
    }
    assert packages == {"numpy", "torch", "math", "scipy"}


def test_what_is_imported_from_the_working_directory_is_found_there(project: Path) -> None:
    (project / "elsewhere/main.py").write_text("from blocks import heads\nimport broken\n", "utf-8")
    assert "blocks/heads.py" not in names(project, "elsewhere/main.py")[0]
    files, packages = names(project, "elsewhere/main.py", search=(project,))
    assert {"elsewhere/main.py", "elsewhere/broken.py", "blocks/heads.py"} <= files
    assert "blocks" not in packages


def test_a_file_that_is_gone_has_a_hash_of_its_own(project: Path) -> None:
    reader = SourceReader()
    assert reader.hash(project / "nothing.py") == "absent"
    assert reader.hash(project / "net.py") != reader.hash(project / "blocks/heads.py")

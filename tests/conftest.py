"""What holds for every test."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

# Tests, and the programs they start, remember nothing in the home of the person who runs them.
if "EXPORTLINT_CACHE_DIR" not in os.environ:
    os.environ["EXPORTLINT_CACHE_DIR"] = tempfile.mkdtemp(prefix="exportlint-tests-")
    atexit.register(shutil.rmtree, os.environ["EXPORTLINT_CACHE_DIR"], ignore_errors=True)
# Which vector instructions the compiler knows is found out once, not in every run.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(os.environ["EXPORTLINT_CACHE_DIR"], "inductor")))


@pytest.fixture(scope="session")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has torch, and where exportlint is not installed.

    EXPORTLINT_OTHER_PYTHON names one, with another torch. Without it the environment is made here, cheaply: it sees the
    torch of this one.
    """
    if named := os.environ.get("EXPORTLINT_OTHER_PYTHON"):
        return Path(named)
    folder = tmp_path_factory.mktemp("other")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    torch = subprocess.check_output([sys.executable, "-c", "import torch; print(torch.__path__[0])"], text=True)
    (site / "torch.pth").write_text(f"{Path(torch).parent}\n{sysconfig.get_path('purelib')}\n", "utf-8")
    return folder / "venv/bin/python"

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
from typing import TYPE_CHECKING

import pytest
from processes import WARM, warm_server

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tests, and the programs they start, remember nothing in the home of the person who runs them.
if "EXPORTLINT_CACHE_DIR" not in os.environ:
    os.environ["EXPORTLINT_CACHE_DIR"] = tempfile.mkdtemp(prefix="exportlint-tests-")
    atexit.register(shutil.rmtree, os.environ["EXPORTLINT_CACHE_DIR"], ignore_errors=True)
# The compiler of these tests knows the vector instructions of their machine. Else inductor finds that out anew in every
# process that compiles: for each kind of them with a process of its own, which loads torch.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
# What inductor has compiled, it finds again in the next trial.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(os.environ["EXPORTLINT_CACHE_DIR"], "inductor")))


@pytest.fixture(scope="session", autouse=True)
def _torch_is_loaded_once() -> Iterator[None]:
    """Every trial of this worker, and of the programs that it starts, is a fork of one process, which loads torch when
    the first one asks: loading it takes some seconds each time."""
    with tempfile.TemporaryDirectory(prefix="exportlint-warm-") as folder:
        socket_file, process = warm_server(Path(folder))
        with process:
            os.environ[WARM] = str(socket_file)
            yield
            del os.environ[WARM]
            process.kill()


@pytest.fixture(scope="module")
def torch_of_its_own() -> Iterator[None]:
    """What is started here loads torch itself, as where no test runs: its processes are then its children."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(WARM)
        yield


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
